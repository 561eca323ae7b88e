"""The output of `--write-fixed`: the original lists without misplaced items, on which the audit is clean."""

import gzip
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from audited import audit
from hypothesis import given, settings
from hypothesis import strategies as st
from split_files import write_split

from protocol.auditing.fixing import LOG
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.splits import PARTITIONS, read_list, read_parts

# Kinds that removing items does not fix: those about numbers of items or classes, and those without removals.
LEFT = {"size-mismatch", "class-missing", "class-imbalance", "query-without-relevant", "unused-items", "label-conflict"}
LEFT |= {"single-item", "train-in-database", "validation-in-database", "validation-overlap", "train-not-in-database"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def log_of(folder):
    return json.loads(Path(folder, LOG).read_text(encoding="utf-8"))


def rows(folder):
    keys = ("partition", "entry", "item", "finding", "kept_in", "partner")
    return [tuple(row[key] for key in keys) for row in log_of(folder)["removed"]]


def test_text_keeps_its_lines_except_the_removed_ones(folder, capsys):
    Path("q.txt").write_bytes(b"q1 1 0\nq2 0 1\n")
    Path("d.txt").write_bytes(b"\xef\xbb\xbfd1 1 0\r\n\r\nq2   0 1\r\nd2\t0 1 \r\nd1 1 0")
    Path("t.csv").write_bytes(b'id,a,b\n"d 3",1,0\nq1,1,0\n"d\n4",0,1\n')
    Path("v.txt.gz").write_bytes(gzip.compress(b"q1 1 0\rv1 0 1\rd 1 0"))
    lists = ["--query=q.txt", "--database=d.txt", "--train=t.csv", "--validation-query=v.txt.gz"]
    assert main(["audit", *lists, "--write-fixed=fixed"]) == 1
    out = capsys.readouterr().out
    assert "removed 1 from database (query-in-database), 1 from train (query-in-train)" in out
    assert "Sizes: query 2, database 2 (4 before), train 2 (3 before), validation_query 2 (3 before)" in out
    assert Path("fixed/q.txt").read_bytes() == b"q1 1 0\nq2 0 1\n"
    assert Path("fixed/d.txt").read_bytes() == b"\xef\xbb\xbfd1 1 0\r\n\r\nd2\t0 1 \r\n"
    assert Path("fixed/t.csv").read_bytes() == b'id,a,b\n"d 3",1,0\n"d\n4",0,1\n'
    assert gzip.decompress(Path("fixed/v.txt.gz").read_bytes()) == b"v1 0 1\rd 1 0"
    assert sorted(rows("fixed")) == [
        ("database", 2, "q2", "query-in-database", "query", ""),
        ("database", 4, "d1", "duplicate-id", "database", ""),
        ("train", 2, "q1", "query-in-train", "query", ""),
        ("validation_query", 1, "q1", "validation-in-test", "query", ""),
    ]
    assert log_of("fixed")["summary"][0] in out
    assert main(["audit", *(option.replace("=", "=fixed/") for option in lists)]) == 0
    assert sorted(path.name for path in Path().iterdir()) == ["d.txt", "fixed", "q.txt", "t.csv", "v.txt.gz"]


def test_arrays_keep_their_files_keys_and_types(folder):
    np.save("q.npy", np.array([1, 2], dtype=np.uint8))
    np.savez("lists.npz", base=np.array([9.0, 1.0, 3.0]), learn=np.array([4, 2]), other=np.zeros(3))
    with h5py.File("lists.h5", "w") as file:
        file["a/query"], file["base"] = [1, 2], np.array([2, 3, 4], dtype=np.uint16)
    with h5py.File("learn.hdf5", "w") as file:
        file["only"] = [5, 1]
    fixed = audit(query="q.npy", database="lists.npz:base", train="lists.npz:learn").write_fixed("fixed")
    assert (fixed.n_removed, fixed.audit.n_errors) == (2, 0)
    assert sorted(path.name for path in Path("fixed").iterdir()) == [LOG, "lists.npz", "q.npy"]
    with np.load("fixed/lists.npz") as arrays:
        assert {key: own.tolist() for key, own in arrays.items()} == {"base": [9.0, 3.0], "learn": [4]}
    assert np.load("fixed/q.npy").dtype == np.uint8
    audit(query="lists.h5:a/query", database="lists.h5:base", train="learn.hdf5").write_fixed("hdf5")
    names = ("lists.h5:a/query", "lists.h5:base", "learn.hdf5")
    assert [read_list(f"hdf5/{name}")[0].tolist() for name in names] == [[1, 2], [3, 4], [5]]


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".h5"])
def test_complete_splits_keep_their_format(folder, suffix):
    ids = np.array([f"i{row}" for row in range(10)])
    parts = {"query": np.array([1, 2]), "train": np.array([2, 3]), "database": np.array([2, 3, 4, 5])}
    for run in (0, 1):
        Path(f"run{run}").mkdir()
        write_split(f"run{run}/split{suffix}", parts, ids)
    fixed = audit(f"run0/split{suffix}", f"run1/split{suffix}").write_fixed("fixed")
    assert [len(own) for own in fixed.removed] == [2, 2]
    for name in (f"fixed/run0/split{suffix}", f"fixed/run1/split{suffix}"):
        written = {part: [int(str(item).lstrip("i")) for item in items] for part, items in read_parts(name).items()}
        assert written == {"query": [1, 2], "train": [3], "database": [3, 4, 5]}
        assert audit(name).n_errors == 0
    assert len(fixed.sentences) == 2
    two = {"query": [1], "database": [1, 2]}, {"query": [2], "database": [1, 2]}
    audit(*two).write_fixed("arrays")
    assert [np.load(f"arrays/split-{run}/database.npy").tolist() for run in (1, 2)] == [[2], [1]]


def test_a_file_that_is_given_twice_becomes_two(folder):
    Path("all.txt").write_text("a\nb\nc\n")
    Path("q.txt").write_text("a\n")
    audit(query="q.txt", database="all.txt", train="all.txt").write_fixed("fixed")
    assert Path("fixed/all.txt").read_text() == Path("fixed/train-all.txt").read_text() == "b\nc\n"


COPIES = {"query": [0], "train": [2], "database": [2, 3, 5, 4]}, {"features": np.eye(6)[[0, 1, 2, 2, 3, 0]]}
PAIRS = [["i0", "t0"], ["i1", "t1"], ["i2", "t2"]]
HALVES = {"query": ["i0"], "train": ["i1"], "database": ["t0", "t1", "i1", "i2", "t2"]}, {"pairs": PAIRS}
GROUPS = dict(zip("abcdef", ["g1", "g1", "g1", "g2", "g2", "g3"], strict=True))
GROUPED = {"query": ["a", "h"], "train": ["b", "d", "g"], "database": ["c", "e", "f"]}, {"groups": GROUPS}
JUDGED = np.array([[0, 6, 1], [1, 5, 0], [1, 7, 2]])  # 7 is only very similar
DUPLICATES = {"query": [0, 1], "train": [5, 8], "database": [5, 6, 7, 8]}, {"known_pairs": JUDGED}
ARRAYS = {"query": ["a", "b"], "database": ["b", "c", "d"], "train": ["an image", "b"]}, {}
IN, OUT = "train-in-database", "train-not-in-database"
# The split and its evidence, warnings to fix, written files, remaining findings, a removed item and what stays for it.
REMOVALS = [
    (*ARRAYS, [], {"database.csv": ["c", "d"], "train.csv": ["an image"]}, {OUT, "single-item"}, "b", ("query", "")),
    (*COPIES, [], {"database.npy": [2, 3, 4]}, {IN}, "5", ("query", "0")),
    (*COPIES, [IN], {"database.npy": [4]}, {OUT}, "2", ("train", "")),
    # The training set contains only an image whose text is in another partition.
    (*HALVES, [], {"database.csv": ["t1", "i1", "i2", "t2"], "train.csv": None}, set(), "t0", ("query", "i0")),
    (*GROUPED, [], {"train.csv": ["d", "g"]}, {"group-split", OUT}, "b", ("query", "")),
    (*GROUPED, ["group-split"], {"database.csv": ["e", "f"]}, {OUT}, "c", ("query", "")),
    (*DUPLICATES, [], {"database.npy": [7, 8], "train.npy": [8]}, {IN}, "6", ("query", "0")),
]


@pytest.mark.parametrize(("split", "evidence", "also", "files", "left", "item", "kept"), REMOVALS)
def test_items_are_removed_with_their_reason(folder, split, evidence, also, files, left, item, kept):
    fixed = audit(split, **evidence).write_fixed("fixed", also=also)
    assert {one.name for made in fixed.audit.findings.values() for one in made} == left
    for name, items in files.items():
        file = Path("fixed", name)
        assert (read_list(file)[0].tolist() if file.exists() else None) == items
    assert kept in {(part, partner) for *_, removed, _, part, partner in rows("fixed") if removed == item}


def test_nothing_is_written_unless_everything_can_be_written(folder, monkeypatch):
    audited = audit(query=[1], database=[1, 2])
    Path("full").mkdir()
    Path("full/x").touch()
    with pytest.raises(ProtocolError, match=r"^full: the folder is not empty\. Give a new or empty one\.$"):
        audited.write_fixed("full")
    with pytest.raises(ProtocolError, match=r"^Unknown finding 'train-in-data'\. Did you mean 'train-in-database'\?"):
        audited.write_fixed("other", also=["train-in-data"])
    with pytest.raises(ProtocolError, match=r"^query database: removing .* would leave the database partition"):
        audit(query=[1], database=[1]).write_fixed("none")
    monkeypatch.setattr("protocol.auditing.fixing.write_log", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        audited.write_fixed("half")
    assert [path.name for path in Path().iterdir()] == ["full"]
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    Path("empty").mkdir()
    audited.write_fixed("empty")
    assert np.load("empty/database.npy").tolist() == [2]


ITEMS = st.lists(st.integers(0, 12), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), named=st.booleans())
def test_random_lists_are_clean_after_fixing(tmp_path_factory, data, named):
    folder = tmp_path_factory.mktemp("fix")
    optional = [part for part in PARTITIONS if part not in ("query", "database")]
    parts = ["query", "database", *data.draw(st.lists(st.sampled_from(optional), unique=True))]
    original = {part: data.draw(ITEMS, label=part) for part in parts}
    original["database"] = [*original["database"], 14]  # never to be removed
    lists = {part: [f"i{row}" for row in own] for part, own in original.items()} if named else original
    known = {} if named else {"features": np.arange(15)[:, None] // data.draw(st.sampled_from([1, 2]))}
    protocol = data.draw(st.sampled_from([None, "improved", "standard"]))
    fixed = audit(**lists, protocol=protocol, **known).write_fixed(folder / "fixed")
    left = {(one.name, one.severity) for made in fixed.audit.findings.values() for one in made}
    assert {name for name, severity in left} <= LEFT
    assert not {name for name, severity in left if severity == "error"} & {"train-in-database", "validation-overlap"}
    written = {part: folder / "fixed" / f"{part}{'.csv' if named else '.npy'}" for part in parts}
    written = {part: path for part, path in written.items() if path.exists()}
    again = audit(**written, protocol=protocol, **known)
    assert {(one.name, one.severity) for made in again.findings.values() for one in made} == left
    removed = rows(folder / "fixed")
    for part, own in lists.items():
        gone = {entry - 1 for place, entry, *_ in removed if place == part}
        stays = [item for place, item in enumerate(own) if place not in gone]
        assert stays == (read_list(written[part])[0].tolist() if part in written else [])
    assert [str(item) for item in read_list(written["query"])[0]] == list(dict.fromkeys(map(str, lists["query"])))
