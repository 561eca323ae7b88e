"""Every unusable input is refused in one line, with status 2."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from split_files import write_list

from protocol.cli import main

REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text())
CODES = "evaluate --query-codes q.npy --database-codes d.npy"
COMMANDS = {
    "$CODES": CODES,
    "$EVALUATE": f"{CODES} --query-labels ql.npy --database-labels dl.npy",
    "$AUDIT": "audit --query query.txt --database database.txt --train train.txt",
    "$ROWS": "audit --query query.npy --database database.npy --train train.npy",
}
PARTS = {"query": np.arange(20), "database": np.arange(20, 90), "train": np.arange(20, 60)}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with good inputs, and scores of different sizes."""
    folder, rng = tmp_path_factory.mktemp("inputs"), np.random.default_rng(0)
    labels = {"ql": np.arange(4), "dl": np.arange(20) % 4, "labels": np.arange(100) % 5}
    arrays = labels | {"q": rng.random((4, 12)) < 0.5, "d": rng.random((20, 12)) < 0.5, "X": rng.random((100, 4))}
    for name, array in (arrays | PARTS).items():
        np.save(folder / f"{name}.npy", array)
    for name, part in PARTS.items():
        write_list(folder / f"{name}.txt", part, np.array([f"{row}.png" for row in range(100)]), labels["labels"])
    for name, labels in (("a", "0 1 1 0"), ("b", "0 1 1")):
        (folder / f"{name}.txt").write_text("\n".join(labels.split()) + "\n")
        (folder / f"{name}_codes.txt").write_text("\n".join(f"{label} 0" for label in labels.split()) + "\n")
        names = [f"--{side}-{kind}" for side in ("query", "database") for kind in ("codes", "labels")]
        files = [folder / f"{name}_codes.txt", folder / f"{name}.txt"] * 2
        options = [str(part) for pair in zip(names, files, strict=True) for part in pair]
        assert main(["evaluate", *options, "--json", str(folder / f"{name}.json")]) == 0
    return folder


def write(path, content):
    """Write a file of a table: text, bytes, arrays or a folder."""
    if content is None:
        path.mkdir()
    elif isinstance(content, str | bytes):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    elif isinstance(content, dict):
        np.savez(path, **content)
    else:
        np.save(path, content)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["command"])
def test_an_unusable_input_is_refused_in_one_line(case, inputs, here, capsys):
    for path in inputs.iterdir():
        Path(path.name).symlink_to(path)
    for name, content in case.get("files", {}).items():
        write(Path(name), content)
    start, *rest = case["command"].split(" ", 1)
    before = sorted(here.rglob("*"))
    try:
        status = main(shlex.split(" ".join([COMMANDS.get(start, start), *rest])))
    except SystemExit as stopped:  # errors of the parser
        status = stopped.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("protocol")
    assert (err.count("\n"), err[-1], err.count("\x1b")) == (1, "\n", 0)
    assert re.search(case["message"], err.removesuffix("\n")), err
    assert sorted(here.rglob("*")) == before
