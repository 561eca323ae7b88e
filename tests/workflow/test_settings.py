import copy
import importlib.util
from pathlib import Path

import pytest
import yaml
from project import SMALL

from protocol import registry
from protocol.checks import ProtocolError


@pytest.fixture(scope="module")
def settings(root):
    spec = importlib.util.spec_from_file_location("settings", root / "workflow" / "settings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def changed(**changes):
    return copy.deepcopy(SMALL) | changes


CONFIG = Path(__file__).parents[2] / "workflow" / "config"
# What a shipped setting expects where snakemake runs: files (features, labels) and folders.
USERS = {"arrays": ["features.npy", "labels.npy"], "image_folder": ["images/"], "imagenet100": ["imagenet100/"]}


def dataset_of(name):
    return yaml.safe_load((CONFIG / f"{name}.yaml").read_text())["dataset"]


def lacks_pytorch(text):
    """Whether a setting names a hasher of the extra `learned`, which isn't installed."""
    used = {hasher for part in (text, *text["features"].values()) for hasher in part.get("hashers", [])}
    learned = any(registry.entry("hasher", hasher).extra is not None for hasher in used)
    return learned and importlib.util.find_spec("torch") is None


def place(name, folder):
    """Put what the setting expects into a folder."""
    for user in USERS.get(name, []):
        (folder / user).mkdir() if user.endswith("/") else (folder / user).write_bytes(b"x")


@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIG.glob("*.yaml")))
def test_the_shipped_settings_are_good(settings, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = yaml.safe_load((CONFIG / f"{name}.yaml").read_text())
    if name in USERS:
        with pytest.raises(ProtocolError, match="no such path"):
            settings.load(text)
    place(name, tmp_path)
    if lacks_pytorch(text):
        with pytest.raises(ProtocolError, match="needs PyTorch"):
            settings.load(text)
    else:
        assert settings.load(text).config["setting"] == name


def test_every_dataset_has_a_shipped_setting():
    assert set(registry.names("dataset")) == {dataset_of(path.stem) for path in CONFIG.glob("*.yaml")}


@pytest.mark.workflow
@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIG.glob("*.yaml")))
def test_every_shipped_setting_can_be_planned(project, name):
    if lacks_pytorch(yaml.safe_load((CONFIG / f"{name}.yaml").read_text())):
        pytest.skip("torch is not installed")
    place(name, project.folder)
    done = project.run("-n", "--quiet", "rules", setting=f"workflow/config/{name}.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    setting = yaml.safe_load((CONFIG / f"{name}.yaml").read_text())
    has_files = bool(registry.entry("dataset", setting["dataset"]).files)
    assert ("fetch" in done.stdout) == has_files
    assert ("search" in done.stdout) == ("choices" in done.stdout) == ("hasher_grids" in setting)
    for rule in ("dataset", "extract", "split", "hash", "count", "page"):
        assert rule in done.stdout


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


def test_without_pytorch_a_learned_hasher_is_refused_before_any_job(settings, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find_spec(name))
    for name in ("deep_squared", "buffer_zone"):
        with pytest.raises(ProtocolError) as refused:
            settings.load(changed(hashers=["lsh", name]))
        message = str(refused.value)
        assert f"hasher {name!r}" in message
        assert "PyTorch, which is not installed: pip install 'hashing-protocol[learned]'" in message
        assert "\n" not in message
    assert settings.load(changed(hashers=["lsh"])).config["hashers"] == ["lsh"]


def test_a_split_without_validation_partitions_can_not_choose_options(settings):
    text = yaml.safe_load((CONFIG / "cifar10_s1.yaml").read_text()) | {"hasher_grids": {"itq": {"n_iter": [5, 50]}}}
    with pytest.raises(ProtocolError, match="hasher_grids: split 'cifar10_s1' has no validation_query"):
        settings.load(text)


UNLABELLED = {
    "dataset": "labelme",
    "features": {"precomputed": {}},
    "ground_truths": ["epsilon_ball"],
    "metrics": ["mAP"],
}


def test_hashers_that_need_labels_are_refused_where_there_are_none(settings):
    for hasher, more in (("talr_ap", {}), ("talr_ndcg", {"affinities": "class_label"})):
        with pytest.raises(
            ProtocolError, match=f"hasher '{hasher}' learns from .*, but dataset 'labelme' has no labels"
        ):
            settings.load(changed(**UNLABELLED, hashers=["itq", hasher], **more))
    graded = settings.load(changed(**UNLABELLED, hashers=["talr_ndcg"])).config
    assert graded["ground_truth_options"]["graded_distance"]["levels"] == (1, 2, 5, 10)
    assert "graded_distance" not in settings.load(changed(**UNLABELLED)).config["ground_truth_options"]
    with pytest.raises(ProtocolError, match="unknown ground_truth 'graded'"):
        settings.load(changed(affinities="graded"))


def test_the_leak_study_has_no_supervision_to_give(settings):
    text = yaml.safe_load((CONFIG / "digits_leak.yaml").read_text())
    with pytest.raises(ProtocolError, match=r"leak: wanted hashers that learn .* alone; 'talr_ap' needs labels"):
        settings.load(text | {"hashers": [*text["hashers"], "talr_ap"]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hasher": ["lsh"]}, r"unknown key in the setting: 'hasher' \(did you mean 'hashers'\?\); known: affinities"),
        ({"features": {"gist": {"run": 3}}}, r"unknown key in features.gist: 'run' \(did you mean 'runs'\?\)"),
        ({"hashers": ["lsh", "itqq"]}, r"unknown hasher 'itqq' \(did you mean 'itq'\?\); known: .*dsh, itq, lsh"),
        ({"features": {"gits": {}}}, r"unknown feature 'gits' \(did you mean 'gist'\?\)"),
        ({"dataset": "cifar"}, "unknown dataset 'cifar'.*known: arrays, cifar10, cifar100, digits"),
        (
            {"dataset_options": {"labels": "fine"}},
            "unknown option of dataset 'digits': 'labels'; known: $",
        ),
        (
            {"dataset": "cifar100", "dataset_options": {"labels": "rough"}},
            "unknown labels= 'rough'; known: both, coarse, fine",
        ),
        (
            {"dataset": "image_folder", "dataset_options": {"folder": "nowhere"}},
            r"dataset_options of 'image_folder': folder: wanted a folder, came 'nowhere', no such path \(looked in ",
        ),
        (
            {"dataset": "image_folder"},
            r"dataset 'image_folder': name what it is made of, dataset_options: \{folder: PATH\}",
        ),
        (
            {"dataset": "image_folder", "dataset_options": {"folder": ".", "image_size": 0}},
            "image_size: wanted an integer of at least 1, came 0",
        ),
        (
            {"dataset": "synthetic", "features": {"precomputed": {}}, "dataset_options": {"n": 400, "n_clusters": 5}},
            "split 'standard' of dataset 'synthetic': the split asks for query 50 .* = 500 items, but there are 400$",
        ),
        (
            {"dataset": "wiki"},
            "feature 'gist' reads images, but dataset 'wiki' has vectors/image, vectors/text$",
        ),
        (
            {"dataset": "wiki", "features": {"precomputed": {}}},
            "feature 'precomputed' reads vectors, .* name one of vectors/image, vectors/text in its options",
        ),
        (
            {"dataset": "wiki", "features": {"precomputed": {"options": {"name": "sound"}}}},
            "feature 'precomputed' reads vectors/sound, but dataset 'wiki' has vectors/image, vectors/text$",
        ),
        (
            {"dataset": "wiki", "features": {"precomputed": {"options": {"name": "text"}}}, "hashers": ["pcah"]},
            "n_bits 16 is above the 10 dimensions of feature 'precomputed'",
        ),
        ({"features": {"precomputed": {}}}, "feature 'precomputed' reads vectors, but dataset 'digits' has images$"),
        ({"ground_truths": ["class"]}, "unknown ground_truth 'class'"),
        ({"splits": ["improve"]}, "unknown split 'improve'"),
        ({"metrics": ["MAP"]}, "unknown metric 'MAP'"),
        ({"metrics": ["mAP@K[all]"]}, r"metric 'mAP@K\[all\]': expected a number in place of K, R or beta"),
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
            {"features": {"bow": {"options": {"n_words": "many"}}}, "hashers": ["itq"]},
            "n_words: wanted an integer of at least 1, came 'many'",
        ),
        (
            {"split_sizes": {"query": 5}},
            "split 'standard' of .*: split sizes: wanted at least 1 for each of query, .*, came {'query': 5}",
        ),
        (
            {"split_sizes": SMALL["split_sizes"] | {"train": 5000}},
            "split 'standard' of dataset 'digits': .* = 5200 items, but there are 1797$",
        ),
        ({"split_sizes": {}}, "split 'standard' .*: wanted at least 1 for each of query, .*, came none$"),
        ({"split_sizes": {"test": 5}}, r"unknown key in split_sizes: 'test'.*known: query, train"),
        (
            {"splits": ["cifar10_s1"]},
            "split 'cifar10_s1' .*: the split is made for .* 60,000 items, but there are 1,797$",
        ),
        (
            {"splits": ["cifar10_s2"], "dataset": "cifar100"},
            "split 'cifar10_s2' .*: the split is made for a dataset of 10 classes, but there are 100$",
        ),
        (
            {"splits": ["nuswide_21"], "dataset": "nuswide", "features": {"precomputed": {"options": {"name": "bow"}}}},
            "split 'nuswide_21' .*: the split is made for a dataset of 195,834 items, but there are 269,648$",
        ),
        (
            {"splits": ["from_lists"]},
            r"split 'from_lists' .*: wanted a list of the query, split_options: \{from_lists: \{query: ",
        ),
        (
            {"splits": ["from_lists"], "split_options": {"from_lists": {"query": "q.txt"}}},
            r"split 'from_lists' .*: the list of the query: no such file: 'q.txt' \(looked in ",
        ),
        (
            {"split_options": {"from_lists": {"test": "q.txt"}}},
            "unknown option of split 'from_lists': 'test'; known: database, query, train",
        ),
        ({"split_options": {"standard": {"train": 5}}}, "unknown option of split 'standard': 'train'; known: $"),
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
            {"hashers": ["sklsh"], "hasher_options": {"sklsh": {"gamma": "wide"}}},
            "options of hasher 'sklsh' at 8 bits: gamma: wanted a finite number > 0, came 'wide'",
        ),
        ({"features": {"gist": {"options": {"padding": 3}}}}, "unknown option of feature 'gist': 'padding'"),
        (
            {"ground_truth_options": {"epsilon_ball": {"R": 3}}},
            "unknown option of ground_truth 'epsilon_ball': 'R'.*n_neighbours",
        ),
        ({"hasher_grids": {"itqq": {"n_iter": [5]}}}, r"unknown hasher 'itqq' \(did you mean 'itq'\?\)"),
        (
            {"hasher_grids": {"itq": {"n_iters": [5]}}},
            r"unknown option of hasher 'itq' in hasher_grids: 'n_iters' \(did you mean 'n_iter'\?\); known: n_iter$",
        ),
        ({"hasher_grids": {"itq": {"seed": [5]}}}, "unknown option of hasher 'itq' in hasher_grids: 'seed'"),
        ({"hasher_grids": {"itq": {"n_iter": []}}}, r"hasher_grids.itq.n_iter: \[\] should be non-empty; wanted: By"),
        ({"hasher_grids": {"itq": {}}}, r"hasher_grids.itq: \{\} should be non-empty"),
        ({"hasher_grids": {"itq": {"n_iter": [5, 5]}}}, "hasher_grids.itq.n_iter: .* non-unique"),
        ({"hasher_grids": {"itq": {"n_iter": 5}}}, "hasher_grids.itq.n_iter: 5 is not of type 'array'"),
        (
            {"hasher_grids": {"itq": {"n_iter": [5, 0]}}},
            "options of hasher 'itq' at 8 bits: n_iter: wanted an integer >= 1, came 0",
        ),
        (
            {"hasher_grids": {"itq": {"n_iter": [5]}}, "hasher_options": {"itq": {"n_iter": 50}}},
            "hasher 'itq': option 'n_iter' is fixed to 50 in hasher_options and searched in hasher_grids",
        ),
        ({"selection": {"metrics": "mAP"}}, r"unknown key in selection: 'metrics' \(did you mean 'metric'\?\)"),
        ({"selection": {"metric": "MAP"}}, r"unknown metric 'MAP'"),
        (
            {"hasher_grids": {"itq": {"n_iter": [5]}}, "selection": {"metric": "empty@r2"}},
            "selection: metric 'empty@r2' can't choose the best: of it, less is better",
        ),
        (
            {"hasher_grids": {"itq": {"n_iter": [5]}}, "selection": {"metric": "precision@r9"}},
            "metric 'precision@r9': radius 9 is above n_bits 8",
        ),
        (
            {"hasher_grids": {"itq": {"n_iter": [5]}}, "selection": {"ground_truth": "graded_distance"}},
            "unknown ground truth of feature 'gist' in selection: 'graded_distance'; known: class_label, epsilon_ball",
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


def test_options_that_the_command_line_gives_as_text_become_what_they_are(settings):
    options = {"n": "4000", "spread": "0.25", "seed": "7"}
    setting = settings.load(changed(dataset="synthetic", features={"precomputed": {}}, dataset_options=options))
    own = setting.config["dataset_options"]
    assert own == {"n": 4000, "dimension": 128, "n_clusters": 100, "spread": 0.25, "seed": 7}
    assert isinstance(own["n"], int)


def test_text_stays_text_where_an_option_is_text_and_null_is_none(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "12").write_text("x")
    options = {"features": "12", "labels": "null"}
    setting = settings.load(changed(dataset="arrays", features={"precomputed": {}}, dataset_options=options))
    assert setting.config["dataset_options"] == {"features": "12", "labels": None, "ids": None}


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False)])
def test_true_and_false_from_the_command_line_become_booleans(settings, text, value):
    assert settings.load({"offline": text}, from_file=False).config["offline"] is value


def test_another_order_of_what_has_none_is_the_same_setting(settings):
    sizes = dict(reversed(SMALL["split_sizes"].items()))
    other = settings.load(changed(n_bits=[16, 8], split_sizes=sizes))
    assert str(other) == str(settings.load(SMALL))


def test_options_left_at_their_default_are_stated(settings):
    config = settings.load(changed(hasher_options={"itq": {"n_iter": 3}})).config
    assert config["hasher_options"] == {"itq": {"n_iter": 3}, "lsh": {}}
    assert config["ground_truth_options"]["epsilon_ball"]["reading"] == "mean_distance"
    assert config["features"]["gist"]["options"]["border"] == 32


def test_searched_options_are_no_longer_fixed_and_nothing_is_searched_by_default(settings):
    assert settings.load(SMALL).config["hasher_grids"] == {}
    grids = {"sph": {"epsilon_mean": [0.1, 0.2]}, "itq": {"n_iter": ["5", "10"]}}
    config = settings.load(changed(hashers=["sph", "lsh", "itq"], hasher_grids=grids)).config
    assert config["hasher_options"] == {"itq": {}, "lsh": {}, "sph": {"epsilon_std": 0.15, "max_iter": 200}}
    assert config["hasher_grids"] == {"itq": {"n_iter": [5, 10]}, "sph": {"epsilon_mean": [0.1, 0.2]}}
    assert config["selection"] == {"ground_truth": None, "metric": "mAP"}


def test_a_grid_of_a_hasher_that_is_not_run_waits_for_it(settings):
    assert settings.load(changed(hasher_grids={"dsh": {"alpha": [1, 2]}})).config["hasher_options"].keys() == {
        "lsh",
        "itq",
    }


def test_the_standard_split_may_draw_all_items_the_improved_may_not(settings):
    sizes = SMALL["split_sizes"] | {"train": 1597}
    settings.load(changed(split_sizes=sizes, splits=["standard"]))
    with pytest.raises(ProtocolError, match=r"split 'improved' .*: the database is empty: .* = 1797 takes all 1797"):
        settings.load(changed(split_sizes=sizes, splits=["improved"]))


def test_all_metrics_are_every_registered_one_that_the_shortest_code_has(settings):
    metrics = settings.load(changed(metrics=["all"], n_bits=[1, 8])).config["metrics"]
    assert {"mAP", "mAP[index]", "nDCG@1000", "precision@r1"} <= set(metrics)
    assert "precision@r2" not in metrics


def test_protocols_that_declare_their_sizes_need_none(settings):
    text = yaml.safe_load((CONFIG / "cifar10_s1.yaml").read_text())
    assert "split_sizes" not in text
    assert settings.load(text).config["split_sizes"] == {}


def test_the_files_of_a_split_are_stated_with_those_left_out(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"query": "q.txt", "train": "t.npz:rows", "database": "d.csv"}
    for file in ("q.txt", "t.npz", "d.csv"):
        (tmp_path / file).write_text("x")
    config = settings.load(changed(splits=["from_lists"], split_options={"from_lists": files})).config
    assert config["split_options"]["from_lists"] == files | {"validation_query": None, "validation_database": None}


@pytest.mark.parametrize(
    ("changes", "study", "message"),
    [
        ({"runs": 1}, {}, "leak: wanted at least 2 runs of feature 'gist', came 1"),
        ({}, {"controls": ["lhs"]}, "unknown hasher of feature 'gist' in leak.controls: 'lhs' (did you mean 'lsh'?)"),
        ({"hashers": ["lsh", "itq"]}, {"controls": ["sklsh"]}, "in leak.controls: 'sklsh'"),
        ({}, {"controls": []}, "leak.controls: [] "),
        ({"hashers": ["lsh"]}, {"controls": ["lsh"]}, "leak: wanted a hasher of feature 'gist' that learns"),
        ({"hasher_grids": {"itq": {"n_iter": [10, 50]}}}, {}, "leak: its hashers have fixed options, but"),
        ({}, {"train_per_class": [0]}, "leak.train_per_class.0"),
        ({}, {"train_per_class": ["half"]}, "leak.train_per_class.0"),
        ({}, {"queries": 3}, "unknown key in leak: 'queries'"),
    ],
)
def test_a_leak_study_that_can_not_be_had_is_refused(settings, changes, study, message):
    setting = yaml.safe_load((CONFIG / "digits_leak.yaml").read_text()) | changes
    with pytest.raises(ProtocolError) as error:
        settings.load(setting | {"leak": setting["leak"] | study})
    assert message in str(error.value)


def test_sizes_of_a_leak_study_may_come_as_text(settings):
    setting = yaml.safe_load((CONFIG / "digits_leak.yaml").read_text())
    asked = setting | {"leak": setting["leak"] | {"train_per_class": ["30", "all"], "query_per_class": "5"}}
    loaded = settings.load(asked).config["leak"]
    assert (loaded["train_per_class"], loaded["query_per_class"]) == ([30, "all"], 5)


def test_there_is_no_leak_study_unless_asked_for(settings):
    assert "leak" not in settings.load(changed()).config


PAIRED = {
    "dataset": "wiki",
    "features": {"image_to_text": {}, "text_to_image": {}},
    "ground_truths": ["class_label"],
    "hashers": ["cca_itq", "cvh"],
}


def test_queries_and_database_of_two_modalities_have_steps_of_their_own(settings):
    both = {"image_to_text": {"preprocessing": {"query": ["l2"], "database": []}}, "text_to_image": {}}
    grids = settings.load(changed(**(PAIRED | {"features": both}))).grids
    assert grids["image_to_text"].steps == {"": ["l2"], "database/": []}
    assert grids["image_to_text"].preprocessing == ["l2"]
    assert grids["text_to_image"].steps == {"": ["centre"], "database/": ["centre"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"hashers": ["cvh", "itq"]},
            "^hasher 'itq' learns from one, but feature 'image_to_text' has two modalities; name some of cca_itq, cvh$",
        ),
        (
            {"features": {"precomputed": {"options": {"name": "image"}}}},
            "^hasher 'cca_itq' learns from two, paired, but feature 'precomputed' has one modality; name some of .*itq",
        ),
        (
            {"ground_truths": ["class_label", "epsilon_ball"]},
            "^ground truth 'epsilon_ball' compares vectors of one kind, but feature 'image_to_text' has two ",
        ),
        (
            {"features": {"image_to_text": {"options": {"database_name": "tags"}}}},
            "feature 'image_to_text' reads vectors/tags, but dataset 'wiki' has vectors/image, vectors/text$",
        ),
        (
            {
                "features": {
                    "precomputed": {"options": {"name": "text"}, "preprocessing": {"query": [], "database": []}}
                },
                "hashers": ["lsh"],
            },
            "^preprocessing: feature 'precomputed' has one modality: wanted one list of steps, came one each of ",
        ),
        (
            {"features": {"image_to_text": {"preprocessing": {"query": ["l2"]}}}},
            "features.image_to_text.preprocessing",
        ),
        (
            {"features": {"image_to_text": {"preprocessing": {"query": ["l2"], "database": ["pca"]}}}},
            "features.image_to_text.preprocessing",
        ),
    ],
)
def test_modalities_that_do_not_fit_are_refused(settings, changes, message):
    with pytest.raises(ProtocolError, match=message):
        settings.load(changed(**(PAIRED | changes)))
