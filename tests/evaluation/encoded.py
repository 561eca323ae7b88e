"""`evaluate` with encodings, the ranking and relevance as plain keywords, and tables of refused inputs in YAML."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from protocol.checks import ProtocolError
from protocol.evaluation import Codes, Outputs, Relevant, evaluate


def evaluated(query, database, *, n_bits=None, bit_order=None, binarize=None, ranking="hamming", **options):
    """Return the evaluation; `relevance` may replace the labels."""
    items = Codes(database, n_bits, bit_order, binarize)
    if "relevance" in options:
        options["truth"] = Relevant(options.pop("relevance"))
    return evaluate(query if ranking == "hamming" else Outputs(query, ranking), items, **options)


def refused(message):
    """Return a context whose block must be refused with a message that matches a regular expression."""
    return pytest.raises(ProtocolError, match=message)


def message_of(call, *arguments, **options):
    """Return the message, of one line, with which a call is refused."""
    with pytest.raises(ProtocolError) as error:
        call(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def refuses(message, call, *arguments, **options):
    """Check that a call is refused in one line that matches a regular expression."""
    text = message_of(call, *arguments, **options)
    assert re.search(message, text), text


def yaml_of(name):
    """Return the content of a YAML file in tests/."""
    return yaml.safe_load((Path(__file__).parents[1] / name).read_text(encoding="utf-8"))


def refusals(name):
    """Return the cases of a table in tests/: the inputs, and the message."""
    cases = yaml_of(name)
    return [({key: _array(case[key]) for key in case if key != "message"}, case["message"]) for case in cases]


def _array(entry):
    """Return a value of a table; arrays repeat values of a dtype over a shape, and sparse matrices have arrays."""
    if not isinstance(entry, dict):
        return entry
    if not entry.keys() & {"csr", "dtype"}:
        return {key: _array(own) for key, own in entry.items()}
    if "dtype" in entry:
        array = np.array(entry["values"], dtype=entry["dtype"])
        return np.resize(array, entry["shape"]) if "shape" in entry else array
    arrays = {name: np.asarray(_array(entry["csr"][name])) for name in ("indptr", "indices", "data")}
    rows = SimpleNamespace(**arrays, shape=tuple(entry["csr"]["shape"]))
    rows.tocsr = lambda: rows
    return rows
