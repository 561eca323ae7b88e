"""What a loader may return, what is known of a dataset, and the files that its user names."""

import os

import numpy as np
import pytest

from protocol import datasets, registry
from protocol.checks import ProtocolError
from protocol.datasets import Data, blocks, check_statistics

PIXELS = np.zeros((3, 4, 4), dtype=np.uint8)
IDS = np.array(["a", "b", "c"])
WRONG = {
    "no image": (
        {"images": PIXELS[:0]},
        "expected uint8 (3, height, width) or (3, height, width, 3), not empty, got shape (0, 4, 4)",
    ),
    "fewer images": (
        {"images": PIXELS[:2]},
        "images: expected uint8 (3, height, width) or (3, height, width, 3), not empty, got shape (2, 4, 4)",
    ),
    "float pixels": ({"images": PIXELS / 2}, "got shape (3, 4, 4) of float64"),
    "four channels": ({"images": np.zeros((3, 4, 4, 4), np.uint8)}, "got shape (3, 4, 4, 4)"),
    "nothing": ({"images": None}, "neither images nor vectors"),
    "no item": ({"ids": IDS[:0]}, "ids: wanted one string per item, (n,) with n >= 1; came shape (0,)"),
    "ids not strings": ({"ids": np.arange(3)}, "ids: wanted one string per item"),
    "id twice": ({"ids": np.array(["a", "b", "a"])}, "ids: 'a' names 2 items; wanted unique ids"),
    "too few labels": ({"labels": np.array([0, 1])}, "labels: expected 3, one per item, got 2"),
    "class too high": ({"labels": np.array([0, 1, 2])}, "classes run from 0 to 2, but there are 2 class names"),
    "class below 0": ({"labels": np.array([0, -1, 1])}, "classes run from -1 to 1"),
    "narrow integers": ({"labels": np.zeros(3, np.int32)}, "wanted int64 (n,) or bool (n, n_classes)"),
    "label columns": ({"labels": np.ones((3, 3), bool)}, "3 columns, but there are 2 class names"),
    "0/1 label matrix": ({"labels": np.ones((3, 2), np.int64)}, "wanted int64 (n,) or bool (n, n_classes)"),
    "wide floats": ({"vectors": {"gist": np.zeros((3, 2))}}, "vectors 'gist': wanted float32 or integers (n, d)"),
    "fewer vectors": ({"vectors": {"bow": np.zeros((2, 2), np.uint8)}}, "n = 3; came shape (2, 2) of uint8"),
    "flat vectors": ({"vectors": {"bow": np.zeros(3, np.uint8)}}, "came shape (3,) of uint8"),
    "empty part": (
        {"partitions": {"test": np.array([], np.int64)}},
        "partition 'test': expected at least one row number, got none",
    ),
    "row outside": ({"partitions": {"test": np.array([3])}}, "expected row numbers from 0 to 2, got 3 to 3"),
    "row twice": ({"partitions": {"test": np.array([1, 1])}}, "partition 'test': wanted every row once at most"),
}


@pytest.mark.parametrize("case", WRONG)
def test_data_that_contradict_themselves_are_refused(case):
    changed, message = WRONG[case]
    parts = {"images": PIXELS, "labels": np.array([0, 1, 0]), "ids": IDS, "class_names": ("cat", "dog")} | changed
    with pytest.raises(ProtocolError) as error:
        Data(**parts)
    assert message in str(error.value)


def test_data_may_have_several_labels_or_none_and_vectors_without_images():
    assert Data(IDS, images=PIXELS).labels is None
    assert Data(IDS, np.ones((3, 2), bool), ("cat", "dog"), images=PIXELS).labels.sum() == 6
    vectors = np.ones((3, 5), np.float32)
    assert list(Data(IDS, vectors={"gist": vectors}).arrays) == ["vectors/gist"]
    assert list(Data(IDS, images=PIXELS, vectors={"gist": vectors}).arrays) == ["images", "vectors/gist"]


def test_blocks_are_the_rows_in_order_and_small():
    array = np.arange(3 * 10**6, dtype=np.float64).reshape(-1, 10)
    parts = list(blocks(array))
    assert len(parts) > 1
    assert max(part.nbytes for part in parts) <= 16 << 20
    np.testing.assert_array_equal(np.concatenate(parts), array)


def full():
    labels = np.array([0, 0, 1, 1])
    vectors = {"gist": np.zeros((4, 5), np.float32)}
    parts = {"train": np.array([0, 1, 2]), "test": np.array([3])}
    return Data(
        np.array(list("abcd")), labels, ("cat", "dog"), np.zeros((4, 6, 6), np.uint8), vectors=vectors, partitions=parts
    )


RIGHT = {
    "n": 4,
    "classes": 2,
    "image_shape": (6, 6),
    "dimensions": {"gist": 5},
    "partitions": {"train": 3, "test": 1},
    "per_class": 2,
    "labels_per_item": 1.0,
}
OTHER = {
    "n": 5,
    "classes": 3,
    "image_shape": (6, 6, 3),
    "dimensions": {"gist": 6},
    "partitions": {"train": 3},
    "per_class": 3,
    "labels_per_item": 1.01,
}


def test_data_that_are_what_is_known_of_them_pass():
    check_statistics("toy", full(), RIGHT)
    check_statistics("toy", full(), {})


@pytest.mark.parametrize("fact", OTHER)
def test_a_fact_that_differs_is_named_with_both_values(fact):
    with pytest.raises(ProtocolError) as error:
        check_statistics("toy", full(), RIGHT | {fact: OTHER[fact]})
    message = str(error.value)
    assert message.startswith(f"dataset 'toy' is not the one its papers describe: wanted {fact} {OTHER[fact]}, came ")
    assert message.count(", came ") == 1


def test_labels_per_item_are_compared_to_two_decimals():
    labels = np.zeros((8, 2), bool)
    labels[:, 0], labels[:7, 1] = True, True  # 15 labels of 8 items: 1.875
    data = Data(np.array(list("abcdefgh")), labels, ("sky", "sea"), vectors={"bow": np.zeros((8, 1), np.uint8)})
    check_statistics("toy", data, {"labels_per_item": 1.88})
    with pytest.raises(ProtocolError, match=r"labels_per_item 1\.87, came 1\.875"):
        check_statistics("toy", data, {"labels_per_item": 1.87})


def test_classes_of_different_sizes_are_told():
    data = Data(np.array(list("abc")), np.array([0, 1, 1]), ("cat", "dog"), images=PIXELS)
    with pytest.raises(ProtocolError, match=r"per_class 1, came \[1, 2\]"):
        check_statistics("toy", data, {"per_class": 1})


@pytest.fixture
def own(monkeypatch):
    """A dataset whose options name a file and a folder of the user's."""
    entry = registry.DatasetRecord(
        "own",
        source="x",
        files=(),
        statistics={},
        user_files=("features", "labels"),
        user_folders=("folder",),
        required=("folder",),
    )
    monkeypatch.setattr(registry, "entry", lambda kind, name: entry)


def test_files_and_folders_are_found_and_what_is_none_is_left_out(own, tmp_path):
    (tmp_path / "x.npz").write_bytes(b"x")
    options = {"features": f"{tmp_path}/x.npz:key", "labels": None, "folder": str(tmp_path)}
    assert datasets.user_paths("own", options) == ([tmp_path / "x.npz"], [tmp_path])
    assert datasets.user_paths("own", options | {"features": None}) == ([], [tmp_path])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"features": "no.npy"},
            "dataset_options of 'own': features: wanted a file, came 'no.npy', no such path (looked ",
        ),
        ({"features": "."}, "features: wanted a file, came '.', something else"),
        ({"features": 3}, "features: wanted a file, came 3"),
        ({"features": ""}, "features: wanted a file, came ''"),
        ({"folder": None}, "dataset 'own': name what it is made of, dataset_options: {folder: PATH}"),
        ({"folder": "no"}, "folder: wanted a folder, came 'no', no such path"),
    ],
)
def test_a_path_that_is_not_there_is_one_line(own, options, message):
    with pytest.raises(ProtocolError) as error:
        datasets.user_paths("own", {"features": None, "labels": None, "folder": "."} | options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_digest_of_a_folder_follows_names_sizes_and_times_only(tmp_path):
    file = tmp_path / "cat" / "a.png"
    file.parent.mkdir()
    file.write_bytes(b"one")
    os.utime(file, ns=(1, 10))
    seen = [datasets.folder_state(tmp_path)]

    def changed():
        seen.append(datasets.folder_state(tmp_path))
        return seen[-1] not in seen[:-1]

    assert not changed()
    os.utime(file, ns=(5, 10))  # only read
    assert not changed()
    os.utime(file, ns=(5, 11))
    assert changed()
    file.write_bytes(b"four")
    os.utime(file, ns=(5, 11))
    assert changed()
    file.rename(tmp_path / "cat" / "b.png")
    assert changed()
    (tmp_path / "cat" / "c.png").write_bytes(b"")
    assert changed()
    (tmp_path / "cat" / "nowhere.png").symlink_to(tmp_path / "gone.png")
    assert changed()
