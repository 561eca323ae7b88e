"""Tables of configurations: those that are allowed with values of their experiments, and those that are refused."""

import copy
import functools
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np
import pytest
import yaml
from encoded import message_of, refuses, yaml_of
from project import SMALL

from protocol import configuration, registry, shipped
from protocol.report.drawing import file_name
from protocol.shipped import configs

MODALITIES = {
    "dataset": "wiki",
    "features": {"image_to_text": {}, "text_to_image": {}},
    "ground_truths": ["class_label"],
    "hashers": ["cca_itq", "cvh"],
}
BASES = {
    "small": SMALL,
    "nothing": {},
    "default": yaml.safe_load(shipped.DEFAULT.read_text()),
    "modalities": SMALL | MODALITIES,
    **{name: yaml.safe_load(configs()[name].read_text()) for name in ("digits_leak", "cifar10_s1")},
}
ACCEPTED, WRONG = (yaml.safe_load(Path(__file__).with_name(n).read_text()) for n in ("accepted.yaml", "wrong.yaml"))


def load(case):
    """Return the experiment of an entry of a table."""
    base = case.get("base", "small")
    config = copy.deepcopy({key: own for key, own in BASES[base].items() if key not in case.get("without", ())})
    return configuration.load(config | case["changes"], from_file=base != "nothing")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the files that the tables name."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "folder" / "class").mkdir(parents=True)
    for number in range(600):
        (folder / "folder" / "class" / f"{number}.png").touch()
    X = np.zeros((2000, 16), dtype=np.float32)
    arrays = {"x": X, "labels_in_one_row": X[:1, :1].repeat(2000, 1).astype(int), "few": np.ones(1500, dtype=int)}
    for name, array in (arrays | {"rows": np.arange(50)}).items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "x.npz", a=X)
    np.savez(folder / "rows.npz", rows=np.arange(50))
    with h5py.File(folder / "x.h5", "w") as file:
        file["a"] = X
    np.savetxt(folder / "x.csv", X, delimiter=",", fmt="%d")
    for name, text in {"few.txt": "1\n" * 1500, "12": "x"}.items():
        (folder / name).write_text(text)
    return folder


def value_at(experiment, path):
    """Return a value of an experiment by the names of attributes and keys, with dots between them."""
    step = lambda own, name: own[name] if isinstance(own, Mapping) else getattr(own, name)  # noqa: E731
    return functools.reduce(step, path.split("."), experiment)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: str(case["changes"])[:60])
def test_an_allowed_configuration_and_the_configuration_of_its_experiment(case, files, monkeypatch):
    monkeypatch.chdir(files)
    experiment = load(case)
    for path, expected in case["expected"].items():
        assert json.dumps(value_at(experiment, path)) == json.dumps(expected), path  # true is not 1
    text = json.dumps(experiment.config)
    again = configuration.load(json.loads(text))
    assert again == experiment
    assert json.dumps(again.config) == text


@pytest.mark.parametrize("case", WRONG, ids=lambda case: str(case["changes"])[:60])
def test_a_wrong_configuration_is_refused_in_one_line(case, files, monkeypatch):
    monkeypatch.chdir(files)
    message = message_of(load, case)
    assert re.search(case["matches"], message) if "matches" in case else case["contains"] in message, message


def test_the_longest_names_fit_into_file_names():
    refuses("may have up to 80", load, {"changes": {"hasher_bases": {"h" * 81: "itq"}}})
    longest = max(registry.names("metric"), key=len)
    name = file_name("scores", f"{longest}@1000[retrieved]", "f" * 80, "g" * 80, max(registry.names("split"), key=len))
    assert len(f".{name}.pdf.xxxxxxxx.part") < 256


def test_all_metrics_are_those_defined_for_the_shortest_code():
    metrics = load({"changes": {"metrics": ["all"], "n_bits": [1, 8]}}).config["metrics"]
    assert {"mAP", "mAP[database-order]", "nDCG@1000", "precision@r1"} <= set(metrics)
    assert "precision@r2" not in metrics


def test_options_that_are_not_the_defaults_identify_a_score():
    def options(truth, **changes):
        truths = {"ground_truths": ["class_label", "epsilon_ball"], "features": {"gist": {}}}
        return load({"changes": truths | changes}).options("gist", truth, "improved")

    assert options("epsilon_ball") == {}
    others = {"epsilon_ball": {"n_neighbours": 20}}
    assert [*options("epsilon_ball", ground_truth_options=others)] == ["ground_truth"]
    for feature in ({"preprocessing": []}, {"base": "gist", "options": {"image_size": 16}}):
        assert options("epsilon_ball", features={"gist": feature}).keys() == {"ground_truth"}
        assert options("class_label", features={"gist": feature}) == {}
    mirrored = {"dataset": "cifar10", "experiment": "c", "splits": ["cifar10_s1"], "ground_truths": ["class_label"]}
    mirrored |= {"mirror_sha256": {"cifar-10-binary.tar.gz": "0" * 64}}
    assert load({"changes": mirrored}).options("gist", "class_label", "cifar10_s1").keys() == {"mirror"}


AFFINITIES = yaml_of("configuration/affinities.yaml")


@pytest.mark.parametrize(("changes", "affinities", "learned"), AFFINITIES)
def test_affinities_are_labels_where_the_experiment_scores_by_labels(changes, affinities, learned):
    base = {"metrics": ["mAP"], "features": {"gist": {}}, "ground_truths": ["class_label"], "hashers": ["lsh", "ksh"]}
    experiment = load({"changes": base | changes})
    assert experiment.config["affinities"] == affinities
    assert experiment.learned_from("ksh", "gist") == learned
    assert experiment.learned_from("lsh", "gist") == "none"


NESTED = [f"experiment: {'[' * 999}{']' * 999}", "c.yaml: nested too deeply."]


@pytest.mark.parametrize(("text", "message"), [*yaml_of("configuration/wrong_files.yaml"), NESTED])
def test_a_file_that_is_not_a_config_file(here, text, message):
    if text == "a pipe":
        os.mkfifo("c.yaml")
    elif text is not None:
        Path("c.yaml").write_text(text)
    for read in (lambda: configuration.read("c.yaml"), lambda: configuration.load({}, files=["c.yaml"])):
        assert message_of(read).startswith(message)


def test_a_merged_key_may_be_overridden(tmp_path):
    (tmp_path / "b.yaml").write_text("base: &base {runs: 3}\nother: {<<: *base, runs: 4}\n")
    assert configuration.read(tmp_path / "b.yaml")["other"] == {"runs": 4}
