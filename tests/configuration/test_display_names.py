"""The display names of an experiment: those that papers print, those that the user gives, and what is refused."""

import pytest

from protocol import registry
from protocol.configuration import load


def names(**changes):
    return load(changes, from_file=False).config["names"]


def test_the_default_names_are_those_that_papers_print():
    found = names()
    assert (found["dataset"], found["features"]["bow"], found["hashers"]["pca_rr"]) == ("Digits", "BoW", "PCA-RR")
    assert found["metrics"]["precision@r2"] == "Precision within radius 2"
    assert found["splits"] == {"standard": "standard", "improved": "improved"}


def test_metrics_that_would_have_one_name_keep_their_own():
    both = names(metrics=["mAP@100[all]", "mAP@100[retrieved]"])["metrics"]
    assert list(both.values()) == ["mAP@100[all]", "mAP@100[retrieved]"]
    assert names(metrics=["mAP@100[all]"])["metrics"] == {"mAP@100[all]": "mAP@100"}


def test_a_further_use_of_a_hasher_is_named_after_both():
    uses = [{"name": "itq_5", "use": "itq", "options": {"n_iter": 5}}, {"name": "mine", "use": "itq"}]
    features = {"gist": {}}
    assert names(hashers=uses, features=features)["hashers"] == {"itq_5": "ITQ 5", "mine": "mine"}


def test_names_and_title_of_the_user(tmp_path):
    found = load(
        {
            "title": "Codes & <b>digits</b> at 100 %",
            "names": {"dataset": "Our digits", "hashers": {"itq": "ITQ_1 ($)"}},
        },
        from_file=False,
    ).config
    assert found["title"] == "Codes & <b>digits</b> at 100 %"
    assert found["names"]["dataset"] == "Our digits"
    assert (found["names"]["hashers"]["itq"], found["names"]["hashers"]["lsh"]) == ("ITQ_1 ($)", "LSH")


def test_the_data_of_a_user_have_the_name_of_the_experiment(tmp_path):
    import numpy as np

    np.save(tmp_path / "x.npy", np.zeros((2500, 8), np.float32))
    options = {"features": str(tmp_path / "x.npy")}
    changes = {"experiment": "mine", "dataset": "arrays", "dataset_options": options, "features": {"precomputed": {}}}
    sizes = {"query": 100, "validation_query": 100, "validation_database": 300, "train": 500}
    changes |= {"ground_truths": ["epsilon_ball"], "split_sizes": sizes, "n_bits": [8], "extension_bits": [1]}
    assert names(**changes)["dataset"] == "mine"


def test_the_filled_configuration_has_the_same_names():
    config = load({"names": {"features": {"gist": "GIST-512"}}}, from_file=False).config
    assert load(config).config["names"] == config["names"]


@pytest.mark.parametrize("kind", ["dataset", "hasher", "feature", "ground_truth"])
def test_printed_names_are_declared_and_different(kind):
    own_data = {record.name for record in registry.entries("dataset") if record.required}
    records = [record for record in registry.entries(kind) if record.name not in own_data]
    assert all(record.printed for record in records)
    assert len({record.printed for record in records}) == len(records)
