"""Any alteration of a file that a stage wrote is refused before a parser reads it, in one line."""

import os
import random
import re
import subprocess

import numpy as np
import pytest
from encoded import message_of, refuses, yaml_of

from protocol.papers import Results
from protocol.provenance import checksums, storage
from protocol.provenance.checksums import holders, origin
from protocol.scores import summary, tables
from protocol.scores.summary import collect

pd = pytest.importorskip("pandas")

REMEDY = r"To write it again: snakemake --force [^\n]+, with the --configfile of its experiment\."
LINE = re.compile(rf"[^\n]*: changed since it was written: its sha256 is not the one in [^\n]+\. {REMEDY}")
ROW = ("digits", "gist", "class_label", "standard", 0, "itq", 8, "none", 0, "mAP", "class labels", 9, 90, "0" * 64)
N_MUTATIONS = 12


def arrays():
    rng = np.random.default_rng(0)
    return {"8/query": rng.integers(0, 256, (50, 1), dtype=np.uint8), "image": np.arange(300), "names": ["a", "é"]}


def write_hdf5(path):
    storage.write(path, arrays(), storage.provenance("test", parameters={"a": 1}, inputs={}, seed=7))


def write_scores(path):
    summary.write_scores(path, [(*ROW[:4], run, *ROW[5:], 0.1 * run) for run in range(5)])


def write_summary(path):
    tables.write_table(path, pd.DataFrame({"hasher": ["itq", "lsh"] * 5, "mean": np.linspace(0, 1, 10)}))


FILES = {
    "codes.h5": (write_hdf5, storage.read),
    "scores.csv": (write_scores, lambda path: collect([path])),
    "summary.csv": (write_summary, tables.read_table),
}


def mutations(content, seed):
    """Yield alterations of a file: a changed bit, a tail of zeros, a cut, and an addition, at random places."""
    yield from (b"", content + b"\n")
    for at in random.Random(seed).sample(range(len(content)), N_MUTATIONS):  # noqa: S311
        yield content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]
        yield content[:at] + b"\0" * (len(content) - at)
        yield content[:at]
        yield content[:at] + b"x" + content[at:]


@pytest.mark.parametrize("name", FILES)
def test_every_mutation_of_a_stage_file_is_refused_in_one_line(tmp_path, name):
    write, read = FILES[name]
    path = tmp_path / name
    write(path)
    read(path)
    content = path.read_bytes()
    altered = set(mutations(content, name)) - {content}
    assert len(altered) > 3 * N_MUTATIONS
    for mutation in altered:
        path.write_bytes(mutation)
        assert LINE.fullmatch(message_of(read, path))


def test_a_missing_file_and_a_pipe_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, problem in (("none", "no such file"), ("pipe", "not a regular file")):
        refuses(rf": {problem}\. To write it again: snakemake --force ", storage.read, tmp_path / name)


def test_a_change_that_keeps_size_and_time_is_noticed_in_one_process(tmp_path):
    path = tmp_path / "codes.h5"
    write_hdf5(path)
    storage.read(path)
    status, content = path.stat(), bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    refuses("changed since it was written", storage.read, path)


def test_a_file_of_a_user_needs_no_checksum_but_must_agree_with_one(tmp_path):
    path = tmp_path / "summary.csv"
    path.write_text("a\n1\n")
    checksums.verify(path, required=False)
    refuses(r"its sha256 is not the one in summary\.csv\.sha256", checksums.verify, path)
    write_summary(path)
    path.write_text("a\n1\n")
    for read in (lambda: checksums.verify(path, required=False), lambda: Results([path]).frame()):
        refuses("changed since it was written", read)


@pytest.mark.parametrize("name", ["codes.h5", "summary.csv"])
def test_checksums_are_verified_by_hand_also_where_an_origin_is_stored_next_to_them(tmp_path, name):
    write, read = FILES[name]
    write(tmp_path / name)
    holder = name if name.endswith(".h5") else f"{name}.sha256"
    assert checksums.read_origin(tmp_path / holder) is None
    made_with = origin({"seed": 1, "hasher": "itq", "code": "a"}, [])
    checksums.add_origin(tmp_path / holder, made_with)
    assert checksums.read_origin(tmp_path / holder) == made_with
    read(tmp_path / name)
    command = "tail -c +513 codes.h5 | sha256sum" if holder == name else f"sha256sum --strict -c {holder}"
    by_hand = subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, capture_output=True).stdout
    assert holder != name or by_hand.split()[0] in (tmp_path / name).read_bytes()[:512]
    with open(tmp_path / holder, "rb+") as file:
        file.write(b"x")
    refuses("changed since it was written", read, tmp_path / name)


PARAMETERS = {"model_seeds": {8: 1}, "options": {"n_iter": 5}, "code": "a", "states": [1, 2]}


@pytest.mark.parametrize(("edit", "kinds"), yaml_of("provenance/origins.yaml"))
def test_each_kind_of_parameter_has_its_digest_also_in_what_is_made_from_it(edit, kinds):
    before, after = origin(PARAMETERS, []), origin(PARAMETERS | edit, [])
    for first, second in ((before, after), (origin({}, [before]), origin({}, [after]))):
        assert [kind for kind in first if first[kind] != second[kind]] == kinds


def test_inputs_without_an_origin_and_their_order_do_not_count():
    one, other = origin({"seed": 0}, []), origin({"seed": 1}, [])
    assert origin({}, [one, None, other]) == origin({}, [other, one])


def test_results_of_an_experiment_are_hdf5_files_and_files_with_a_checksum():
    folder = "store/results/digits"
    files = [f"{folder}/a.h5", f"{folder}/b.csv", f"{folder}/b.csv.sha256", f"{folder}/c.tsv", "results/datasets/d.h5"]
    assert holders(files, "digits") == {files[0]: files[0], files[1]: files[2]}
    assert holders(files, "other") == {}
