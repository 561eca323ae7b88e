import copy
import importlib.util

import pytest
import yaml
from project import SMALL

from protocol.checks import ProtocolError


@pytest.fixture(scope="module")
def settings(root):
    spec = importlib.util.spec_from_file_location("settings", root / "workflow" / "settings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def changed(**changes):
    return copy.deepcopy(SMALL) | changes


def test_the_shipped_settings_are_good(settings, root):
    for path in (root / "workflow" / "config").glob("*.yaml"):
        setting = settings.load(yaml.safe_load(path.read_text()))
        assert setting.config["setting"] == path.stem


def test_defaults_come_from_the_schema_and_features_refine_the_grid(settings):
    setting = settings.load(
        changed(features={"gist": {}, "bow": {"runs": 1, "hashers": ["sh"], "preprocessing": ["l2"]}})
    )
    assert setting.config["seed"] == 0
    assert setting.config["mirror"] is None
    gist, bow = setting.grids["gist"], setting.grids["bow"]
    assert (gist.runs, gist.hashers, gist.preprocessing) == (2, ["lsh", "itq"], ["centre"])
    assert (bow.runs, bow.hashers, bow.preprocessing) == (1, ["sh"], ["l2"])
    assert len(setting.cells()) == 2 * 2 * 2 + 2 * 1 * 1


def test_without_a_setting_the_default_is_refined(settings):
    config = settings.load({"runs": 1}, from_file=False).config
    assert config["setting"] == "digits"
    assert config["runs"] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hasher": ["lsh"]}, r"unknown key in the setting: 'hasher' \(did you mean 'hashers'\?\); known: dataset"),
        ({"features": {"gist": {"run": 3}}}, r"unknown key in features.gist: 'run' \(did you mean 'runs'\?\)"),
        ({"hashers": ["lsh", "itqq"]}, r"unknown hasher 'itqq' \(did you mean 'itq'\?\); known: dsh, itq, lsh"),
        ({"features": {"gits": {}}}, r"unknown feature 'gits' \(did you mean 'gist'\?\)"),
        ({"dataset": "cifar"}, "unknown dataset 'cifar'.*known: cifar10, digits"),
        ({"ground_truths": ["class"]}, "unknown ground_truth 'class'"),
        ({"splits": ["improve"]}, "unknown split 'improve'"),
        ({"metrics": ["MAP"]}, "unknown metric 'MAP'"),
        ({"metrics": ["mAP@K[all]"]}, r"metric 'mAP@K\[all\]': put a number where the name has K or R"),
        ({"metrics": ["precision@r9"]}, "metric 'precision@r9': radius 9 is above n_bits 8"),
        (
            {"hashers": ["pcah"], "n_bits": [512, 8, 500], "features": {"sift": {}}},
            "n_bits 512 is above the 128 dimensions of feature 'sift'",
        ),
        ({"n_bits": [0]}, r"n_bits\.0: 0 is less than the minimum of 1"),
        ({"n_bits": "[16]"}, r"n_bits: '\[16\]' is not of type 'array'; wanted: Code lengths"),
        ({"runs": 0}, "runs: 0 is less than the minimum of 1"),
        ({"extensions": ["other"]}, "extensions.*'other'"),
        ({"extensions": ["same"]}, "extensions: .*wanted: Codes to evaluate; none, the plain ones"),
        ({"setting": "reference"}, "setting: 'reference' should not be valid"),
        ({"setting": "downloads"}, "setting: 'downloads' should not be valid"),
        (
            {"mirror_sha256": {"cifar.tar.gz": "0" * 64}},
            "unknown file of dataset 'digits' in mirror_sha256: 'cifar.tar.gz'",
        ),
        (
            {"features": {"bow": {"options": {"n_words": "200"}}}, "hashers": ["itq"]},
            "options of feature 'bow': .*can't be used",
        ),
        ({"split_sizes": {"query": 5}}, "split_sizes: 'validation_query' is a required property"),
        (
            {"split_sizes": SMALL["split_sizes"] | {"train": 5000}},
            "= 5200 leave no database under split 'standard': dataset 'digits' has 1797 items",
        ),
        (
            {"hasher_options": {"itq": {"iterations": 3, "seed": 1}}},
            "unknown option of hasher 'itq': '(iterations|seed)'",
        ),
        (
            {"hasher_options": {"itq": {"n_iter": 0}}},
            "options of hasher 'itq' at 8 bits: n_iter: wanted an integer >= 1, came 0",
        ),
        (
            {"hashers": ["dsh"], "n_bits": [2, 8], "hasher_options": {"dsh": {"alpha": 0.7}}},
            "options of hasher 'dsh' at 2 bits: alpha .*number of clusters: wanted an integer >= 2, came 1",
        ),
        (
            {"hashers": ["sklsh"], "hasher_options": {"sklsh": {"gamma": "1"}}},
            "options of hasher 'sklsh' at 8 bits: gamma: wanted a finite number > 0, came '1'",
        ),
        ({"features": {"gist": {"options": {"padding": 3}}}}, "unknown option of feature 'gist': 'padding'"),
        (
            {"ground_truth_options": {"epsilon_ball": {"R": 3}}},
            "unknown option of ground_truth 'epsilon_ball': 'R'.*n_neighbours",
        ),
        ({"setting": "../up"}, "setting: '../up' does not match"),
        ({"mirror_sha256": {"a": "zz"}}, "mirror_sha256.a: 'zz' does not match"),
    ],
)
def test_what_can_not_work_is_refused_with_the_known_names_or_the_limit(settings, changes, message):
    with pytest.raises(ProtocolError, match=message) as caught:
        settings.load(changed(**changes))
    assert "\n" not in str(caught.value)


def test_a_missing_key_is_named(settings):
    broken = copy.deepcopy(SMALL)
    del broken["metrics"]
    with pytest.raises(ProtocolError, match="'metrics' is a required property"):
        settings.load(broken)


def test_every_key_of_the_schema_is_described(settings):
    schema = yaml.safe_load(settings._SCHEMA.read_text())

    def described(part, name):
        resolved = settings._resolved(part, schema)
        assert "description" in resolved or name == "features.*", name
        for key, below in resolved.get("properties", {}).items():
            described(below, f"{name}.{key}")

    for key, part in schema["properties"].items():
        described(part, key)


def test_a_file_without_a_setting_is_not_taken_for_the_default(settings):
    nameless = copy.deepcopy(SMALL)
    del nameless["setting"]
    with pytest.raises(ProtocolError, match="'setting' is a required property"):
        settings.load(nameless)


def test_another_dataset_needs_a_name_of_its_own(settings):
    with pytest.raises(ProtocolError, match="give a name with --config setting=NAME"):
        settings.load({"dataset": "cifar10"}, from_file=False)
    assert settings.load({"dataset": "cifar10", "setting": "mine"}, from_file=False).config["setting"] == "mine"


def test_digits_in_lists_from_the_command_line_become_integers(settings):
    assert settings.load({"n_bits": ["16", "8"]}, from_file=False).config["n_bits"] == [8, 16]


def test_another_order_of_what_has_none_is_the_same_setting(settings):
    sizes = dict(reversed(SMALL["split_sizes"].items()))
    other = settings.load(changed(n_bits=[16, 8], split_sizes=sizes))
    assert str(other) == str(settings.load(SMALL))


def test_options_left_at_their_default_are_stated(settings):
    config = settings.load(changed(hasher_options={"itq": {"n_iter": 3}})).config
    assert config["hasher_options"] == {"itq": {"n_iter": 3}, "lsh": {}}
    assert config["ground_truth_options"]["epsilon_ball"]["reading"] == "mean_distance"
    assert config["features"]["gist"]["options"]["border"] == 32


def test_the_standard_split_may_draw_all_items_the_improved_may_not(settings):
    sizes = SMALL["split_sizes"] | {"train": 1597}
    settings.load(changed(split_sizes=sizes, splits=["standard"]))
    with pytest.raises(ProtocolError, match="= 1797 leave no database under split 'improved'"):
        settings.load(changed(split_sizes=sizes, splits=["improved"]))
