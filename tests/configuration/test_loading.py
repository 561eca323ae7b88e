import copy
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import yaml
from project import SMALL, Results

from protocol import configuration, registry
from protocol.checks import ProtocolError
from protocol.configuration import yaml_files


def changed(**changes):
    return copy.deepcopy(SMALL) | changes


CONFIG = Path(__file__).parents[2] / "workflow" / "config"
# The files that a shipped config file expects in the working directory: arrays, and folders with an image.
USERS = {
    "arrays": ["features.npy", "labels.npy"],
    "embeddings": ["features.npy"],
    "image_folder": ["images/"],
    "imagenet100": ["imagenet100/"],
}
NETWORKS = [entry.name for entry in registry.entries("hasher") if entry.extra == "learned"]
SHAPES = {"embeddings": (2_000, 384)}


def dataset_of(name):
    return yaml.safe_load((CONFIG / f"{name}.yaml").read_text())["dataset"]


def place(name, folder):
    """Write the files that a config file expects."""
    for user in USERS.get(name, []):
        if user.endswith("/"):
            (folder / user / "class").mkdir(parents=True)
        else:
            shape = SHAPES.get(name, (70_000, 64))
            np.save(folder / user, np.zeros(shape if user == "features.npy" else shape[0], dtype=np.float32))


@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIG.glob("*.yaml")))
def test_the_shipped_config_files_are_valid(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = yaml.safe_load((CONFIG / f"{name}.yaml").read_text())
    if name in USERS:
        with pytest.raises(ProtocolError, match="which does not exist"):
            configuration.load(text)
    place(name, tmp_path)
    assert configuration.load(text).config["experiment"] == name


def test_every_dataset_has_a_shipped_config_file():
    assert set(registry.names("dataset")) == {dataset_of(path.stem) for path in CONFIG.glob("*.yaml")}


PLANNED = [
    *("arrays", "cifar10_leak", "cifar10_nested", "cifar10_learned_images", "cifar10_s2", "cifar10_talr"),
    *("cifar100_mlgap", "digits", "embeddings", "image_folder", "nuswide", "sift1m", "wiki_cross", "wiki_quantisation"),
]
"""Experiments with jobs of every kind; the others have jobs of the same kinds."""


@pytest.mark.parametrize("name", PLANNED)
def test_the_jobs_of_a_shipped_experiment_are_those_that_snakemake_plans(name, tmp_path, monkeypatch):
    """Test with two runs: the time of planning grows with the jobs, and every further run has the same jobs."""
    config = yaml.safe_load((CONFIG / f"{name}.yaml").read_text())
    place(name, tmp_path)
    for part in (config, *config["features"].values()):
        part |= {"runs": min(part["runs"], 2)} if "runs" in part else {}
    monkeypatch.chdir(tmp_path)
    experiment = configuration.load(config)
    if any(use.plugin in NETWORKS for use in experiment.hashers.values()) and find_spec("torch") is None:
        pytest.skip("torch is not installed")
    targets = ("report", "leak") if "leak" in experiment.config else ("report",)
    assert Results(tmp_path).planned(config, *targets) == configuration.Plan(experiment).jobs(targets)


def test_defaults_come_from_the_schema_and_features_override_keys():
    experiment = configuration.load(
        changed(features={"gist": {}, "bow": {"runs": 1, "hashers": ["sh"], "preprocessing": ["l2"]}})
    )
    assert experiment.config["seed"] == 0
    assert experiment.config["mirror"] is None
    gist, bow = experiment.features["gist"], experiment.features["bow"]
    assert (gist.runs, gist.hashers, gist.preprocessing) == (2, ["lsh", "itq"], ["centre"])
    assert (bow.runs, bow.hashers, bow.preprocessing) == (1, ["sh"], ["l2"])
    assert len(experiment.combinations()) == 2 * 2 * 2 + 2 * 1 * 1


def test_without_a_file_the_keys_change_the_default_experiment():
    config = configuration.load({"runs": 1}, from_file=False).config
    assert config["experiment"] == "digits"
    assert config["runs"] == 1


@pytest.mark.parametrize("name", NETWORKS)
def test_a_config_file_is_checked_without_pytorch_but_a_run_is_refused_at_once(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    configuration.check_installed(configuration.load(changed(hashers=["lsh"], hasher_options={name: {"epochs": 5}})))
    experiment = configuration.load(changed(hashers=["lsh", name]))
    assert configuration.Plan(experiment).jobs()
    with pytest.raises(ProtocolError, match=rf"^hasher '{name}': torch is not installed\. .*'\.\[learned\]'$"):
        configuration.check_installed(experiment)


def test_a_split_without_validation_partitions_can_not_choose_options():
    text = yaml.safe_load((CONFIG / "cifar10_s1.yaml").read_text()) | {"hasher_grids": {"itq": {"n_iter": [5, 50]}}}
    with pytest.raises(ProtocolError, match=r"hasher_grids: expected a split with validation_query.* got 'cifar10_s1'"):
        configuration.load(text)


UNLABELLED = {
    "dataset": "labelme",
    "features": {"precomputed": {}},
    "ground_truths": ["epsilon_ball"],
    "metrics": ["mAP"],
    "split_sizes": {"query": 50, "train": 5000},
}


def test_hashers_that_need_labels_are_refused_where_there_are_none():
    for hasher, more in (("talr_ap", {}), ("talr_ndcg", {"affinities": "class_label"})):
        with pytest.raises(
            ProtocolError, match=f"hasher '{hasher}' learns from .*, but dataset 'labelme' has no labels"
        ):
            configuration.load(changed(**UNLABELLED, hashers=["itq", hasher], **more))
    graded = configuration.load(changed(**UNLABELLED, hashers=["talr_ndcg"])).config
    assert graded["ground_truth_options"]["graded_distance"]["levels"] == [1, 2, 5, 10]
    assert "graded_distance" not in configuration.load(changed(**UNLABELLED)).config["ground_truth_options"]
    with pytest.raises(ProtocolError, match=r"^affinities: expected .*, got 'graded'"):
        configuration.load(changed(affinities="graded"))


def test_the_leak_study_refuses_supervised_hashers():
    text = yaml.safe_load((CONFIG / "digits_leak.yaml").read_text())
    with pytest.raises(
        ProtocolError, match=r"leak: expected hashers that learn .* alone, got 'talr_ap', which needs labels"
    ):
        configuration.load(text | {"hashers": [*text["hashers"], "talr_ap"]})


def test_a_missing_key_is_named():
    broken = copy.deepcopy(SMALL)
    del broken["metrics"]
    with pytest.raises(ProtocolError, match="config file: the key metrics is missing"):
        configuration.load(broken)


def test_all_missing_keys_are_named_at_once():
    with pytest.raises(ProtocolError) as error:
        configuration.load({"experiment": "a", "dataset": "digits", "hashers": ["lsh"]})
    message = "config file: the keys features, ground_truths, splits, n_bits and metrics are missing."
    assert str(error.value) == message


def test_an_empty_file_is_not_the_default_experiment():
    nameless = copy.deepcopy(SMALL)
    del nameless["experiment"]
    with pytest.raises(ProtocolError, match="config file: the key experiment is missing"):
        configuration.load(nameless)


def test_another_dataset_needs_another_experiment_name():
    with pytest.raises(
        ProtocolError, match="expected --config experiment=NAME with it, a name for the results of another dataset"
    ):
        configuration.load({"dataset": "cifar10"}, from_file=False)
    other = {"dataset": "cifar10", "experiment": "mine", "ground_truths": ["class_label"]}
    assert configuration.load(other, from_file=False).name == "mine"


def test_digits_in_lists_from_the_command_line_become_integers():
    assert configuration.load({"n_bits": ["16", "8"]}, from_file=False).config["n_bits"] == [8, 16]


def test_options_given_as_text_get_their_types():
    options = {"n": "4000", "spread": "0.25", "seed": "7"}
    experiment = configuration.load(changed(dataset="synthetic", features={"precomputed": {}}, dataset_options=options))
    own = experiment.config["dataset_options"]
    assert own == {"n": 4000, "dimension": 128, "n_clusters": 100, "spread": 0.25, "seed": 7}
    assert isinstance(own["n"], int)


def test_text_options_stay_text_and_null_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "12").write_text("x")
    options = {"features": "12", "labels": "null"}
    truths = {"ground_truths": ["epsilon_ball"], "features": {"precomputed": {}}}
    experiment = configuration.load(changed(dataset="arrays", dataset_options=options, **truths))
    assert experiment.config["dataset_options"] == {"features": "12", "labels": None, "ids": None}


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False)])
def test_true_and_false_from_the_command_line_become_booleans(text, value):
    assert configuration.load({"offline": text}, from_file=False).config["offline"] is value


def test_the_order_of_unordered_keys_does_not_matter():
    sizes = dict(reversed(SMALL["split_sizes"].items()))
    other = configuration.load(changed(n_bits=[16, 8], split_sizes=sizes))
    assert str(other) == str(configuration.load(SMALL))


def test_default_options_are_filled_in():
    config = configuration.load(changed(hasher_options={"itq": {"n_iter": 3}})).config
    assert config["hasher_options"] == {"itq": {"n_iter": 3}, "lsh": {}}
    assert config["ground_truth_options"]["epsilon_ball"]["reading"] == "mean_distance"
    assert config["features"]["gist"]["options"]["border"] == 32


def test_searched_options_are_not_fixed_and_nothing_is_searched_by_default():
    assert configuration.load(SMALL).config["hasher_grids"] == {}
    grids = {"sph": {"epsilon_mean": [0.1, 0.2]}, "itq": {"n_iter": ["5", "10"]}}
    config = configuration.load(changed(hashers=["sph", "lsh", "itq"], hasher_grids=grids)).config
    assert config["hasher_options"] == {"itq": {}, "lsh": {}, "sph": {"epsilon_std": 0.15, "max_iter": 200}}
    assert config["hasher_grids"] == {"itq": {"n_iter": [5, 10]}, "sph": {"epsilon_mean": [0.1, 0.2]}}
    assert config["selection"] == {"ground_truth": None, "metric": "mAP"}


def test_a_grid_of_a_hasher_that_is_not_used_is_allowed():
    assert configuration.load(changed(hasher_grids={"dsh": {"alpha": [1, 2]}})).config["hasher_options"].keys() == {
        "lsh",
        "itq",
    }


def test_the_standard_split_may_draw_all_items_the_improved_may_not():
    sizes = SMALL["split_sizes"] | {"train": 1597}
    configuration.load(changed(split_sizes=sizes, splits=["standard"]))
    with pytest.raises(ProtocolError, match=r"split 'improved' .*: the database is empty: .* use all 1797"):
        configuration.load(changed(split_sizes=sizes, splits=["improved"]))


def test_all_metrics_are_those_defined_for_the_shortest_code():
    metrics = configuration.load(changed(metrics=["all"], n_bits=[1, 8])).config["metrics"]
    assert {"mAP", "mAP[index]", "nDCG@1000", "precision@r1"} <= set(metrics)
    assert "precision@r2" not in metrics


def test_protocols_that_declare_their_sizes_need_none():
    text = yaml.safe_load((CONFIG / "cifar10_s1.yaml").read_text())
    assert "split_sizes" not in text
    assert configuration.load(text).config["split_sizes"] == {}


def test_all_files_of_a_split_are_filled_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"query": "q.txt", "train": "t.npz:rows", "database": "d.csv"}
    for file in ("q.txt", "d.csv"):
        (tmp_path / file).write_text("x")
    np.savez(tmp_path / "t.npz", rows=[1, 2])
    config = configuration.load(changed(splits=["from_lists"], split_options={"from_lists": files})).config
    assert config["split_options"]["from_lists"] == files | {"validation_query": None, "validation_database": None}


def test_sizes_of_a_leak_study_may_come_as_text():
    config = yaml.safe_load((CONFIG / "digits_leak.yaml").read_text())
    changed_sizes = config | {"leak": config["leak"] | {"train_per_class": ["30", "all"], "query_per_class": "5"}}
    loaded = configuration.load(changed_sizes).config["leak"]
    assert (loaded["train_per_class"], loaded["query_per_class"]) == ([30, "all"], 5)


def test_there_is_no_leak_study_without_its_key():
    assert "leak" not in configuration.load(changed()).config


PAIRED = {
    "dataset": "wiki",
    "features": {"image_to_text": {}, "text_to_image": {}},
    "ground_truths": ["class_label"],
    "hashers": ["cca_itq", "cvh"],
}


def test_two_modalities_have_separate_preprocessing_steps():
    both = {"image_to_text": {"preprocessing": {"query": ["l2"], "database": []}}, "text_to_image": {}}
    grids = configuration.load(changed(**(PAIRED | {"features": both}))).features
    assert grids["image_to_text"].steps == {"": ["l2"], "database/": []}
    assert grids["image_to_text"].preprocessing == ["l2"]
    assert grids["text_to_image"].steps == {"": ["centre"], "database/": ["centre"]}


def test_a_pipe_is_not_a_config_file(tmp_path):
    os.mkfifo(tmp_path / "a.yaml")
    with pytest.raises(ProtocolError, match=r"a\.yaml: expected a config file, got a non-regular file\."):
        yaml_files.read(tmp_path / "a.yaml")


NEAR = {"ground_truths": ["epsilon_ball"]}


@pytest.mark.parametrize("hasher", ["ksh", "grh", "talr_ndcg"])
@pytest.mark.parametrize(
    ("changes", "affinities", "learned"),
    [
        ({}, "class_label", "labels"),
        ({"ground_truths": ["graded_distance", "class_label"]}, "class_label", "labels"),
        ({"ground_truths": ["epsilon_ball", {"name": "classes", "use": "class_label"}]}, "class_label", "labels"),
        (NEAR, "graded_distance", "distances of gist (graded_distance)"),
        ({"features": {"gist": NEAR}}, "graded_distance", "distances of gist (graded_distance)"),
        ({"affinities": "epsilon_ball"}, "epsilon_ball", "distances of gist (epsilon_ball)"),
        (
            {"affinities": "graded_distance", "ground_truth_options": {"graded_distance": {"n_sample": 50}}},
            "graded_distance",
            "distances of gist (graded_distance-ffa1d51a)",
        ),
        (NEAR | {"affinities": "class_label"}, "class_label", "labels"),
    ],
)
def test_affinities_are_labels_where_the_experiment_scores_by_labels(changes, affinities, learned, hasher):
    experiment = configuration.load(
        changed(
            **{
                "metrics": ["mAP"],
                "features": {"gist": {}},
                "ground_truths": ["class_label"],
                "hashers": ["lsh", hasher],
            }
            | changes
        )
    )
    assert experiment.config["affinities"] == affinities
    assert experiment.learned_from(hasher, "gist") == learned
    assert experiment.learned_from("lsh", "gist") == "none"
    assert configuration.load(experiment.config) == experiment


def test_affinities_are_asked_for_where_they_are_ambiguous():
    features = {"gist": {"ground_truths": ["class_label"]}, "near": {"use": "gist", **NEAR}}
    with pytest.raises(
        ProtocolError,
        match=r"^affinities: the hasher 'ksh' can learn from labels or from distances, and feature 'gist' is scored by "
        "labels, but 'near' by distances alone. Set affinities to class_label or graded_distance[.]$",
    ):
        configuration.load(changed(features=features, hashers=["ksh"]))
    features["near"]["hashers"] = ["lsh"]
    config = configuration.load(changed(features=features, hashers=["ksh"])).config
    assert config["affinities"] == "class_label"
    assert configuration.load(changed(features=features, hashers=["lsh"])).config["affinities"] is None


def test_shipped_configurations_keep_their_affinities():
    found = {}
    for path in sorted(CONFIG.glob("*.yaml")):
        if path.stem not in USERS:
            affinities = configuration.load(yaml.safe_load(path.read_text())).config.get("affinities")
            found |= {path.stem: affinities} if affinities else {}
    by_labels = ("cifar10_supervised", "cifar10_supervised_s2", "cifar10_thesis", "digits_supervised")
    by_distances = dict.fromkeys(("cifar10_talr", "digits_talr"), "graded_distance")
    assert found == dict.fromkeys(by_labels, "class_label") | by_distances
