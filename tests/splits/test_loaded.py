"""Splits of the pipeline, loaded by user code."""

import numpy as np
import pytest
from encoded import message_of, refused
from split_files import write_split

import protocol as hp
from protocol import registry
from protocol.provenance import storage
from protocol.splits import PARTITIONS, Split, load_split

IDS = np.array([f"image/{row}.png" for row in range(60)])
Y = np.arange(60) % 3
PARTS = registry.get("split", "standard").split(
    60, Y, sizes={"query": 6, "validation_query": 3, "validation_database": 9, "train": 12}, seed=0
)
NAMES = np.array([b"a", b"b", b"c"])


def provenance(**inputs):
    return storage.provenance("test", parameters={}, inputs=inputs)


@pytest.fixture
def path(tmp_path):
    """A split in the folder of the pipeline, the dataset from which it was drawn, and another dataset."""
    for dataset, labels in (("another", Y[::-1]), ("made", Y)):
        items = tmp_path / "results" / "datasets" / dataset / "items.h5"
        storage.write(items, {"ids": IDS, "labels": labels, "class_names": NAMES}, provenance())
    split = tmp_path / "results" / "mine" / "splits" / "standard" / "run0" / "splits.h5"
    storage.write(split, PARTS, provenance(labels=items))
    return split


def test_a_split_with_the_ids_and_labels_of_its_dataset(path, monkeypatch):
    split = hp.load_split(path)
    for name in PARTITIONS:
        np.testing.assert_array_equal(getattr(split, name), PARTS[name])
        assert getattr(split, name).dtype == np.int64
    assert split.items == path.parents[4] / "datasets" / "made" / "items.h5"
    np.testing.assert_array_equal(split.ids, IDS)
    assert split.class_names == ["a", "b", "c"]
    monkeypatch.chdir(path.parents[4])
    relative = load_split("mine/splits/standard/run0/splits.h5")
    np.testing.assert_array_equal(relative.labels, Y)


def test_a_dataset_without_labels(tmp_path):
    storage.write(tmp_path / "items.h5", {"ids": IDS, "class_names": NAMES[:0]}, provenance())
    storage.write(tmp_path / "splits.h5", PARTS, provenance(labels=tmp_path / "items.h5"))
    split = load_split(tmp_path / "splits.h5", items=tmp_path / "items.h5")
    assert (split.labels, split.class_names, len(split.ids)) == (None, [], 60)


def test_a_file_elsewhere_has_partitions_and_an_error_explains_the_missing_labels(path, tmp_path):
    moved = path.rename(tmp_path / "moved.h5")
    split = load_split(moved)
    np.testing.assert_array_equal(split.query, PARTS["query"])
    assert message_of(getattr, split, "labels") == (
        f"{moved}: the items.h5 from which the split was drawn is not in the folder results/datasets next to the "
        "experiment. Pass its path: load_split(path, items=FILE)."
    )
    datasets = tmp_path / "results" / "datasets"
    np.testing.assert_array_equal(load_split(moved, items=datasets / "made" / "items.h5").labels, Y)
    with refused(r"^items: .*items\.h5 is not the items\.h5 from which .*moved\.h5 was drawn\."):
        load_split(moved, items=datasets / "another" / "items.h5")


def test_a_split_of_the_user_without_validation(tmp_path):
    own = {name: rows for name, rows in PARTS.items() if not name.startswith("validation")}
    write_split(tmp_path / "split.h5", own, IDS)
    split = load_split(tmp_path / "split.h5")
    assert isinstance(split, Split)
    np.testing.assert_array_equal(split.database, PARTS["database"])
    assert split.validation_query.shape == (0,)


def test_a_file_that_is_no_split_is_refused(path):
    with refused(r"items.h5: partition must be database, query, train,"):
        load_split(path.parents[4] / "datasets" / "made" / "items.h5")
    with refused(r"^split.npz: expected a splits.h5 that the pipeline has written\.$"):
        load_split("split.npz")
