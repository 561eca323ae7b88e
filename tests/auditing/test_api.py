"""`protocol.audit`: arrays, files and the command have the same findings."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from audited import audit
from encoded import refuses, yaml_of

from protocol import registry
from protocol.auditing import KIND_OF
from protocol.cli import main

KEYS = ("file", "finding", "severity", "count", "items", "partners", "consequence", "fix", "treatment")
SIZES = {"query": 20, "validation_query": 10, "validation_database": 30, "train": 40}
IDS = np.array([f"image/{row:03d}.png" for row in range(400)])
Y = np.arange(400) % 5
X = np.arange(400)[:, None] // 2
PARTS = registry.get("split", "improved").split(400, Y, sizes=SIZES, seed=0)
LEAKING = PARTS | {"database": np.append(PARTS["database"], PARTS["query"][:2])}


@pytest.fixture
def folder(here):
    """A folder with the lists of a split with a leak, which is the working directory."""
    for name, part in LEAKING.items():
        np.save(f"{name}.npy", part)
    Path("ids.txt").write_text("\n".join(IDS) + "\n")
    np.save("labels.npy", Y)
    np.save("features.npy", X)
    return here


def found(audited):
    """Return errors and warnings, without the name of the split."""
    (made,) = audited.findings.values()
    return sorted((one for one in made if one.severity != "information"), key=lambda one: [*KIND_OF].index(one.name))


KNOWN = {"ids": ("ids", "labels"), "copies": ("features", "labels")}
ARRAYS = {"labels": Y, "ids": IDS, "features": X}


@pytest.mark.parametrize("case", KNOWN)
def test_arrays_files_and_the_command_have_the_same_findings(folder, case, capsys):
    files = {name: f"{name}.npy" for name in LEAKING}
    extra = {"ids": "ids.txt", "labels": "labels.npy", "features": "features.npy"}
    files |= {name: extra[name] for name in KNOWN[case]}
    from_files = audit(**files)
    from_arrays = audit(**LEAKING, **{name: ARRAYS[name] for name in KNOWN[case]})
    assert found(from_files) == found(from_arrays)
    leak, *others = found(from_arrays)
    assert (leak.name, leak.severity, leak.count) == ("query-in-database", "error", 2)
    assert leak.items == tuple((IDS if case == "ids" else np.arange(400).astype(str))[PARTS["query"][:2]])
    assert (len(others) > 0) == (case != "ids")
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in files.items()]
    assert main(["audit", *arguments, "--json", "found.json"]) == 1
    assert capsys.readouterr().out == f"{from_files!r}\n"
    records = json.loads(Path("found.json").read_text())
    assert records == json.loads(from_files.to_json())
    assert {tuple(record) for record in records} == {KEYS}


def test_complete_splits_are_mappings_or_files(folder):
    np.savez("split.npz", **LEAKING)
    as_file, as_mapping = audit("split.npz", labels=Y), audit(LEAKING, labels="labels.npy")
    assert (list(as_file.findings), list(as_mapping.findings)) == (["split.npz"], ["split"])
    assert found(as_file) == found(as_mapping)
    by_id = {name: IDS[rows] for name, rows in LEAKING.items()}
    assert found(audit(by_id | {"train": None}))[0] == found(audit(Path("split.npz"), ids=IDS))[0]
    several = audit(PARTS, "split.npz", PARTS, labels=Y, protocol="improved")
    assert list(several.findings) == ["split 1", "split.npz", "split 3"]
    names = {split: {one.name for one in made} for split, made in several.findings.items()}
    assert names["split 3"] == {"runs-not-independent"}
    assert list(audit("split.npz", "split.npz").findings) == ["split.npz"]


LISTS = {"query": [0, 1], "database": [2, 3]}
ROWS = yaml_of("auditing/unusable_arguments.yaml")
ROWS += [
    {"query": [1j], "message": r"query: expected row numbers or ids \(str\), got dtype complex128."},
    {"query": pd.Series(["a", None]), "message": r"query: expected row numbers or ids \(str\), got dtype object"},
    {
        "query": np.array([2**63], dtype=np.uint64),
        "message": "query: expected integers below 9,223,372,036,854,775,808, got",
    },
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["message"])
def test_unusable_arguments_are_refused_in_one_line(row):
    given = {name: value for name, value in row.items() if name not in ("lists", "splits", "message")}
    lists = LISTS if row.get("lists", True) else {}
    refuses(f"^{row['message']}", audit, *row.get("splits", ()), **(lists | given))
