"""The output of `--write-fixed`: the original lists without misplaced items, on which the audit is clean."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from audited import audit
from hypothesis import given, settings
from hypothesis import strategies as st
from split_files import write_split

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
    assert main(["audit", *(option.replace("=", "=fixed/") for option in lists)]) == 0
    assert sorted(path.name for path in Path().iterdir()) == ["d.txt", "fixed", "q.txt", "t.csv", "v.txt.gz"]


def test_arrays_become_a_list_of_row_numbers_for_each_partition(folder):
    np.save("q.npy", np.array([1, 2], dtype=np.uint8))
    np.savez("lists.npz", base=np.array([9.0, 1.0, 3.0]), learn=np.array([4, 2]), other=np.zeros(3))
    fixed = audit(query="q.npy", database="lists.npz:base", train="lists.npz:learn").write_fixed("fixed")
    assert (fixed.n_removed, fixed.audit.n_errors) == (2, 0)
    written = {path.name: np.load(path).tolist() for path in Path("fixed").iterdir()}
    assert written == {"query.npy": [1, 2], "database.npy": [9, 3], "train.npy": [4]}


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".h5"])
def test_complete_splits_stay_complete(folder, suffix):
    ids = np.array([f"i{row}" for row in range(10)])
    parts = {"query": np.array([1, 2]), "train": np.array([2, 3]), "database": np.array([2, 3, 4, 5])}
    write_split(f"split{suffix}", parts, ids)
    fixed = audit(f"split{suffix}").write_fixed("fixed")
    assert fixed.n_removed == 2
    name = f"fixed/split{'.csv' if suffix == '.csv' else '.npz'}"
    written = {part: [int(str(item).lstrip("i")) for item in items] for part, items in read_parts(name).items()}
    assert written == {"query": [1, 2], "train": [3], "database": [3, 4, 5]}
    assert audit(name).n_errors == 0


COPIES = {"query": [0], "train": [2], "database": [2, 3, 5, 4]}, {"features": np.eye(6)[[0, 1, 2, 2, 3, 0]]}
GROUPED = {"query": ["a", "h"], "train": ["b", "d", "g"], "database": ["c", "e", "f"]}, {"groups": "groups.csv"}
DUPLICATES = {"query": [0, 1], "train": [5, 8], "database": [5, 6, 7, 8]}, {"known_pairs": "judged.csv"}
ARRAYS = {"query": ["a", "b"], "database": ["b", "c", "d"], "train": ["an image", "b"]}, {}
IN, OUT = "train-in-database", "train-not-in-database"
# The split and its evidence, warnings to fix, written files and remaining findings.
REMOVALS = [
    (*ARRAYS, [], {"database.csv": ["c", "d"], "train.csv": ["an image"]}, {OUT, "single-item"}),
    (*COPIES, [], {"database.npy": [2, 3, 4]}, {IN}),
    (*COPIES, [IN], {"database.npy": [4]}, {OUT}),
    (*GROUPED, [], {"train.csv": ["d", "g"]}, {"group-split", OUT}),
    (*GROUPED, ["group-split"], {"database.csv": ["e", "f"]}, {OUT}),
    (*DUPLICATES, [], {"database.npy": [7, 8], "train.npy": [8]}, {IN}),
]


@pytest.mark.parametrize(("split", "evidence", "also", "files", "left"), REMOVALS)
def test_items_are_removed(folder, split, evidence, also, files, left):
    Path("judged.csv").write_text("query,database,judgement\n0,6,1\n1,5,0\n1,7,2\n")  # 7 is only very similar
    Path("groups.csv").write_text("id,group\na,g1\nb,g1\nc,g1\nd,g2\ne,g2\nf,g3\n")
    fixed = audit(split, **evidence).write_fixed("fixed", also=also)
    assert {one.name for made in fixed.audit.findings.values() for one in made} == left
    for name, items in files.items():
        assert read_list(f"fixed/{name}")[0].tolist() == items


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
    with pytest.raises(ProtocolError, match=r"^split: pair-split can't be fixed by removing items\."):
        audit({"query": [0], "database": [1]}, pairs=[[0, 1]]).write_fixed("none")
    with pytest.raises(ProtocolError, match=r"^write_fixed needs a single split, got 2\."):
        audit({"query": [0], "database": [1]}, {"query": [0], "database": [2]}).write_fixed("none")
    monkeypatch.setattr("protocol.auditing.fixing._check_lists", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        audited.write_fixed("half")
    assert [path.name for path in Path().iterdir()] == ["full"]
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    Path("empty").mkdir()
    audited.write_fixed("empty")
    assert np.load("empty/database.npy").tolist() == [2]


ITEMS = st.lists(st.integers(0, 12), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None)
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
    assert [str(item) for item in read_list(written["query"])[0]] == list(dict.fromkeys(map(str, lists["query"])))
