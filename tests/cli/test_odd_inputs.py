"""Inputs with an odd value in one field: every command succeeds or prints one line, but never a traceback."""

import copy
import json

import h5py
import numpy as np
import pytest
import yaml
from odd_values import ODD, RECORD, SCORES, SMALL, SUMMARY, WORDS, places, replaced

from protocol.cli import main
from protocol.provenance import storage

PARTS = {"query": [0, 1], "database": [2, 3, 4, 5], "train": [2, 3]}


def forge(path, record, attributes=None):
    """Write a split with any provenance record and matching digests."""
    with h5py.File(path, "w") as file:
        digests = {}
        for name, rows in PARTS.items():
            array = np.array(rows)
            file.create_dataset(name, data=array).attrs["sha256"] = digests[name] = storage.array_digest(array)
        file.attrs["provenance"], file.attrs["digest"] = record, storage._content_digest(digests, record)
        for name, value in (attributes or {}).items():
            file.attrs[name] = value


def ends_in_a_line(capsys, arguments, statuses=(0, 1, 2)):
    status = main([str(argument) for argument in arguments])
    err = capsys.readouterr().err
    assert status in statuses
    assert not err.startswith("protocol: unexpected")
    assert "\x1b" not in err
    assert err.count("\n") == (status == 2)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", [(), *places(RECORD)], ids=lambda place: ".".join(place) or "record")
def test_audit_of_a_split_with_an_odd_record(tmp_path, capsys, place, odd):
    forge(tmp_path / "splits.h5", replaced(RECORD, place, ODD[odd]))
    ends_in_a_line(capsys, ["audit", tmp_path / "splits.h5"])


@pytest.mark.parametrize("value", [1, 1.5, [0, 1], b"x", ""], ids=repr)
@pytest.mark.parametrize("name", ["digest", "provenance"])
def test_audit_of_a_split_with_an_odd_attribute(tmp_path, capsys, name, value):
    forge(tmp_path / "splits.h5", json.dumps(RECORD), {name: value})
    ends_in_a_line(capsys, ["audit", tmp_path / "splits.h5"], [2])


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", [(), *places(SCORES)], ids=lambda place: ".".join(place) or "file")
def test_compare_of_scores_with_an_odd_field(tmp_path, capsys, place, odd):
    (tmp_path / "good.json").write_text(json.dumps(SCORES | {"name": "good"}))
    (tmp_path / "odd.json").write_text(replaced(SCORES, place, ODD[odd]))
    ends_in_a_line(capsys, ["compare", tmp_path / "odd.json", tmp_path / "good.json"])


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("column", SUMMARY)
def test_compare_of_a_summary_with_an_odd_cell(tmp_path, capsys, column, word):
    (tmp_path / "good.json").write_text(json.dumps(SCORES))
    row = SUMMARY | {column: WORDS[word]}
    (tmp_path / "summary.csv").write_text("\n".join([",".join(row), ",".join(f'"{cell}"' for cell in row.values())]))
    ends_in_a_line(capsys, ["compare", tmp_path / "summary.csv", tmp_path / "good.json"])


@pytest.mark.parametrize("odd", [name for name in ODD if name != "deep"])  # PyYAML needs seconds for it
@pytest.mark.parametrize("place", [(), *places(SMALL)], ids=lambda place: ".".join(place) or "file")
def test_check_of_a_configuration_with_an_odd_value(tmp_path, capsys, place, odd):
    (tmp_path / "odd.yaml").write_text(replaced(SMALL, place, ODD[odd]))
    ends_in_a_line(capsys, ["check", tmp_path / "odd.yaml"], [0, 2])


@pytest.mark.parametrize("key", [1, 1.5, True, None, "", " ", "a\n", "\x1b[31m", 10**30], ids=repr)
@pytest.mark.parametrize("place", ["", "features", "split_sizes", "codes", "hasher_options"])
def test_check_of_a_configuration_with_an_odd_key(tmp_path, capsys, place, key):
    config = copy.deepcopy(SMALL)
    (config.setdefault(place, {}) if place else config)[key] = {"options": {1: 2}}
    (tmp_path / "odd.yaml").write_text(yaml.safe_dump(config))
    ends_in_a_line(capsys, ["check", tmp_path / "odd.yaml"], [2])


@pytest.mark.parametrize(
    "text",
    [
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
        "[" * 999,
        "'",
        "%YAML 9\n---\na",
        "---\na\n---\nb",
        "<<: 1",
        "{a: 1, a: 2}",
        "9" * 5000,
        "&a [*a]",
    ],
    ids=lambda text: text[:9],
)
def test_check_of_broken_yaml_in_an_option(tmp_path, capsys, text):
    ends_in_a_line(capsys, ["check", "--config", f"hasher_options={text}"], [2])
    (tmp_path / "odd.yaml").write_text(yaml.safe_dump(SMALL | {"hasher_options": {"itq": {"n_iter": text}}}))
    ends_in_a_line(capsys, ["check", tmp_path / "odd.yaml"], [2])


def test_check_of_a_configuration_with_too_many_levels(tmp_path, capsys):
    (tmp_path / "odd.yaml").write_text(replaced(SMALL, ("hasher_options", "itq", "n_iter"), ODD["deep"]))
    ends_in_a_line(capsys, ["check", tmp_path / "odd.yaml"], [2])


def test_check_of_huge_options(capsys):
    ends_in_a_line(capsys, ["check", "--config", "features={gist: {options: {scales: 1000000000000000}}}"], [2])
    changes = ["experiment=x", "dataset=synthetic", "features={precomputed: {}}", f"dataset_options={{n: {10**15}}}"]
    ends_in_a_line(capsys, ["check", "--config", *changes], [0, 2])
