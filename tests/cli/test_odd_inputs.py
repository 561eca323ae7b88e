"""Inputs with an odd value in one field: every command succeeds or prints one line, but never a traceback."""

import copy
import itertools
import json
import random

import h5py
import numpy as np
import pytest
import yaml
from odd_values import ODD, RECORD, SCORES, SMALL, SUMMARY, WORDS, places, replaced

from protocol.cli import main
from protocol.provenance import checksums, storage

PARTS = {"query": [0, 1], "database": [2, 3, 4, 5], "train": [2, 3]}
SAMPLE = 40
"""Cases of each kind that the fast tests draw from all pairs of a field and an odd value; the nightly tests run all."""


def split(path, record, attributes=None):
    """Write a split with any provenance record, and the digests and the checksum that belong to it."""
    with h5py.File(path, "w", userblock_size=checksums.USER_BLOCK) as file:
        digests = {}
        for name, rows in PARTS.items():
            array = np.array(rows)
            file.create_dataset(name, data=array).attrs["sha256"] = digests[name] = storage.array_digest(array)
        file.attrs["provenance"], file.attrs["digest"] = record, storage._content_digest(digests, record)
        for name, value in (attributes or {}).items():
            file.attrs[name] = value
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


@pytest.mark.parametrize(
    ("command", "field", "odd", "message"),
    [
        (audit, (), "lists", "splits.h5: provenance record: expected an object, got list."),
        (audit, (), "empty", "splits.h5: provenance record: expected an object, got str."),
        (audit, (), "deep", "splits.h5: provenance record: expected JSON, got RecursionError."),
        (compare, ("n_bits",), "fraction", "odd.json: n_bits: expected an integer >= 1, got 2.5."),
        (compare, ("n_queries",), "blank", "odd.json: n_queries: expected an integer >= 1, got ' '."),
        (compare, ("ranking",), "name with a newline", "ranking: expected hamming or asymmetric, got 'small\\n'."),
        (compare, ("per_query",), "control", "with an object as per_query, got '\\x1b[31m\\n'."),
        (compare, ("split",), "control", "differ in split (\\x1b[31m; standard)."),
        (compare, ("metrics", "mAP"), "mappings", "mAP: mean: expected a number, got {'a': {'b': []}}."),
        (summary, "mean", "text", "summary.csv: line 2 (mAP): mean: expected a finite number from 0 to 1, got x."),
        (summary, "std", "nan", "summary.csv: line 2 (mAP): std: expected a finite number >= 0, got nan."),
        (summary, "n_runs", "control", "n_runs: expected an integer >= 1, got \\x1b[31m\\n."),
        (summary, "n_queries", "infinity", "differ in n_queries (inf; 2)."),
        (check, ("dataset",), "large", "dataset: expected a name, got 1000000000000000."),
        (check, ("experiment",), "zero character", "lower-case letters, digits, _ and -, got 'a\\x00b'."),
        (check, ("features",), "control", "features: expected a non-empty mapping, got '\\x1b[31m\\n'."),
        (check, ("features", "gist"), "long", "odd.yaml: expected YAML, got: Exceeds the limit (4300 digits)"),
        (check, ("metrics",), "huge", "metrics: expected a non-empty list of names, got 1000000000"),
        (check, ("split_sizes", "query"), "true", "split_sizes.query: expected an integer >= 1, got True."),
        (check, ("hasher_options", "itq", "n_iter"), "lists", "option 'n_iter': expected an integer, got [[1]]."),
        (check, ("reproduction",), "whole", "reproduction: expected true or false, got 2.0."),
    ],
)
def test_the_line_names_the_field_and_the_value(tmp_path, capsys, command, field, odd, message):
    status, err = result(capsys, command(tmp_path, field, odd))
    assert status == 2
    assert message in err


def test_a_display_name_may_be_anything(tmp_path, capsys):
    for odd in ODD:
        assert result(capsys, compare(tmp_path, ("name",), odd))[0] == (2 if odd in ("deep", "long") else 0), odd


def test_audit_of_a_split_whose_record_is_no_text(tmp_path, capsys):
    for value in (1, 1.5, [0, 1], b"x", ""):
        split(tmp_path / "splits.h5", json.dumps(RECORD), {"provenance": value})
        status, err = result(capsys, ["audit", tmp_path / "splits.h5"])
        assert status == 2
        assert "splits.h5: provenance record: expected JSON, got " in err, value


@pytest.mark.parametrize("field", ["", "features", "split_sizes", "codes", "hasher_options"])
def test_check_of_a_configuration_with_an_odd_key(tmp_path, capsys, field):
    for key in (1, 1.5, True, None, "", " ", "a\n", "\x1b[31m", 10**30):
        config = copy.deepcopy(SMALL)
        (config.setdefault(field, {}) if field else config)[key] = {"options": {1: 2}}
        (tmp_path / "odd.yaml").write_text(yaml.safe_dump(config))
        assert result(capsys, ["check", tmp_path / "odd.yaml"])[0] == 2, key


BROKEN = (
    "[1",
    "{",
    "*a",
    "{[1]: 2}",
    "!!timestamp x",
    "!!bool x",
    "!!map [1]",
    "!!int x",
    "!!set [1]",
    "a: b: c",
    "\t",
)
BROKEN += ("[" * 999, "'", "%YAML 9\n---\na", "---\na\n---\nb", "<<: 1", "{a: 1, a: 2}", "9" * 5000, "&a [*a]")


def test_check_of_broken_yaml_in_an_option(tmp_path, capsys):
    for text in BROKEN:
        assert result(capsys, ["check", "--config", f"hasher_options={text}"])[0] == 2, text
        (tmp_path / "odd.yaml").write_text(yaml.safe_dump(SMALL | {"hasher_options": {"itq": {"n_iter": text}}}))
        assert result(capsys, ["check", tmp_path / "odd.yaml"])[0] == 2, text


def test_check_of_a_configuration_with_too_many_levels(tmp_path, capsys):
    status, err = result(capsys, check(tmp_path, ("hasher_options", "itq", "n_iter"), "deep"))
    assert status == 2
    assert "odd.yaml: expected YAML, got too many levels of lists or mappings." in err


def test_check_of_huge_options(capsys):
    huge = "features={gist: {options: {scales: 1000000000000000}}}"
    assert result(capsys, ["check", "--config", huge])[0] == 2
    changes = ["experiment=x", "dataset=synthetic", "features={precomputed: {}}", f"dataset_options={{n: {10**15}}}"]
    assert result(capsys, ["check", "--config", *changes])[0] in (0, 2)
