"""Splits and lists as files: reading returns what was written, and invalid files are refused by name."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol import registry
from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.splits import (
    PARTITIONS,
    Drawn,
    SplitProtocol,
    list_paths,
    places_of,
    read_list,
    read_lists,
    read_parts,
    read_split,
    rows_of,
    write_list,
    write_split,
)

IDS = np.array([f"part {row // 10},x/{row:03d}.png" for row in range(60)])
PLAIN = np.array([f"image/{row:03d}.png" for row in range(60)])
Y = np.arange(60) % 3
SEVERAL = np.random.default_rng(0).random((60, 4)) < 0.4
PARTS = registry.get("split", "standard").split(
    60, Y, sizes={"query": 6, "validation_query": 3, "validation_database": 9, "train": 12}, seed=0
)
NONE = np.empty(0, dtype=np.int64)


def same(found, parts):
    assert list(found) == list(PARTITIONS)
    for name in PARTITIONS:
        np.testing.assert_array_equal(found[name], parts[name])
        assert found[name].dtype == np.int64


@pytest.mark.parametrize("extension", [".h5", ".npz", ".csv"])
def test_a_split_is_read_as_written(tmp_path, extension):
    write_split(tmp_path / f"split{extension}", PARTS, IDS)
    same(read_split(tmp_path / f"split{extension}", IDS), PARTS)
    assert os.listdir(tmp_path) == [f"split{extension}"]


@pytest.mark.parametrize("extension", [".h5", ".npz", ".csv"])
def test_a_split_without_validation_is_read_with_empty_partitions(tmp_path, extension):
    parts = PARTS | {"validation_query": NONE, "validation_database": NONE}
    write_split(tmp_path / f"split{extension}", parts, IDS)
    same(read_split(tmp_path / f"split{extension}", IDS), parts)


def test_a_split_of_the_pipeline_is_read_including_empty_partitions(tmp_path):
    parts = PARTS | {"validation_query": NONE}
    storage.write(tmp_path / "splits.h5", parts, storage.provenance("split standard", parameters={}, inputs={}))
    same(read_split(tmp_path / "splits.h5", IDS), parts)


def test_a_table_names_partitions_and_ids(tmp_path):
    write_split(tmp_path / "split.csv", {"query": np.array([2]), "database": np.array([0, 11])}, IDS)
    lines = (tmp_path / "split.csv").read_text().splitlines()
    assert lines == [
        "partition,id",
        'query,"part 0,x/002.png"',
        'database,"part 0,x/000.png"',
        'database,"part 1,x/011.png"',
    ]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.sets(st.integers(0, 39), min_size=1), n_classes=st.integers(0, 5), table=st.booleans(),
    names=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=40, max_size=40,
                   unique=True),
)  # fmt: skip
def test_any_list_is_read_as_written_or_refused_with_the_reason(tmp_path, rows, n_classes, table, names):
    ids, part = np.array(names), np.array(sorted(rows))
    y = np.random.default_rng(0).random((40, n_classes)) < 0.5 if n_classes else None
    file = tmp_path / ("list.csv" if table else "list.txt")
    blank = [name for name in ids[part] if name.split() != [name] or set(",;") & set(name)]
    if blank and not table:
        with pytest.raises(ProtocolError, match="expected ids without blanks, commas and semicolons"):
            write_list(file, part, ids, y)
        return
    write_list(file, part, ids, y)
    found, flags = read_list(file)
    assert found.tolist() == ids[part].tolist()
    assert (flags is None) == (y is None)
    if y is not None:
        np.testing.assert_array_equal(flags, y[part])


def test_a_text_list_has_an_id_and_a_label_for_each_class_on_a_line(tmp_path):
    write_list(tmp_path / "query.txt", np.array([0, 4]), PLAIN, Y)
    assert (tmp_path / "query.txt").read_text() == "image/000.png 1 0 0\nimage/004.png 0 1 0\n"
    write_list(tmp_path / "query.csv", np.array([0]), PLAIN, SEVERAL)
    assert (tmp_path / "query.csv").read_text().splitlines() == [
        "id,0,1,2,3",
        "image/000.png," + ",".join(map(str, SEVERAL[0].astype(int))),
    ]


@pytest.mark.parametrize("y", [None, Y, SEVERAL], ids=["no labels", "one label", "several"])
@pytest.mark.parametrize("extension", [".txt", ".csv"])
def test_lists_of_a_split_are_read_as_rows(tmp_path, y, extension):
    files = {name: tmp_path / f"{name}{extension}" for name in PARTITIONS}
    for name, file in files.items():
        write_list(file, PARTS[name], PLAIN, y)
    same(read_lists(files, PLAIN, n_classes={None: None, 1: 3, 2: 4}[None if y is None else y.ndim]), PARTS)


def test_an_item_named_id_and_a_table_without_a_header_are_read(tmp_path):
    write_list(tmp_path / "q.csv", np.array([0, 1]), np.array(["id", "partition"]))
    assert read_list(tmp_path / "q.csv")[0].tolist() == ["id", "partition"]
    (tmp_path / "q.csv").write_text("a,1,0\nb,0,1\n")
    assert read_list(tmp_path / "q.csv")[0].tolist() == ["a", "b"]


def test_lists_may_be_compressed_and_row_numbers_may_be_arrays(tmp_path):
    (tmp_path / "q.txt.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfimage/003.png 0 1\r\n\nimage/001.png 1 0\n"))
    np.save(tmp_path / "t.npy", np.array([5, 2]))
    write_split(tmp_path / "s.npz", PARTS, PLAIN)
    write_split(tmp_path / "s.h5", PARTS, PLAIN)
    files = {"query": "q.txt.gz", "train": "t.npy", "validation_query": "s.npz:train", "database": "s.h5:database"}
    found = read_lists({name: tmp_path / file for name, file in files.items()}, PLAIN, n_classes=2)
    assert found["query"].tolist() == [1, 3]
    assert found["train"].tolist() == [2, 5]
    np.testing.assert_array_equal(found["validation_query"], PARTS["train"])
    np.testing.assert_array_equal(found["database"], PARTS["database"])


def test_the_paths_of_another_machine_are_found_by_their_last_part_where_it_names_one_item():
    ids = np.array(["a/1.png", "b/1.png", "b/2.png", "3.png"])
    listed = np.array(["./data/images/2.png", "a/1.png", "x/3.png"])
    assert rows_of(listed, ids, "query").tolist() == [0, 2, 3]
    with pytest.raises(
        ProtocolError,
        match=r"expected ids of the dataset, such as 'a/1\.png', got 1 unknown id among 1; the first is 'c/1\.png'",
    ):
        rows_of(np.array(["c/1.png"]), ids, "query")


def test_unknown_and_duplicated_items_are_refused():
    with pytest.raises(
        ProtocolError,
        match=r"q: expected ids of the dataset, such as 'image/000.*', got 2 unknown ids among 3; the first is 'nine'",
    ):
        rows_of(np.array(["image/003.png", "nine", "ten"]), PLAIN, "q")
    with pytest.raises(
        ProtocolError, match=r"q: expected each item once, got duplicates of 1 item; the first is 'image/003.png'\.$"
    ):
        rows_of(np.array(["image/003.png", "image/001.png", "image/003.png"]), PLAIN, "q")
    with pytest.raises(
        ProtocolError, match=r"q: expected each item once, got duplicates of 1 item; the first is 'image/003.png'\.$"
    ):
        rows_of(np.array([3, 3]), PLAIN, "q")
    with pytest.raises(ProtocolError, match=r"q: expected row numbers from 0 to 59, got 3 to 60\.$"):
        rows_of(np.array([3, 60]), PLAIN, "q")


def test_a_list_with_labels_for_other_classes_is_refused(tmp_path):
    write_list(tmp_path / "q.txt", np.array([1]), PLAIN, SEVERAL)
    with pytest.raises(ProtocolError, match=r"q.txt: expected labels for 3 classes, got 4\.$"):
        read_lists({"query": tmp_path / "q.txt"}, PLAIN, n_classes=3)


LISTS = {
    "other width": (b"a 0 1\nb 1\n", "line 2: expected an id and 2 labels, 0 or 1, got 'b' \\['1'\\]"),
    "no labels": (b"a 0 1\nb\n", "line 2: expected an id and 2 labels"),
    "labels later": (b"a\nb 1\n", "line 2: expected an id and 0 labels"),
    "class numbers": (b"a 7\n", "line 1: expected an id and labels, 0 or 1, got 'a' \\['7'\\]"),
    "two digits": (b"a 0 1\nb 10\n", "line 2: expected an id and 2 labels, 0 or 1, got 'b' \\['10'\\]"),
    "blank": (b"\n \n", "the list is empty"),
    "bytes": (b"\xff\xfe\x00", "expected a list of items, got a file that can't be read"),
}


@pytest.mark.parametrize("case", LISTS)
def test_an_invalid_list_is_refused(tmp_path, case):
    content, message = LISTS[case]
    (tmp_path / "list.txt").write_bytes(content)
    with pytest.raises(ProtocolError, match=message) as error:
        read_list(tmp_path / "list.txt")
    assert "\n" not in str(error.value)


READ_AS = {
    "packed csv": ("q.csv.gz", "id,0,1\na,1,0\nb,0,1\n"),
    "packed CSV": ("q.CSV.GZ", "a,1,0\nb,0,1\n"),
    "commas as txt": ("q.txt", "a,1,0\nb,0,1\n"),
    "commas and blanks as txt": ("q.txt", "\na, 1, 0\nb, 0, 1\n"),
    "names of columns as txt": ("q.txt", "id,0,1\na,1,0\nb,0,1\n"),
    "commas, no extension": ("q", "a,1,0\nb,0,1\n"),
    "packed commas as txt": ("q.txt.gz", "a,1,0\nb,0,1\n"),
    "semicolons as txt": ("q.txt", "a;1;0\nb;0;1\n"),
    "semicolons as csv": ("q.csv", "id;0;1\na;1;0\nb;0;1\n"),
    "tabs as csv": ("q.csv", "a\t1\t0\nb\t0\t1\n"),
    "tabs as tsv": ("q.tsv", "a\t1\t0\nb\t0\t1\n"),
    "packed tsv": ("q.tsv.gz", "a\t1\t0\nb\t0\t1\n"),
    "tabs as txt": ("q.txt", "a\t1\t0\nb\t0\t1\n"),
}


@pytest.mark.parametrize("case", READ_AS)
def test_a_list_is_split_at_its_separators(tmp_path, case):
    name, content = READ_AS[case]
    packed = name.lower().endswith(".gz")
    (tmp_path / name).write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    items, flags = read_list(tmp_path / name)
    assert items.tolist() == ["a", "b"]
    assert flags.tolist() == [[True, False], [False, True]]


def test_a_tsv_may_have_ids_with_blanks(tmp_path):
    (tmp_path / "q.tsv").write_text("an image.png\t1\t0\n")
    assert read_list(tmp_path / "q.tsv")[0].tolist() == ["an image.png"]


def test_commas_are_part_of_an_id_only_if_blanks_separate_the_fields(tmp_path):
    (tmp_path / "q.txt").write_text("a,b.png 1 0\nc.png 0 1\n")
    assert read_list(tmp_path / "q.txt")[0].tolist() == ["a,b.png", "c.png"]
    (tmp_path / "q.txt").write_text("a,b.png\n")
    with pytest.raises(ProtocolError, match=r"line 1: expected an id and labels, 0 or 1, got 'a' \['b.png'\]"):
        read_list(tmp_path / "q.txt")
    (tmp_path / "q.txt").write_text("c.png\na,1\n")
    with pytest.raises(ProtocolError, match=r"line 2: 'a,1' has labels after commas or semicolons, unlike the first"):
        read_list(tmp_path / "q.txt")
    with pytest.raises(ProtocolError, match=r"expected ids without blanks, commas and semicolons, got 'a,b.png'"):
        write_list(tmp_path / "w.txt", np.array([0]), np.array(["a,b.png"]))


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "'=", "''-", "'"])
def test_an_id_that_begins_like_a_formula_is_text_in_csv(tmp_path, sign):
    ids = np.array([f"{sign}1+1.png", "b.png", f"{sign}7"])
    write_list(tmp_path / "list.csv", np.arange(3), ids)
    write_split(tmp_path / "split.csv", {"query": np.array([0, 2]), "database": np.array([1])}, ids)
    assert read_list(tmp_path / "list.csv")[0].tolist() == ids.tolist()
    assert read_parts(tmp_path / "split.csv")["query"].tolist() == ids[[0, 2]].tolist()
    for name in ("list.csv", "split.csv"):
        rows = [line.rpartition(",")[2] for line in (tmp_path / name).read_text().splitlines()]
        numbers = ["+7", "-7"]
        assert all(row[0] not in "=+-@" or row in numbers for row in rows)


HMDB51 = "Geena_und_die_Radschl_ge___;-)_cartwheel_f_cm_np1_ri_med_1.avi"


@pytest.mark.parametrize("name", ["q.txt", "q.csv", "q.txt.gz"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_mark_that_does_not_divide_every_line_belongs_to_the_id(tmp_path, name, place):
    ids = ["a_1.avi", "b_1.avi"]
    ids.insert(place, HMDB51)
    content = "\n".join(ids).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert read_list(tmp_path / name)[0].tolist() == ids
    ids[place] = "x,y.avi"
    (tmp_path / "q.txt").write_text("\n".join(["", *ids]))
    assert read_list(tmp_path / "q.txt")[0].tolist() == ids


def test_a_mark_that_divides_every_line_but_not_into_labels_is_refused(tmp_path):
    (tmp_path / "q.txt").write_text("a.avi;cat\nb.avi;dog\n")
    with pytest.raises(ProtocolError, match=r"line 1: expected an id and labels, 0 or 1, got 'a.avi' \['cat'\]"):
        read_list(tmp_path / "q.txt")
    (tmp_path / "q.txt").write_text("a.avi;1;0\nb.avi;1\n")
    with pytest.raises(ProtocolError, match="line 2: expected an id and 2 labels"):
        read_list(tmp_path / "q.txt")


def test_damaged_and_missing_files_are_refused(tmp_path, monkeypatch):
    packed = gzip.compress(b"image/003.png 0 1\n" * 100)
    for content in (packed[:-4], b"plain text"):
        (tmp_path / "list.txt.gz").write_bytes(content)
        with pytest.raises(ProtocolError, match="can't be read"):
            read_list(tmp_path / "list.txt.gz")
    (tmp_path / "list.csv").write_text('"open quote\n')
    with pytest.raises(ProtocolError, match="expected lines with commas"):
        read_list(tmp_path / "list.csv")
    with pytest.raises(ProtocolError, match="got no such file"):
        read_list(tmp_path / "none.txt")
    np.save(tmp_path / "rows.npy", np.eye(3))
    with pytest.raises(ProtocolError, match=r"expected row numbers or ids, shape \(n,\), got shape \(3, 3\)\."):
        read_list(tmp_path / "rows.npy")
    monkeypatch.setattr("protocol.inputs.limits.TEXT_BYTES", 1000)
    (tmp_path / "bomb.txt.gz").write_bytes(packed)
    with pytest.raises(ProtocolError, match="expected a list of items of at most"):
        read_list(tmp_path / "bomb.txt.gz")


def test_a_split_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ProtocolError, match=r"expected a split as .h5, .npz or .csv, got extension '.pkl'"):
        write_split(tmp_path / "s.pkl", PARTS, IDS)
    with pytest.raises(ProtocolError, match=r"got extension '.pkl'"):
        read_split(tmp_path / "s.pkl", IDS)
    with pytest.raises(ProtocolError, match=r"partition: expected .*, got 'test'"):
        write_split(tmp_path / "s.npz", {"test": np.array([0])}, IDS)
    np.savez(tmp_path / "s.npz", quary=np.array([0]))
    with pytest.raises(ProtocolError, match=r"partition in .*s.npz: expected .*, got 'quary'.*Did you mean 'query'"):
        read_split(tmp_path / "s.npz", IDS)
    (tmp_path / "s.csv").write_text("partition,id\nquery,a,b\n")
    with pytest.raises(ProtocolError, match="line 2: expected a partition and an id, got 3 fields"):
        read_split(tmp_path / "s.csv", IDS)
    (tmp_path / "s.csv").write_text("partition,id\n")
    with pytest.raises(ProtocolError, match="no item"):
        read_split(tmp_path / "s.csv", IDS)
    np.savez(tmp_path / "p.npz", query=np.array([{}], dtype=object))
    with pytest.raises(ProtocolError, match="never loaded"):
        read_split(tmp_path / "p.npz", IDS)


def test_the_lists_of_a_split_are_found_or_reported_as_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    protocol = registry.get("split", "from_lists")
    for file in ("q.txt", "t.npz"):
        Path(file).write_text("x")
    files = {"query": "q.txt", "train": "t.npz:rows", "database": "q.txt", "validation_query": None}
    assert list_paths(protocol, files) == {"query": Path("q.txt"), "train": Path("t.npz"), "database": Path("q.txt")}
    with pytest.raises(ProtocolError, match=r"a list of the train is missing. Add it as \{from_lists: \{train: FILE"):
        list_paths(protocol, {"query": "q.txt"})
    with pytest.raises(ProtocolError, match=r"from_lists: database: expected an existing file, got 'd.txt' \(in "):
        list_paths(protocol, files | {"database": "d.txt"})
    assert list_paths(registry.get("split", "standard"), {}) == {}


def test_the_published_lists_of_nuswide_are_read():
    """Two public toolkits' lists: 21 concepts, with 100 and 500 images each; 81 concepts, which many images lack."""
    if "PROTOCOL_SHARED" not in os.environ:
        pytest.skip("PROTOCOL_SHARED is not set: needs data/nuswide_lists")
    folder = Path(os.environ["PROTOCOL_SHARED"]) / "data" / "nuswide_lists"
    for name, n_classes, sizes in (("deephash_21", 21, (2_100, 10_500)), ("hashnet_81", 81, (5_000, 10_000))):
        lists = [read_list(folder / name / f"{part}.txt.gz") for part in ("test", "train")]
        assert tuple(len(ids) for ids, _ in lists) == sizes
        assert all(flags.shape[1] == n_classes for _, flags in lists)
        assert not set(lists[0][0].tolist()) & set(lists[1][0].tolist())
        assert [int((~flags.any(axis=1)).sum()) for _, flags in lists] == {21: [0, 0], 81: [1_131, 2_185]}[n_classes]
        if n_classes == 21:
            for (ids, flags), number in zip(lists, (100, 500), strict=True):
                whole = SplitProtocol({"query": Drawn(per_class=number)}).split(len(ids), flags, seed=0)
                assert len(whole["query"]) == len(ids), "each image can be the one drawn for a concept"


def test_parts_are_read_unchecked_for_the_audit(tmp_path):
    """`read_split` refuses unknown ids and duplicates, but the audit must find them."""
    (tmp_path / "split.csv").write_text("partition,id\nquery,a\nquery,a\ndatabase,b\n")
    found = read_parts(tmp_path / "split.csv")
    assert {name: part.tolist() for name, part in found.items()} == {"query": ["a", "a"], "database": ["b"]}
    np.savez(tmp_path / "split.npz", query=np.array([3, 3]), database=np.array([1.0]))
    found = read_parts(tmp_path / "split.npz")
    assert {name: part.tolist() for name, part in found.items()} == {"query": [3, 3], "database": [1]}
    with pytest.raises(ProtocolError, match="query: expected each item once, got duplicates of 1 item; the first is"):
        read_split(tmp_path / "split.npz", IDS)


def test_places_are_in_the_order_of_the_items_which_may_be_duplicated():
    items = np.array(["other/folder/002.png", "image/000.png", "image/002.png"])
    assert places_of(items, PLAIN, "query").tolist() == [2, 0, 2]
    assert places_of(np.array([5, 1, 5]), PLAIN, "query").tolist() == [5, 1, 5]


def test_a_mask_is_not_a_list_of_row_numbers(tmp_path):
    np.save(tmp_path / "mask.npy", np.array([False, True, True]))
    with pytest.raises(ProtocolError, match="expected row numbers, got a mask"):
        read_list(tmp_path / "mask.npy")
