"""The memory and time of jobs: they grow with the dataset and the attempt, and are bounds for the measured jobs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from protocol import configuration
from protocol.checks import ProtocolError
from protocol.configuration import need
from protocol.configuration.resources import ROWS, items, row_bytes
from protocol.shipped import configs

MEASURED = yaml.safe_load(Path(__file__).with_name("measured.yaml").read_text())


@pytest.fixture
def loaded():
    def load(name, **changes):
        config = yaml.safe_load(configs()[name].read_text())
        for key, value in changes.items():
            config[key] = {**config.get(key, {}), **value} if isinstance(value, dict) else value
        return configuration.load(config)

    return load


def test_every_rule_has_a_row(loaded, root):
    experiment = loaded("cifar10")
    rules = "".join(path.read_text() for path in (root / "workflow" / "rules").glob("*.smk"))
    assert {rule for rule in ROWS if f'needs("{rule}")' in rules} == set(ROWS) - {
        *("download", "leak_preprocessing", "leak_ground_truth"),
    }
    with pytest.raises(ProtocolError, match=r"^Unknown rule 'modle'\. Did you mean 'model'\?$"):
        need(experiment, "modle")


def test_a_request_by_hand(loaded):
    """100,000 items of 128 float32 values; training and validation sets of 10,000."""
    sizes = {"train": 8_000, "validation_query": 500, "validation_database": 1_500}
    changes = {"ground_truths": ["nearest_neighbours"], "split_sizes": sizes, "n_bits": [64]}
    experiment = loaded("synthetic", dataset_options={"n": 100_000}, **changes)
    assert need(experiment, "ground_truth") == {"mem_mb": 500 + 10 + 205, "runtime": 31}  # 4 copies of 51.2 MB
    assert need(experiment, "model") == {"mem_mb": 1533, "runtime": 121}  # 1500 + 10 + 4 x 5.12 + 3 x 0.8 MB
    assert need(experiment, "model", attempt=3)["mem_mb"] == pytest.approx(4 * 1532.9, abs=1)


def test_only_jobs_that_compare_vectors_need_the_matrix_and_a_shard_needs_less_than_the_database(loaded):
    def mb(rule, truth="class_label", n_shards=1):
        options = {"dataset_options": {"n": 10_000_000}, "metrics": ["mAP"]}
        return need(loaded("synthetic", ground_truths=[truth], count_shards=n_shards, **options), rule)["mem_mb"]

    assert mb("ground_truth", "nearest_neighbours") - mb("ground_truth") == 4 * 128 * 4 * 10
    assert mb("count_shard", n_shards=100) < mb("count") / 10


@pytest.mark.parametrize("name", MEASURED)
def test_no_measured_job_took_more_than_its_first_attempt_requests(loaded, root, name):
    experiment = loaded(MEASURED[name]["config"], **MEASURED[name]["changes"])
    jobs = pd.read_csv(root / "results" / "reference" / "growth" / "jobs.csv").query("experiment == @name")
    requests = {job.rule: need(experiment, job.rule) for job in jobs.itertuples()}
    assert [
        job.rule
        for job in jobs.itertuples()
        if job.peak_mb > requests[job.rule]["mem_mb"] or job.seconds > 60 * requests[job.rule]["runtime"]
    ] == []
    assert requests


def test_no_job_of_an_experiment_with_100_million_items_needs_more_than_16_gb_and_4_hours(loaded):
    large = {
        "dataset_options": {"n": 100_000_000},
        "ground_truths": ["class_label"],
        "split_sizes": {"query": 10_000, "train": 10_000},
        "hashers": ["lsh", "itq"],
        "n_bits": [64],
        "runs": 1,
        "metrics": ["mAP", "nDCG", "precision@r2"],
        "count_shards": 100,
    }
    experiment = loaded("synthetic", **large)
    rules = set(ROWS) - {"count", "quantised", "leak_score", "score_without", "excluded", "supervision", "selection"}
    requests = {rule: need(experiment, rule) for rule in rules}
    assert {rule: of for rule, of in requests.items() if of["mem_mb"] > 16_000 or of["runtime"] > 240} == {}


def test_networks_on_images(loaded):
    experiment = loaded("cifar10_learned_images")
    assert row_bytes(experiment, experiment.features["pixels"]) == 3072 * 4
    assert need(experiment, "dataset")["mem_mb"] > 60_000 * 3072 / 1e6
    # A job that was measured at 36.7 minutes: 50,000 images, 30 epochs, 2 code lengths.
    assert need(experiment, "model", feature="pixels")["runtime"] >= 2 * 36.7


def test_a_users_files_are_measured_by_their_header_or_size(loaded, tmp_path):
    np.save(tmp_path / "features.npy", np.zeros((70_000, 64), dtype=np.float32))
    np.save(tmp_path / "labels.npy", np.arange(70_000) % 7)
    files = {"features": str(tmp_path / "features.npy"), "labels": str(tmp_path / "labels.npy")}
    experiment = loaded("arrays", dataset_options=files)
    assert items(experiment) == 70_000
    assert need(experiment, "dataset")["mem_mb"] == 400 + 7  # the vectors are not read
    (tmp_path / "features.csv").write_text("0.5,0.5\n" * 70_000)
    text = loaded("arrays", dataset_options=files | {"features": str(tmp_path / "features.csv")})
    assert need(text, "dataset")["mem_mb"] >= 400 + 2 * 8 * 70_000 / 1e6


def test_a_users_folder_is_counted_once_and_extracted_in_parts(loaded, tmp_path, monkeypatch):
    from protocol.configuration import resources
    from protocol.features._feature import Feature

    monkeypatch.setattr(Feature, "images_per_job", 3)
    (tmp_path / "cat").mkdir()
    for number in range(7):
        (tmp_path / "cat" / f"{number}.jpg").write_bytes(b"")
    experiment = loaded("image_folder", dataset_options={"folder": str(tmp_path)})
    assert items(experiment) == 7
    monkeypatch.setattr(resources.datasets, "count_files", lambda folder: pytest.fail("counted again"))
    assert {resources.n_parts(experiment, extraction) for extraction in experiment.extractions} == {3}
