"""An odd value in any field of any input: every command ends with a status and at most one line, never a traceback."""

import contextlib
import io
import json

import h5py
import numpy as np
import project
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol import evaluate
from protocol.cli import main
from protocol.provenance import checksums, storage

ODD = ["null", "true", "0", "-1", "2.5", "2.0", "NaN", f"1{'0' * 400}", str(10**15), "9" * 5000, "[]", "[[1]]", "{}"]
ODD += ['""', '" "', '"x"', '"inf"', '"\\u001b[31m\\n"', '"a\\u0000b"', '"small\\n"', '"../../../etc/passwd"']
ODD += ['{"a": {"b": []}}', '{"\\u001b[31m": 1}', "[" * 999 + "]" * 999]
"""Values as JSON, which is also YAML."""
BROKEN = ["[1", "{", "*a", "{[1]: 2}", "!!timestamp x", "!!map [1]", "!!int x", "!!set [1]", "a: b: c", "\t", "<<: 1"]
BROKEN += ["'", "%YAML 9\n---\na", "---\na\n---\nb", "{a: 1, a: 2}", "&a [*a]", *ODD]
FUZZ = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])

NAMES = {"dataset": "digits", "ground_truth": "class_label", "split": "standard"}
RECORD = storage.provenance("split standard", parameters={"sizes": {"query": 2, "train": 2}}, seed=3, inputs={})
RECORD |= {"inputs": {"labels": "d" * 64}}
CODES = {"query_labels": [0, 1], "database_labels": [0, 1], "metrics": ["mAP"]}
SCORES = json.loads(evaluate([[0] * 16, [1] * 16], [[0] * 16, [1] * 16], **CODES).named("codes", **NAMES).to_json())
SCORES |= {"per_query": {"file": "values.csv", "sha256": "b" * 64}}
CONFIG = project.SMALL | {"seed": 0, "mirror": None, "extensions": ["none"], "metrics": ["mAP"]}
CONFIG |= {"hasher_options": {"itq": {"n_iter": 50}}}


def places(value, above=()):
    """Yield the path of every field."""
    for key, field in value.items():
        yield (*above, key)
        if isinstance(field, dict):
            yield from places(field, (*above, key))


def replaced(value, place, odd):
    """Return JSON in which the field at a place, or all if there is none, is the text `odd`."""
    if not place:
        return odd
    key, *below = place
    fields = {name: replaced(field, below, odd) if name == key else json.dumps(field) for name, field in value.items()}
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in fields.items()) + "}"


def audit(folder, record):
    """Write a split with any provenance record, and the digests and the checksum that belong to it."""
    with h5py.File(folder / "splits.h5", "w", userblock_size=checksums.USER_BLOCK) as file:
        digests = {}
        for name, rows in {"query": [0, 1], "database": [2, 3, 4, 5], "train": [2, 3]}.items():
            file.create_dataset(name, data=rows).attrs["sha256"] = digests[name] = storage.array_digest(np.array(rows))
        file.attrs["provenance"], file.attrs["digest"] = record, storage._content_digest(digests, record)
    checksums.seal(folder / "splits.h5")
    return ["audit", folder / "splits.h5"]


def compare(folder, scores):
    (folder / "odd.json").write_text(scores)
    (folder / "good.json").write_text(json.dumps(SCORES | {"name": "good"}))
    return ["compare", folder / "odd.json", folder / "good.json"]


def verify(folder, scores):
    (folder / "odd.json").write_text(scores)
    return ["verify", folder / "odd.json"]


def check(folder, config):
    (folder / "odd.yaml").write_text(config)
    return ["check", folder / "odd.yaml"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("odd")


def status_of(arguments):
    """Return the status of a command, which prints one printable line on standard error after a failure, else none."""
    with contextlib.redirect_stderr(io.StringIO()) as stream, contextlib.redirect_stdout(io.StringIO()):
        status = main([str(argument) for argument in arguments])
    err = stream.getvalue()
    assert status in (0, 1, 2), arguments
    assert err.count("\n") == (status == 2), err
    assert "\x1b" not in err
    assert not err.startswith("protocol: unexpected"), err
    assert "altered" not in err  # or the test would stop at the checksum
    return status


COMMANDS = {audit: RECORD, compare: SCORES, verify: SCORES, check: CONFIG}


@pytest.mark.parametrize(("command", "content"), COMMANDS.items())
@FUZZ
@given(data=st.data())
def test_an_odd_value_anywhere_ends_in_at_most_one_line(folder, command, content, data):
    place = data.draw(st.sampled_from([(), *places(content)]))
    status = status_of(command(folder, replaced(content, place, data.draw(st.sampled_from(ODD)))))
    assert status != 1 or command in (audit, verify)


@FUZZ
@given(text=st.sampled_from(BROKEN), key=st.sampled_from([1, 1.5, True, None, "", " ", "a\n", "\x1b[31m", 10**30]))
def test_broken_yaml_and_odd_keys_are_refused(folder, text, key):
    assert status_of(["check", "--config", f"hasher_options={text}"]) in (0, 2)
    assert status_of(check(folder, yaml.safe_dump(CONFIG | {key: {"options": {1: 2}}}))) == 2
