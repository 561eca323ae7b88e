"""Invalid configurations, which must be refused in one line before any job starts."""

import copy
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from project import SMALL

from protocol import configuration, registry
from protocol.checks import ProtocolError
from protocol.report.manuscript.files import file_name

ARRAYS = {"dataset": "arrays", "features": {"precomputed": {}}, "ground_truths": ["epsilon_ball"]}
SIFT1M = {"dataset": "sift1m", "features": {"precomputed": {}}, "splits": ["sift1m"], "hashers": ["lsh"]}


def refused(**changes):
    with pytest.raises(ProtocolError) as error:
        configuration.load(copy.deepcopy(SMALL) | changes)
    assert "\n" not in str(error.value)
    return str(error.value)


CONFIG = Path(__file__).parents[2] / "workflow" / "config"
MODALITIES = {
    "dataset": "wiki",
    "features": {"image_to_text": {}, "text_to_image": {}},
    "ground_truths": ["class_label"],
    "hashers": ["cca_itq", "cvh"],
}
BASES = {
    "small": SMALL,
    "default": yaml.safe_load(configuration.DEFAULT.read_text()),
    "leak": yaml.safe_load((CONFIG / "digits_leak.yaml").read_text()),
    "modalities": SMALL | MODALITIES,
}
WRONG = yaml.safe_load(Path(__file__).with_name("wrong.yaml").read_text())


@pytest.mark.parametrize("case", WRONG, ids=lambda case: str(case["changes"])[:60])
def test_a_wrong_configuration_is_refused_in_one_line(case):
    with pytest.raises(ProtocolError) as error:
        configuration.load(copy.deepcopy(BASES[case.get("base", "small")] | case["changes"]))
    message = str(error.value)
    assert "\n" not in message
    assert re.search(case["matches"], message) if "matches" in case else case["contains"] in message, message


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("offline", [False, True])
def test_a_mirror_that_is_not_a_folder(here, offline):
    message = refused(mirror="nowhere", offline=offline)
    assert message == f"mirror: expected a URL or an existing folder, got 'nowhere' (looked in {here})."
    (here / "nowhere").mkdir()
    for mirror in ("nowhere", "https://example.org/files"):
        assert configuration.load(SMALL | {"mirror": mirror, "offline": offline}).config["mirror"] == mirror


def test_a_key_that_occurs_twice_with_file_and_line(here):
    (here / "a.yaml").write_text("runs: 3\nfeatures:\n  gist: {}\n  gist: {runs: 2}\n")
    expected = "a.yaml, line 4: expected each key once, got 'gist' again (first in line 3)."
    for read in (lambda: configuration.read("a.yaml"), lambda: configuration.check_files(["a.yaml"])):
        with pytest.raises(ProtocolError) as error:
            read()
        assert str(error.value) == expected
    (here / "b.yaml").write_text("base: &base {runs: 3}\nother: {<<: *base, runs: 4}\n")
    assert configuration.read("b.yaml")["other"] == {"runs": 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1\n", "c.yaml: expected keys with values, got list."),
        ("", "c.yaml: expected keys with values, got NoneType."),
        ("runs: [1\nseed: 2\n", "c.yaml, line 2: expected YAML, got: "),
        ("runs: *a\n", "c.yaml, line 1: expected YAML, got: found undefined alias"),
    ],
)
def test_a_file_that_is_not_a_mapping(here, text, message):
    (here / "c.yaml").write_text(text)
    with pytest.raises(ProtocolError) as error:
        configuration.read("c.yaml")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_missing_file(here):
    with pytest.raises(ProtocolError, match=r"nowhere.yaml: expected a config file, got: No such file or directory\."):
        configuration.read("nowhere.yaml")


def write_arrays(folder, n=63_000, labelled=True):
    np.save(folder / "x.npy", np.zeros((n, 16), dtype=np.uint8))
    np.save(folder / "y.npy", np.zeros(n, dtype=np.int64))
    return {"features": "x.npy"} | ({"labels": "y.npy"} if labelled else {})


def test_class_labels_of_a_dataset_without_labels(here):
    options = write_arrays(here, labelled=False)
    for name, changes in (
        ("sift1m", SIFT1M),
        ("labelme", {"dataset": "labelme", "features": {"precomputed": {}}}),
        ("arrays", ARRAYS | {"dataset_options": options}),
    ):
        message = refused(**changes | {"ground_truths": ["class_label"]})
        assert message == (
            f"ground truth 'class_label' needs class labels, but dataset {name!r} has none; use epsilon_ball, "
            "graded_distance, nearest_neighbours."
        )


def test_class_labels_of_a_folder_without_sub_folders(here):
    (here / "images").mkdir()
    changes = {"dataset": "image_folder", "dataset_options": {"folder": "images"}}
    assert "dataset 'image_folder' has none" in refused(**changes)
    (here / "images" / "cat").mkdir()
    configuration.load(SMALL | changes)


def test_options_of_the_ground_truth_that_supervises():
    changes = {"hashers": ["talr_ndcg"], "ground_truth_options": {"graded_distance": {"n_sample": 1}}}
    assert "ground truth 'graded_distance'" in refused(**changes)


@pytest.mark.parametrize("file", ["x.npy", "x.csv"])
def test_a_feature_of_images_on_arrays(here, file):
    np.save(here / "x.npy", np.zeros((2000, 16), dtype=np.float32))
    np.savetxt(here / "x.csv", np.zeros((2000, 16)), delimiter=",")
    changes = ARRAYS | {"dataset_options": {"features": file}, "features": {"bow": {}}}
    assert refused(**changes) == "feature 'bow' reads images, but dataset 'arrays' has vectors/features."


def test_more_training_rows_than_the_file_has_items(here):
    sizes = SMALL["split_sizes"] | {"train": 65_000}
    message = refused(**ARRAYS, dataset_options=write_arrays(here), split_sizes=sizes)
    assert message.startswith("split 'standard' of dataset 'arrays': ")
    assert message.endswith(", got 63000.")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5"])
def test_only_the_header_of_a_file_is_read(here, suffix):
    import h5py

    np.save(here / "x.npy", np.zeros((2000, 16), dtype=np.float32))
    with zipfile.ZipFile(here / "x.npz", "w") as archive:
        archive.write(here / "x.npy", "a.npy")
    with h5py.File(here / "x.h5", "w") as file:
        file["a"] = np.zeros((2000, 16), dtype=np.float32)
    changes = ARRAYS | {"dataset_options": {"features": f"x{suffix}"}}
    facts = configuration.load(SMALL | changes).facts
    assert (facts["n"], facts["dimensions"]) == (2000, {"features": 16})
    assert "got 2000." in refused(**changes, split_sizes=SMALL["split_sizes"] | {"train": 5000})


@pytest.mark.parametrize("metric", ["mAP@0[all]", "P@0", "nDCG@00"])
def test_a_cutoff_of_zero(metric):
    assert re.fullmatch(
        rf"metric '{re.escape(metric)}': expected an integer >= 1 as the cutoff K, got 0+\.", refused(metrics=[metric])
    )


@pytest.mark.parametrize(("metric", "number"), [("neighbours@10", 10), ("neighbours@7[best]", 7), ("1-recall@10", 1)])
def test_a_metric_of_the_nearest_items(metric, number):
    """Refused unless so many nearest items are relevant in every ground truth."""
    others = ["epsilon_ball", {"use": "nearest_neighbours", "options": {"n_neighbours": number + 1}}]
    for other in others:
        assert refused(metrics=[metric], ground_truths=[other]).startswith(
            f"metric {metric!r}: expected every ground truth to be nearest_neighbours with n_neighbours {number}, got "
        )
    fitting = [{"use": "nearest_neighbours", "options": {"n_neighbours": number}}]
    assert configuration.load(copy.deepcopy(SMALL) | {"metrics": [metric], "ground_truths": fitting})


def test_an_ambiguous_metric():
    assert refused(metrics=["mAP@100"]).startswith("metric 'mAP@100' is ambiguous: choose mAP@100[")


def test_preprocessing_at_the_top():
    message = "preprocessing: expected below a feature, as features.NAME.preprocessing, got it at the top level."
    assert refused(preprocessing=["l2"]) == message


def test_a_feature_without_a_value_has_defaults(here):
    (here / "a.yaml").write_text(yaml.safe_dump(SMALL).replace("gist: {}", "gist:"))
    assert configuration.read("a.yaml")["features"] == {"gist": None}
    assert configuration.load(configuration.read("a.yaml")) == configuration.load(SMALL)


def test_validation_sizes_are_needed_for_the_selection_of_options_alone():
    sizes = {"query": 50, "train": 300}
    experiment = configuration.load(SMALL | {"split_sizes": sizes})
    assert experiment.config["split_sizes"] == sizes
    assert experiment.sizes("standard")["database"] == 1747
    assert experiment.sizes("improved")["database"] == 1447
    grids = {"itq": {"n_iter": [5, 10]}}
    assert refused(split_sizes=sizes, hasher_grids=grids) == (
        "split_sizes: expected validation_query and validation_database, since options are selected on them "
        "(hasher_grids, split 'standard'), got no such sizes."
    )
    message = refused(split_sizes=sizes | {"validation_query": 20}, hasher_grids=grids)
    assert message.startswith("split_sizes: expected validation_database, since options")


def test_a_leak_study_without_labels():
    leak = {"query_per_class": 5, "outside_per_class": 5, "train_per_class": ["all"], "controls": ["lsh"]}
    changes = SIFT1M | {"ground_truths": ["nearest_neighbours"], "hashers": ["lsh", "itq"], "leak": leak}
    assert refused(**changes) == "leak: expected a dataset with class labels, got 'sift1m'."


@pytest.mark.parametrize("hasher", ["csq", "talr_ap"])
def test_a_ground_truth_that_only_supervises_need_not_be_listed(hasher):
    experiment = configuration.load(SMALL | {"hashers": [hasher], "ground_truths": ["epsilon_ball"]})
    assert set(experiment.supervising().values()) & set(experiment.ground_truths) == {"class_label"}
    assert experiment.features["gist"].ground_truths == ["epsilon_ball"]
    assert configuration.Plan(experiment).jobs()["supervision"] == 2


@pytest.mark.parametrize("named", [None, "epsilon_ball"])
def test_the_ground_truth_of_the_selection_must_fit_the_validation_database(named):
    options = {
        "ground_truths": ["epsilon_ball", "class_label"],
        "ground_truth_options": {"epsilon_ball": {"n_neighbours": 120}},
        "selection": {"ground_truth": named},
    }
    grids = {"itq": {"n_iter": [5, 10]}}
    configuration.load(SMALL | options)
    assert refused(**options, hasher_grids=grids) == (
        "options of ground truth 'epsilon_ball', selection, split 'standard': n_neighbours: expected fewer than the "
        "100 items to count in (count_in='database'), got 120."
    )
    configuration.load(SMALL | options | {"hasher_grids": grids, "selection": {"ground_truth": "class_label"}})


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({}, None),  # 179 items in the smallest class at most
        ({"query_per_class": 100, "outside_per_class": 78}, "query_per_class + outside_per_class <= 177, since the"),
        ({"query_per_class": 100, "outside_per_class": 77}, None),
        ({"train_per_class": ["all", 80]}, None),
        ({"train_per_class": [10, 85, "all"]}, "leak.train_per_class: expected at most 84, the items of the smallest"),
    ],
)
def test_sizes_of_a_leak_study(sizes, message):
    leak = {"query_per_class": 5, "outside_per_class": 5, "train_per_class": ["all"], "controls": ["lsh"]} | sizes
    if message:
        assert message in refused(leak=leak)
    else:
        assert configuration.load(SMALL | {"leak": leak}).config["leak"] == leak


@pytest.mark.parametrize("key", ["hasher_options", "hasher_grids"])
def test_a_network_that_can_not_take_the_feature(key):
    changes = {"hashers": ["csq"], key: {"csq": {"network": "conv" if key == "hasher_options" else ["mlp", "conv"]}}}
    message = refused(**changes)
    assert message.startswith("options of hasher 'csq' at 8 bits: network 'conv': expected rows of 3072 features, ")
    assert message.endswith(", got 512. Use 'mlp' or 'linear' for other features.")
    pixels = {"features": {"pixels": {"options": {"image_size": 32, "colour": "rgb"}}}}
    configuration.load(SMALL | changes | pixels)


def test_an_unknown_ground_truth_of_a_selection_without_grids():
    assert refused(selection={"ground_truth": "class_labels"}).startswith("selection.ground_truth: expected ")
    configuration.load(SMALL | {"selection": {"ground_truth": "nearest_neighbours"}})


@pytest.mark.parametrize("key", ["features", "hasher_options", "hasher_grids", "ground_truth_uses"])
def test_a_key_that_is_not_a_name(key):
    assert refused(**{key: {1: {}}}) == f"{key}: expected names as keys, got 1."


@pytest.mark.parametrize("hashers", [["lsh"], ["csq"]])
def test_the_options_of_a_network_are_checked_without_pytorch(hashers, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    configuration.load(SMALL | {"hashers": hashers, "hasher_options": {"csq": {"epochs": 5}}})
    message = refused(hashers=hashers, hasher_options={"csq": {"epochs": 0}})
    assert message.endswith(": epochs: expected an integer >= 1, got 0.")


@pytest.mark.parametrize("metric", ["mLGAP@r2", "mAP[index]", "utilisation", "entropy", "collision", "largest_bucket"])
def test_metrics_that_do_not_add_up_over_shards(metric):
    metrics = ["mAP", "nDCG", "precision@r2"]
    assert configuration.load(SMALL | {"metrics": metrics, "count_shards": 4}).config["count_shards"] == 4
    assert configuration.load(SMALL | {"metrics": [*metrics, metric]})
    assert refused(metrics=[*metrics, metric], count_shards=4) == (
        f"metrics: expected metrics that add up over the 4 shards that count_shards sets, got {metric!r}. "
        "Leave it out, or set count_shards: 1."
    )


def test_more_shards_than_database_items():
    assert refused(metrics=["mAP"], count_shards=1298) == (
        "count_shards: expected at most 1297, the database items of the improved split, got 1298."
    )
    assert refused(count_shards=0) == "count_shards: expected an integer from 1 to 10000, got 0."


@pytest.mark.parametrize("suffix", ["npy", "txt"])
@pytest.mark.parametrize(("option", "kind"), [("labels", "labels"), ("ids", "ids")])
def test_as_many_labels_and_ids_as_features(here, suffix, option, kind):
    options = write_arrays(here, n=10_000)
    (here / "few.txt").write_text("1\n" * 2_000)
    np.save(here / "few.npy", np.ones(2_000, dtype=np.int64))
    np.savetxt(here / "x.txt", np.zeros((10_000, 1)), fmt="%d")
    for features in ("x.npy", "x.txt"):
        given = options | {"features": features, option: f"few.{suffix}"}
        message = refused(**ARRAYS | {"dataset_options": given})
        assert message == f"few.{suffix}: 2,000 {kind} for 10,000 items."


def test_labels_in_one_row(here):
    options = write_arrays(here, n=2_000)
    np.save(here / "y.npy", np.zeros((1, 2_000), dtype=np.int64))
    configuration.load(SMALL | ARRAYS | {"dataset_options": options})


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("".join(f"item-{row:07d}\n" for row in range(101)), "query.txt: a list of 101 items of a dataset of 100."),
        (np.array([0, 100]), "query.npy: expected row numbers from 0 to 99"),
    ],
)
def test_lists_that_do_not_fit_the_dataset(here, items, message):
    options = write_arrays(here, n=100)
    np.save(here / "rows.npy", np.arange(50))
    name = "query.txt" if isinstance(items, str) else "query.npy"
    if isinstance(items, str):
        (here / name).write_text(items)
    else:
        np.save(here / name, items)
    lists = {"query": name, "train": "rows.npy", "database": "rows.npy"}
    changes = ARRAYS | {"dataset_options": options, "splits": ["from_lists"], "split_options": {"from_lists": lists}}
    assert refused(**changes).startswith(f"split 'from_lists' of dataset 'arrays': {message}")


def test_lists_with_labels_of_other_classes(here):
    lists = dict.fromkeys(("query", "train", "database"), "list.txt")
    refused_with = {"splits": ["from_lists"], "split_options": {"from_lists": lists}}
    (here / "list.txt").write_text("digit-0000 0 1 0\n")
    assert "list.txt: labels for 3 classes, but the dataset has 10." in refused(**refused_with)


@pytest.mark.parametrize(
    "changes",
    [
        {"experiment": "e" * 81},
        {"experiment": "e" * 300},
        {"features": {"f" * 81: {"use": "gist"}}},
        {"hashers": [{"use": "itq", "name": "h" * 81}]},
        {"ground_truths": [{"use": "class_label", "name": "g" * 81}]},
        {"codes": {"c" * 81: {"query": "{run}{n_bits}", "database": "{split}{run}{n_bits}"}}},
    ],
)
def test_names_that_are_too_long_for_file_names(changes):
    assert re.search("up to 80 lower-case letters|of at most 80 characters, got 81", refused(**changes))


def test_the_longest_names_fit_into_file_names():
    longest = max((name for name in registry.names("metric")), key=len)
    name = file_name("scores", f"{longest}@1000[retrieved]", "f" * 80, "g" * 80, max(registry.names("split"), key=len))
    assert len(f".{name}.pdf.xxxxxxxx.part") < 256
