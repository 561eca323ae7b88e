"""Splits and lists as files: reading returns what was written, and invalid files are refused by name; loaded splits."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from encoded import message_of, refused, refuses, yaml_of
from split_files import write_list, write_split

import protocol as hp
from protocol import registry, splits
from protocol.auditing.items import lists_from
from protocol.inputs.lists import ids_from
from protocol.provenance import storage
from protocol.splits import load_split, places_of, read_lists, read_parts
from protocol.splits._files import rows_of

IDS = np.array([f"part {row // 10},x/{row:03d}.png" for row in range(60)])
PLAIN = np.array([f"image/{row:03d}.png" for row in range(60)])
Y = np.arange(60) % 3
PARTS = registry.get("split", "standard").split(
    60, Y, sizes={"query": 6, "validation_query": 3, "validation_database": 9, "train": 12}, seed=0
)


def same(found, parts):
    assert set(found) == set(parts)
    for name, rows in parts.items():
        np.testing.assert_array_equal(found[name], rows)
        assert found[name].dtype == np.int64


def put(path, content):
    """Write text or bytes, compressed if the name says so, or an array."""
    if isinstance(content, np.ndarray):
        np.save(path, content)
        return path
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if path.suffix.lower() == ".gz" else content)
    return path


@pytest.mark.parametrize("extension", [".h5", ".npz"])
def test_a_split_is_read_as_written(tmp_path, extension):
    write_split(tmp_path / f"split{extension}", PARTS, IDS)
    same(read_parts(tmp_path / f"split{extension}"), PARTS)


def test_lists_may_be_compressed_and_row_numbers_may_be_arrays(tmp_path):
    put(tmp_path / "q.txt.gz", b"\xef\xbb\xbfimage/003.png 0 1\r\n\nimage/001.png 1 0\n")
    put(tmp_path / "t.npy", np.array([5, 2]))
    write_split(tmp_path / "s.npz", PARTS, PLAIN)
    write_split(tmp_path / "s.h5", PARTS, PLAIN)
    files = {"query": "q.txt.gz", "train": "t.npy", "validation_query": "s.npz:train", "database": "s.h5:database"}
    found = read_lists({name: tmp_path / file for name, file in files.items()}, PLAIN)
    assert (found["query"].tolist(), found["train"].tolist()) == ([1, 3], [2, 5])
    np.testing.assert_array_equal(found["validation_query"], PARTS["train"])
    np.testing.assert_array_equal(found["database"], PARTS["database"])


def test_places_are_found_by_the_id_or_by_its_last_part_where_it_names_one_item():
    ids = np.array(["a/1.png", "b/1.png", "b/2.png", "3.png"])
    assert rows_of(np.array(["./data/images/2.png", "a/1.png", "x/3.png"]), ids, "query").tolist() == [0, 2, 3]
    windows = np.array(["C:\\x\\b\\1.png", "C:\\x\\2.png", "D:\\a\\1.JPG"])
    assert places_of([("query", windows)], ids)[0].tolist() == [1, 2, 0]
    items = np.array(["other/folder/002.png", "image/000.png", "image/002.png"])
    places = places_of([("query", items), ("train", np.array([5, 1, 5]))], PLAIN)
    assert [of_list.tolist() for of_list in places] == [[2, 0, 2], [5, 1, 5]]
    with refused(r"^query: 1 unknown id among 1, the first 'c/1\.png'\. The dataset has ids such as 'a/1\.png'\."):
        rows_of(np.array(["c/1.png"]), ids, "query")
    with refused("1 unknown id"):  # two ids end in it, and one of them is nothing else
        rows_of(np.array(["c/3.png"]), np.array(["3.png", "b/3.png"]), "query")


UNUSABLE = [
    (["image/003.png", "nine", "ten"], "2 unknown ids among 3, the first 'nine'. The dataset has ids such as "),
    ([3, 3], "1 item listed more than once, the first 'image/003.png'."),
    ([3, 60], "expected row numbers from 0 to 59, got 3 to 60."),
]


@pytest.mark.parametrize(("items", "message"), UNUSABLE)
def test_unknown_and_duplicated_items_are_refused(items, message):
    assert message_of(rows_of, np.array(items), PLAIN, "q").startswith(f"q: {message}")


LISTS = yaml_of("splits/lists.yaml")


@pytest.mark.parametrize("case", LISTS, ids=lambda case: case["file"])
def test_a_list_is_split_at_its_separators(tmp_path, case):
    listing = lists_from({"list": put(tmp_path / case["file"], case["text"])})["list"]
    assert listing.items.tolist() == case.get("ids", ["a", "b"])
    labels = None if listing.labels is None else listing.labels.tolist()
    assert labels == case.get("labels", [[True, False], [False, True]])


def test_a_list_with_labels_for_other_classes_is_refused(tmp_path):
    with refused(r"q\.txt: labels for 2 classes, but the dataset has 3\.$"):
        read_lists({"query": put(tmp_path / "q.txt", "image/001.png 1 0\nimage/002.png 0 1\n")}, PLAIN, 3)


@pytest.mark.parametrize("sign", ["=", "-", "'="])
def test_an_id_that_begins_like_a_formula_is_text_in_csv(tmp_path, sign):
    ids = np.array([f"{sign}1+1.png", "b.png", f"{sign}7"])
    write_list(tmp_path / "list.csv", np.arange(3), ids)
    write_split(tmp_path / "split.csv", {"query": np.array([0, 2]), "database": np.array([1])}, ids)
    assert ids_from(tmp_path / "list.csv", "ids").tolist() == ids.tolist()
    assert read_parts(tmp_path / "split.csv")["query"].tolist() == ids[[0, 2]].tolist()
    put(tmp_path / "reversed.csv", "id,split\na,query\nquery,database\n")
    assert {name: rows.tolist() for name, rows in read_parts(tmp_path / "reversed.csv").items()} == {
        "query": ["a"],
        "database": ["query"],
    }
    for name in ("list.csv", "split.csv"):
        rows = [line.rpartition(",")[2] for line in (tmp_path / name).read_text().splitlines()]
        numbers = ["+7", "-7"]
        assert all(row[0] not in "=+-@" or row in numbers for row in rows)


NO_SPLITS = yaml_of("splits/refused_files.yaml")


@pytest.mark.parametrize("case", NO_SPLITS, ids=lambda case: case["message"])
def test_an_invalid_split_is_refused(tmp_path, case):
    path = tmp_path / case["file"]
    np.savez(path, **case["arrays"]) if "arrays" in case else put(path, case["text"])
    assert message_of(read_parts, path) == f"{tmp_path}/{case['message']}"


def test_the_lists_of_a_split_are_found_or_reported_as_missing(here):
    protocol = registry.get("split", "from_lists")
    for file in ("q.txt", "t.npz"):
        Path(file).write_text("x")
    files = {"query": "q.txt", "train": "t.npz:rows", "database": "q.txt", "validation_query": None}
    assert protocol.list_paths(files) == {"query": Path("q.txt"), "train": Path("t.npz"), "database": Path("q.txt")}
    with refused(r"split_options: the list for train is missing\. Add it as \{from_lists: \{train: FILE\}\}\."):
        protocol.list_paths({"query": "q.txt"})
    with refused(r"^split_options: from_lists: database: d\.txt: no such file \(looked in "):
        protocol.list_paths(files | {"database": "d.txt"})
    assert registry.get("split", "standard").list_paths({}) == {}


def test_the_published_lists_of_nuswide_are_read():
    """Two public toolkits' lists: 21 concepts, with 100 and 500 images each; 81 concepts, which many images lack."""
    if "PROTOCOL_SHARED" not in os.environ:
        pytest.skip("PROTOCOL_SHARED is not set: needs data/nuswide_lists")
    folder = Path(os.environ["PROTOCOL_SHARED"]) / "data" / "nuswide_lists"
    for name, n_classes, sizes in (("deephash_21", 21, (2_100, 10_500)), ("hashnet_81", 81, (5_000, 10_000))):
        lists = lists_from({part: folder / name / f"{part}.txt.gz" for part in ("test", "train")}).values()
        assert tuple(map(len, lists)) == sizes
        assert all(listing.labels.shape[1] == n_classes for listing in lists)
        assert set.isdisjoint(*(set(listing.items.tolist()) for listing in lists))
        n_without = [int((~listing.labels.any(axis=1)).sum()) for listing in lists]
        assert n_without == {21: [0, 0], 81: [1_131, 2_185]}[n_classes]


NAMES = np.array([b"a", b"b", b"c"])


def provenance(**inputs):
    return storage.provenance("test", parameters={}, inputs=inputs)


@pytest.fixture
def path(tmp_path):
    """A split in the folder of the pipeline, the dataset from which it was drawn, and another dataset."""
    for dataset, labels in (("another", Y[::-1]), ("made", Y)):
        items = tmp_path / "results" / "datasets" / dataset / "items.h5"
        storage.write(items, {"ids": PLAIN, "labels": labels, "class_names": NAMES}, provenance())
    split = tmp_path / "results" / "mine" / "splits" / "standard" / "run0" / "splits.h5"
    storage.write(split, PARTS, provenance(labels=items))
    return split


def test_a_split_with_the_ids_and_labels_of_its_dataset(path, monkeypatch):
    split = hp.load_split(path)
    for name in splits.PARTITIONS:
        np.testing.assert_array_equal(getattr(split, name), PARTS[name])
        assert getattr(split, name).dtype == np.int64
    assert split.items == path.parents[4] / "datasets" / "made" / "items.h5"
    np.testing.assert_array_equal(split.ids, PLAIN)
    assert split.class_names == ["a", "b", "c"]
    monkeypatch.chdir(path.parents[4])
    relative = load_split("mine/splits/standard/run0/splits.h5")
    np.testing.assert_array_equal(relative.labels, Y)


def test_a_dataset_without_labels(tmp_path):
    storage.write(tmp_path / "items.h5", {"ids": PLAIN, "class_names": NAMES[:0]}, provenance())
    storage.write(tmp_path / "splits.h5", PARTS, provenance(labels=tmp_path / "items.h5"))
    split = load_split(tmp_path / "splits.h5")  # next to the items
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
    write_split(tmp_path / "split.h5", own, PLAIN)
    split = load_split(tmp_path / "split.h5")
    assert isinstance(split, splits.Split)
    np.testing.assert_array_equal(split.database, PARTS["database"])
    assert split.validation_query.shape == (0,)


def test_a_file_that_is_no_split_is_refused(path):
    with refused(r"items.h5: partition must be database, query, train,"):
        load_split(path.parents[4] / "datasets" / "made" / "items.h5")
    refuses(r"^split.npz: expected a splits.h5 that the pipeline has written\.$", load_split, "split.npz")
