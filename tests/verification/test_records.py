"""A record verifies from its inputs in any form; any edit of it, or of an input, is refused with its place."""

import copy
import functools
import json
import operator
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse
from split_files import write_list

import protocol as hp
from protocol import codes
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.evaluation import Codes, Labels, Nearest, Outputs, Relevant, evaluate
from protocol.verification import verify

RNG = np.random.default_rng(0)
REAL_Q, REAL_D = RNG.normal(size=(6, 12)), RNG.normal(size=(20, 12))
QUERY, DATABASE = REAL_Q > 0, REAL_D > 0
OF_QUERY, OF_DATABASE = np.array([0, 1, 2, 2, 1, 3]), RNG.integers(0, 3, 20)
METRICS = ["mAP", "mAP@5[retrieved]", "precision@r2", "AUPRC[area]"]
MATRICES = [labels[:, None] == np.arange(4) for labels in (OF_QUERY, OF_DATABASE)]


ARRAYS = {"q": QUERY, "d": DATABASE, "ql": OF_QUERY, "dl": OF_DATABASE, "qv": REAL_Q, "dv": REAL_D}
ARRAYS |= {"q8": codes.pack(QUERY), "d8": codes.pack(DATABASE), "qm": MATRICES[0], "dm": MATRICES[1]}
ARRAYS |= {"qb": np.packbits(QUERY, axis=1), "db": np.packbits(DATABASE, axis=1)}
LISTS = {"query": np.arange(6), "database": np.arange(6, 26), "train": np.arange(26, 40)}
COMMAND = """evaluate --query-codes q.npy --query-labels ql.npy --database-codes d.npy --database-labels dl.npy
    --exclude-queries out.txt --tables 4x3 --spread --per-query out.csv
    --query-list query.txt --database-list database.txt --train-list train.txt
    --name mine --dataset digits --split own --json record.json --metrics"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with the inputs in many forms, and a record of everything that `evaluate` can write."""
    folder = tmp_path_factory.mktemp("inputs")
    for name, array in ARRAYS.items():
        np.save(folder / f"{name}.npy", array)
    io.savemat(folder / "c.mat", {"tB": np.where(QUERY, 1.0, -1.0), "B": np.where(DATABASE, 1.0, -1.0)})
    np.savetxt(folder / "dl.csv", OF_DATABASE, fmt="%d")
    sparse.save_npz(folder / "near.npz", sparse.csr_matrix(OF_QUERY[:, None] == OF_DATABASE))
    ids = np.array([f"{row}.png" for row in range(40)])
    for name, rows in LISTS.items():
        write_list(folder / f"{name}.txt", rows, ids)
    (folder / "out.txt").write_text("1\n4\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main([*COMMAND.split(), *METRICS]) == 0
    return folder


@pytest.fixture
def folder(inputs, tmp_path, monkeypatch):
    """A copy of the folder that a test may change, and another working directory."""
    copied = Path(shutil.copytree(inputs, tmp_path / "copy"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return copied


def places(verification):
    return [check.subject for check in verification.failures]


def edited(folder, edit):
    """Verify the record after a function has changed its content."""
    content = json.loads((folder / "record.json").read_text())
    edit(content)
    (folder / "record.json").write_text(json.dumps(content))
    return verify(folder / "record.json")


def test_the_record_verifies_from_any_working_directory(folder, capsys):
    assert main(["verify", "../copy/record.json", "--json", "checks.json"]) == 0
    out = capsys.readouterr().out
    record = json.loads((folder / "record.json").read_text())
    assert f"holds        values: {', '.join(record['metrics'])}\n" in out
    assert "holds        list of query: query.txt\n" in out
    assert "not checked  split: not audited; `protocol audit` audits its lists\n" in out
    assert "not checked  name, dataset, split, ground_truth: names that only the record states\n" in out
    assert out.startswith("../copy/record.json: verified: 4 values recomputed; 2 lines below not checked.\n")
    assert json.loads(Path("checks.json").read_text())["verified"]


FORMS = {
    "packed": ((Codes("q8.npy", 12), Codes("d8.npy", 12)), Labels("ql.npy", "dl.npy")),
    "lists": (("q.npy", "d.npy"), Relevant("near.npz")),
    "vectors": (("q.npy", "d.npy"), Nearest("qv.npy", "dv.npy", [1, 4], "euclidean")),
    "sign": ((Codes("qv.npy", binarize="sign"), "dv.npy"), Labels("ql.npy", "dl.npy")),
    "asymmetric": ((Outputs("qv.npy"), "d.npy"), Labels("ql.npy", "dl.npy")),
    "cosine": ((Outputs("qv.npy", "cosine"), "dv.npy"), Labels("ql.npy", "dl.npy")),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_record_of_each_form_of_inputs_verifies(form, folder, monkeypatch):
    sides, truth = FORMS[form]
    monkeypatch.chdir(folder)
    evaluation = evaluate(*sides, truth=truth, convention="hashnet")
    evaluation.write_json("sub/form.json", evaluation.spread(), evaluation.without([0]))
    verification = verify("sub/form.json")
    assert verification.holds, str(verification)
    assert verification.n_values == len(evaluation.metrics)
    changed = np.load("q.npy" if form != "sign" and "asym" not in form else "qv.npy").copy()
    changed[3, 5] = ~changed[3, 5] if changed.dtype == bool else -changed[3, 5]
    encoded = isinstance(sides[0], Codes) and sides[0].n_bits is None
    given = Codes(changed, binarize=sides[0].binarize) if encoded else Outputs(changed) if "asym" in form else changed
    assert places(verify("sub/form.json", given))[0] == "query codes"


def test_the_files_of_a_record_are_named_without_detours_but_links_are_followed(folder):
    Path("link").symlink_to(folder)
    record = folder / "record.json"
    record.write_text(record.read_text().replace('"ql.npy"', f'"../{folder.name}/ql.npy"'))
    assert verify("link/record.json").holds
    (folder / "ql.npy").unlink()
    assert verify("../copy/record.json").failures[0].text.startswith("../copy/ql.npy: ")


def test_the_same_codes_and_labels_in_another_format_verify(folder, capsys):
    record, at = folder / "record.json", "../copy/"
    assert verify(record, f"{at}c.mat:tB", np.where(DATABASE, 1, -1), database_labels=f"{at}dl.csv").holds
    command = ["verify", str(record), "--query-codes", f"{at}qb.npy", "--database-codes", f"{at}db.npy"]
    assert main([*command, "--bit-order", "big"]) == 0
    assert main(command) == 1
    assert "fails        recomputation: ../copy/qb.npy: expected zeros after bit 12" in capsys.readouterr().out


def test_the_reference_describes_all_fields(folder):
    page = (Path(__file__).parents[2] / "docs" / "reference" / "records.md").read_text()
    assert [field for field in json.loads((folder / "record.json").read_text()) if f"`{field}`" not in page] == []


def test_a_record_of_arrays_needs_its_inputs(folder):
    evaluation = evaluate(QUERY, DATABASE, query_labels=OF_QUERY, database_labels=OF_DATABASE)
    evaluation.write_json("arrays.json")
    labels = {"query_labels": OF_QUERY, "database_labels": OF_DATABASE}
    assert hp.verify("arrays.json", QUERY, DATABASE, **labels).holds
    missing = verify("arrays.json", QUERY, **labels)
    assert missing.failures[0].text == "database codes are missing: the record does not name their file."
    assert (missing.holds, missing.n_values) == (False, 0)
    assert "No ground truth" in verify("arrays.json", QUERY, DATABASE).verdict


@pytest.mark.parametrize(
    ("name", "at", "change", "first"),
    [
        ("q", (2, 7), lambda bit: ~bit, "query codes"),
        ("d", (19, 11), lambda bit: ~bit, "database codes"),
        ("ql", 3, lambda label: label - 1, "query labels"),
        ("dl", 0, lambda label: (label + 1) % 3, "database labels"),
    ],
)
def test_one_bit_or_label_is_refused(name, at, change, first, folder):
    array = np.load(folder / f"{name}.npy")
    array[at] = change(array[at])
    np.save(folder / f"{name}.npy", array)
    verification = verify(folder / "record.json")
    assert not verification.holds
    assert first in places(verification)
    assert [check.outcome for check in verification.checks if check.subject == "per_query"] == ["fails"]


def test_one_digit_of_a_file_is_refused_with_its_line(folder):
    file, key = "out.csv", "per_query"
    lines = (folder / file).read_text().split("\n")
    *start, last = lines[3].split(",")
    lines[3] = ",".join([*start, f"{last[:-1]}{(int(last[-1]) + 1) % 10}"])
    (folder / file).write_text("\n".join(lines))
    other, cell = (check for check in verify(folder / "record.json").failures if check.subject == key)
    assert other.text == f"{file} is another file than the recorded one: its SHA-256 differs"
    assert cell.text.startswith(f"{file}: line 4, ")
    (folder / file).unlink()
    verification = verify(folder / "record.json")
    assert not verification.holds
    assert verification.verdict.endswith(f"4 values as recorded; not verified: {key}: {folder / file} is missing.")


def leaves(content, place=()):
    """Yield the places of all values of JSON that are not objects or lists."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from leaves(value, (*place, key)) if isinstance(value, dict | list) and value else [(*place, key)]


def other(value):
    """Return another value of the same kind: of a number, the one that differs in the 12th digit."""
    if isinstance(value, float):
        return float(f"{value:.12g}") + 10.0 ** (np.floor(np.log10(value or 1)) - 11)
    if isinstance(value, bool | int | None):
        return 1 if value is None else value + 1
    if isinstance(value, list):
        return [1]
    return f"{'f' if value[:1] != 'f' else 'e'}{value[1:]}"


CLAIMED = {("name",), ("dataset",), ("split",), ("ground_truth",), ("supervision",), ("version",)}
CALLED = {"codes_sha256": "codes", "labels_sha256": "labels", "ground_truth_sha256": "ground truth"}


def refused(record, content):
    """Return the lines about what fails in a record with this content, or the error if it is no record."""
    record.write_text(json.dumps(content))
    try:
        verification = verify(record)
    except ProtocolError as error:
        return str(error)
    assert verification.holds is not bool(verification.failures)
    return "\n".join(map(str, verification.failures))


def test_every_edit_of_a_value_and_every_deletion_of_a_field_is_refused(folder):
    record = folder / "record.json"
    original, n_edits = json.loads(record.read_text()), 0
    for *path, last in leaves(original):
        if (*path, last) in CLAIMED or last == "bit_order" or (last == "file" and path[0] != "inputs"):
            continue  # nothing but the record states names, these codes are not packed, and a CSV file may be missing
        content = copy.deepcopy(original)
        inner = functools.reduce(operator.getitem, path, content)
        inner[last] = other(inner[last])
        lines = refused(record, content)
        place = [CALLED.get(str(key), str(key)) for key in (*path, last)]
        assert lines, place
        assert path[:1] == ["inputs"] or any(key in lines for key in place), (place, lines)
        n_edits += 1
        if not path and last not in ("inputs", "lists", "spread"):
            del inner[last]
            assert refused(record, content), ("deleted", place)
    assert n_edits > 100


def test_another_version_is_only_a_note(folder):
    verification = edited(folder, lambda content: content.update(version="0.0.9"))
    assert verification.holds
    assert "note         version: 0.0.9 recorded, " in str(verification)


def test_another_list_of_the_split_is_refused(folder):
    (folder / "query.txt").write_text((folder / "query.txt").read_text() + "39.png\n")
    assert places(verify(folder / "record.json")) == ["list of query"]
    (folder / "query.txt").unlink()
    assert verify(folder / "record.json").verdict.endswith("query.txt is missing.")


def test_the_sizes_of_a_declared_protocol(folder):
    inputs = {"query_labels": OF_QUERY, "database_labels": OF_DATABASE}
    evaluate(QUERY, DATABASE, **inputs).named(split="cifar10_s1").write_json("s1.json")
    (failure,) = verify("s1.json", QUERY, DATABASE, **inputs).failures
    assert failure.text == "6 and 20 recorded, 1,000 and 59,000 declared by cifar10_s1"
