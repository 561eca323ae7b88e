"""`protocol audit`: its exit status, and the findings as text and JSON."""

import json
from pathlib import Path

import numpy as np
import pytest
from split_files import write_list

from protocol import registry
from protocol.cli import main
from protocol.provenance import storage

SIZES = {"query": 20, "validation_query": 10, "validation_database": 30, "train": 40}
IDS = np.array([f"image/{row:03d}.png" for row in range(400)])
Y = np.arange(400) % 5
PARTS = registry.get("split", "improved").split(400, Y, sizes=SIZES, seed=0)
LISTS = ["--query", "query.txt", "--database", "database.txt", "--train", "train.txt"]


@pytest.fixture
def folder(here):
    """A folder with good lists, and the working directory."""
    for name, part in PARTS.items():
        write_list(f"{name}.txt", part, IDS, Y)
        np.save(f"{name}.npy", part)
    Path("ids.txt").write_text("\n".join(IDS) + "\n")
    np.save("labels.npy", Y)
    return here


def audited(*arguments):
    """Return the exit status and the findings, without those that are for information only."""
    status = main(["audit", *arguments, "--json", "found.json"])
    return status, [one for one in json.loads(Path("found.json").read_text()) if one["severity"] != "information"]


def names(*arguments):
    status, found = audited(*arguments)
    return status, [(one["finding"], one["severity"], one["count"]) for one in found]


def leaking(name="database.txt"):
    """Put two queries into a list."""
    with open(name, "a") as file:
        file.writelines(Path("query.txt").read_text().splitlines(keepends=True)[:2])


def test_clean_lists_are_clean(folder, capsys):
    assert names(*LISTS) == (0, [])
    out = capsys.readouterr().out
    assert "train 40 (8 per class); no protocol declared" in " ".join(out.split())
    assert out.startswith("query.txt database.txt train.txt\n  no errors or warnings; 14 checks were not made\n")
    assert "  information train-not-in-database: 40\n" in out
    assert "\n0 errors, 0 warnings, 1 informational finding\n14 checks need more data: --why " in out
    assert main(["audit", *LISTS, "--why"]) == 0
    assert "\n  all checks of missing partitions (validation_query" in capsys.readouterr().out
    assert "\x1b" not in out
    validation = ["--validation-query", "validation_query.txt", "--validation-database", "validation_database.txt"]
    known = ["--ids", "ids.txt", "--labels", "labels.npy"]
    assert names(*LISTS, *validation, "--protocol", "improved", *known) == (0, [])


@pytest.mark.parametrize(
    ("fail_on", "leak", "warned", "clean"),
    [("error", 1, 0, 0), ("warning", 1, 1, 0), ("information", 1, 1, 1), ("never", 0, 0, 0)],
)
def test_the_user_chooses_the_findings_that_fail(folder, fail_on, leak, warned, clean):
    lists = ["--query", "query.txt", "--database"]
    assert main(["audit", *LISTS, "--fail-on", fail_on]) == clean  # the training set is not in the database
    assert main(["audit", *lists, "database.txt", "--train", "database.txt", "--fail-on", fail_on]) == warned
    leaking()
    assert main(["audit", *lists, "database.txt", "--fail-on", fail_on]) == leak


def pipeline(folder, *, seeds=(0, 1), name="improved"):
    """Write the files of the pipeline: the items, and a split for each seed."""
    items = {"ids": np.char.encode(IDS), "labels": Y, "class_names": [b"a", b"b", b"c", b"d", b"e"]}
    storage.write("items.h5", items, storage.provenance("dataset x", parameters={}, inputs={}))
    for run, seed in enumerate(seeds):
        parts = registry.get("split", name).split(400, Y, sizes=SIZES, seed=seed)
        parameters = {"sizes": SIZES, "lists": {}, "run": run}
        inputs = {"labels": "items.h5"}
        provenance = storage.provenance(f"split {name}", parameters=parameters, inputs=inputs, seed=seed)
        storage.write(folder / f"{run}" / "splits.h5", parts, provenance)
    return [f"{run}/splits.h5" for run in range(len(seeds))]


def test_files_of_the_pipeline_need_no_options(folder, capsys):
    paths = pipeline(folder)
    assert names(*paths) == (0, [])
    out = capsys.readouterr().out
    assert out.count("; protocol improved\n") == 2
    np.save("twins.npy", np.zeros((400, 2)))
    found = audited(*paths, "--features", "twins.npy")[1]
    assert {(one["finding"], one["fix"][:28]) for one in found} == {("near-duplicate", "Remove one item of each pair")}
    content = Path(paths[0]).read_bytes()
    Path(paths[0]).write_bytes(content[: len(content) // 2])
    assert main(["audit", paths[0]]) == 2
    assert f"{paths[0]}: changed since it was written: " in capsys.readouterr().err
