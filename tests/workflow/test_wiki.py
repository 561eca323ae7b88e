"""Wiki's image side from the mirror, end to end on a small part of the grid."""

import numpy as np
import pandas as pd
import pytest
import yaml
from project import Results

from protocol import datasets
from protocol.datasets.wiki import FEATURES, LISTS
from protocol.provenance import storage

HASHERS = ["lsh", "itq"]


@pytest.fixture(scope="module")
def wiki(tmp_path_factory, root, shared):
    made = Results(tmp_path_factory.mktemp("wiki"))
    full = yaml.safe_load((root / "workflow" / "config" / "wiki.yaml").read_text())
    made.stages(full | {"runs": 1, "hashers": HASHERS, "mirror": str(shared / "data")}, "all")
    return made


def test_the_stored_arrays_equal_those_of_the_files(wiki, shared):
    paths = {name: shared / "data" / "wiki" / name for name in (FEATURES, *LISTS.values())}
    data, content, items = (
        datasets.load("wiki", paths, {}),
        *map(storage.read, (wiki.data / "content.h5", wiki.data / "items.h5")),
    )
    assert sorted(content) == ["vectors/image", "vectors/text"]
    for name, vectors in data.vectors.items():
        np.testing.assert_array_equal(content[f"vectors/{name}"], vectors)
    np.testing.assert_array_equal(items["labels"], data.labels)
    assert len(items["partitions/train"]) == 2173
    (features,) = wiki.data.glob("precomputed-*/features.h5")  # of a vector that is named, an option
    np.testing.assert_array_equal(storage.read(features, ["X"])["X"], data.vectors["image"])


def test_every_combination_is_scored_and_hashing_beats_chance_on_labels(wiki):
    metrics = pd.read_csv(wiki.folder / "results/wiki/metrics.csv")
    plain = metrics[(metrics["metric"] == "mAP") & (metrics["extension"] == "none")]
    assert len(plain) == 2 * 2 * 2 * 3  # splits, ground truths, hashers, lengths
    value = plain[plain["n_bits"] == 64].set_index(["ground_truth", "split", "hasher"])["value"]
    labels = storage.read(wiki.data / "items.h5", ["labels"])["labels"]
    chance = (np.bincount(labels) ** 2).sum() / len(labels) ** 2  # share of relevant items, over random queries
    for split in ("standard", "improved"):
        assert 1.03 * chance < value["class_label", split, "itq"] < 0.15  # visual words fit these categories badly
        assert value["epsilon_ball", split, "itq"] > value["epsilon_ball", split, "lsh"]


def test_the_report_shows_no_images(wiki):
    page = (wiki.folder / "results/wiki/report.html").read_text()
    assert '<section id="partitions"' in page
    assert "<img" not in page.partition("<script>")[0]
