"""Inputs with an odd value in one field: every command succeeds or prints one line, but never a traceback."""

import copy
import itertools
import json
import random

import h5py
import numpy as np
import project
import pytest
import yaml

from protocol import evaluate
from protocol.cli import main
from protocol.provenance import checksums, storage

ODD = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "negative": "-1",
    "fraction": "2.5",
    "whole": "2.0",
    "nan": "NaN",
    "huge": "1" + "0" * 400,
    "large": str(10**15),
    "long": "9" * 5000,
    "empty": '""',
    "blank": '" "',
    "control": '"\\u001b[31m\\n"',
    "zero character": '"a\\u0000b"',
    "name with a newline": '"small\\n"',
    "list": "[]",
    "lists": "[[1]]",
    "mapping": "{}",
    "mappings": '{"a": {"b": []}}',
    "deep": "[" * 2000 + "]" * 2000,
    "path": '"../../../etc/passwd"',
}
"""The values as JSON, which is also YAML."""
WORDS = {
    "empty": "",
    "blank": " ",
    "nan": "nan",
    "infinity": "inf",
    "negative": "-1",
    "fraction": "1.5",
    "text": "x",
    "huge": "1" + "0" * 400,
    "control": "\x1b[31m\n",
    "zero character": "a\0b",
}
RECORD = storage.provenance("split standard", parameters={"sizes": {"query": 2, "train": 2}}, seed=3, inputs={}) | {
    "inputs": {"labels": "d" * 64}
}
NAMES = {"dataset": "digits", "ground_truth": "class_label", "split": "standard"}
SCORES = json.loads(
    evaluate([[0] * 16, [1] * 16], [[0] * 16, [1] * 16], query_labels=[0, 1], database_labels=[0, 1], metrics=["mAP"])
    .named("codes", **NAMES)
    .to_json()
) | {"per_query": {"file": "values.csv", "sha256": "b" * 64}}
SUMMARY = {name: str(SCORES[name]) for name in (*NAMES, "relevance", "n_bits", "n_queries", "n_database", "ranking")}
SUMMARY |= {"feature": "gist", "hasher": "itq", "extension": "none", "metric": "mAP", "mean": "0.5", "std": "0.01"}
SUMMARY |= {"n_runs": "2", "undefined": SCORES["undefined"]["mAP"], "ties": SCORES["ties"]["mAP"]}
SMALL = project.SMALL | {"seed": 0, "mirror": None, "extensions": ["none"], "metrics": ["mAP"]}
SMALL |= {"hasher_options": {"itq": {"n_iter": 50}}}
PARTS = {"query": [0, 1], "database": [2, 3, 4, 5], "train": [2, 3]}
SAMPLE = 40
"""Cases of each kind that the fast tests draw from all pairs of a field and an odd value; the nightly tests run all."""


def places(value, above=()):
    """Yield the path of every field."""
    for key, own in value.items():
        yield (*above, key)
        if isinstance(own, dict):
            yield from places(own, (*above, key))


def replaced(value, place, odd):
    """Return JSON in which the field at a place, or all if there is none, is the text `odd`."""
    if not place:
        return odd
    key, *below = place
    fields = {name: replaced(own, below, odd) if name == key else json.dumps(own) for name, own in value.items()}
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in fields.items()) + "}"


def split(path, record):
    """Write a split with any provenance record, and the digests and the checksum that belong to it."""
    with h5py.File(path, "w", userblock_size=checksums.USER_BLOCK) as file:
        digests = {}
        for name, rows in PARTS.items():
            array = np.array(rows)
            file.create_dataset(name, data=array).attrs["sha256"] = digests[name] = storage.array_digest(array)
        file.attrs["provenance"], file.attrs["digest"] = record, storage._content_digest(digests, record)
    checksums.seal(path)


def audit(folder, field, odd):
    """Return the arguments of `protocol audit` for a split whose provenance record has an odd field."""
    split(folder / "splits.h5", replaced(RECORD, field, ODD[odd]))
    return ["audit", folder / "splits.h5"]


def compare(folder, field, odd):
    (folder / "good.json").write_text(json.dumps(SCORES | {"name": "good"}))
    (folder / "odd.json").write_text(replaced(SCORES, field, ODD[odd]))
    return ["compare", folder / "odd.json", folder / "good.json"]


def summary(folder, column, word):
    (folder / "good.json").write_text(json.dumps(SCORES))
    row = SUMMARY | {column: WORDS[word]}
    (folder / "summary.csv").write_text("\n".join([",".join(row), ",".join(f'"{cell}"' for cell in row.values())]))
    return ["compare", folder / "summary.csv", folder / "good.json"]


def check(folder, field, odd):
    (folder / "odd.yaml").write_text(replaced(SMALL, field, ODD[odd]))
    return ["check", folder / "odd.yaml"]


CASES = {
    audit: list(itertools.product([(), *places(RECORD)], ODD)),
    compare: list(itertools.product([(), *places(SCORES)], ODD)),
    summary: list(itertools.product(SUMMARY, WORDS)),
    # PyYAML needs seconds for 2,000 levels.
    check: list(itertools.product([(), *places(SMALL)], [name for name in ODD if name != "deep"])),
}


def result(capsys, arguments):
    """Return the status and standard error, which is one printable line after a failure and else empty."""
    status = main([str(argument) for argument in arguments])
    err = capsys.readouterr().err
    assert status in (0, 1, 2), arguments
    assert err.count("\n") == (status == 2), err
    assert "\x1b" not in err
    assert not err.startswith("protocol: unexpected"), err
    return status, err


@pytest.mark.parametrize("command", CASES, ids=lambda command: command.__name__)
@pytest.mark.parametrize("size", [SAMPLE, pytest.param(None, marks=pytest.mark.nightly)], ids=["sample", "all"])
def test_an_odd_value_anywhere_ends_in_at_most_one_line(tmp_path, capsys, command, size):
    cases = CASES[command]
    for field, odd in random.Random(0).sample(cases, size or len(cases)):  # noqa: S311
        status, err = result(capsys, command(tmp_path, field, odd))
        assert "altered" not in err, (field, odd)  # or the test would stop at the checksum
        assert status != 1 or command is audit, (field, odd)


@pytest.mark.parametrize("field", ["", "features", "split_sizes", "codes", "hasher_options"])
def test_check_of_a_configuration_with_an_odd_key(tmp_path, capsys, field):
    for key in (1, 1.5, True, None, "", " ", "a\n", "\x1b[31m", 10**30):
        config = copy.deepcopy(SMALL)
        (config.setdefault(field, {}) if field else config)[key] = {"options": {1: 2}}
        (tmp_path / "odd.yaml").write_text(yaml.safe_dump(config))
        assert result(capsys, ["check", tmp_path / "odd.yaml"])[0] == 2, key


BROKEN = (
    *("[1", "{", "*a", "{[1]: 2}", "!!timestamp x", "!!bool x", "!!map [1]", "!!int x", "!!set [1]", "a: b: c", "\t"),
    *("[" * 999, "'", "%YAML 9\n---\na", "---\na\n---\nb", "<<: 1", "{a: 1, a: 2}", "9" * 5000, "&a [*a]"),
)


def test_check_of_broken_yaml_in_an_option(tmp_path, capsys):
    for text in BROKEN:
        assert result(capsys, ["check", "--config", f"hasher_options={text}"])[0] == 2, text
        (tmp_path / "odd.yaml").write_text(yaml.safe_dump(SMALL | {"hasher_options": {"itq": {"n_iter": text}}}))
        assert result(capsys, ["check", tmp_path / "odd.yaml"])[0] == 2, text
