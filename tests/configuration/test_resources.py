"""The number of items of a dataset before it is loaded, and the states of the user's files."""

import os

import pytest
import yaml

from protocol import configuration
from protocol.configuration import experiment as plans
from protocol.configuration import records
from protocol.features._feature import Feature
from protocol.shipped import configs


def test_a_users_folder_is_counted_once_and_extracted_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(Feature, "images_per_job", 3)
    (tmp_path / "cat").mkdir()
    for number in range(7):
        (tmp_path / "cat" / f"{number}.jpg").write_bytes(b"")
    config = yaml.safe_load(configs()["image_folder"].read_text())
    experiment = configuration.load(config | {"dataset_options": {"folder": str(tmp_path)}})
    assert experiment.n_items == 7
    monkeypatch.setattr(plans.datasets, "count_files", lambda folder: pytest.fail("counted again"))
    plan = configuration.Plan(experiment)
    assert {plan.n_parts({"extraction": name}) for name in experiment.extractions} == {3}


def test_the_state_of_a_file_is_its_content_and_it_is_hashed_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records._known_states.cache_clear()
    (tmp_path / "a.npy").write_bytes(b"first")
    before = records.states(["a.npy"])
    os.utime("a.npy", (1, 1))
    assert records.states(["a.npy"]) == before
    records._known_states.cache_clear()
    monkeypatch.setattr(records.storage, "file_sha256", lambda path: pytest.fail("hashed again"))
    assert records.states(["a.npy"]) == before
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(b"other")
    assert records.states(["a.npy"]) != before
    records._known_states.cache_clear()
