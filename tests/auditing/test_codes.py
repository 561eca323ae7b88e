"""The audit of codes: those that follow the labels, that are few, or have constant bits."""

import numpy as np
import pytest
from audited import audit, kinds
from encoded import refuses

from protocol import Codes
from protocol.checks import ProtocolError
from protocol.cli import main

RNG = np.random.default_rng(0)
Y = RNG.permutation(np.arange(520) % 4)
QUERY, DATABASE, TRAIN = np.arange(20), RNG.permutation(np.arange(20, 520)), np.arange(20, 220)
SPLIT = {"query": QUERY, "database": DATABASE, "train": TRAIN, "labels": Y}
CLASS_CODES = np.array([[0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 0], [1, 0, 0, 1, 0, 1]])[Y]
NOISY = CLASS_CODES ^ (RNG.random((520, 6)) < 0.15)
OF_CODES = {"one-code-per-class", "collapsed-codes", "constant-bits"}


def found(codes, **options):
    """Return the findings on codes of all items, by name."""
    options = SPLIT | options
    audited = audit(query_codes=codes[options["query"]], database_codes=codes[options["database"]], **options)
    (findings,) = audited.findings.values()
    return {one.name: one for one in findings if one.name in OF_CODES}


def test_codes_are_in_the_order_of_the_lists():
    (finding,) = found(CLASS_CODES).values()
    assert (finding.name, finding.severity, finding.count) == ("one-code-per-class", "warning", 500)
    text = "100.0 % of the 500 database items have the one code of their class (4 distinct"
    assert finding.consequence.startswith(text)
    assert "mAP measures how well queries are classified" in finding.consequence
    assert found(CLASS_CODES[::-1]) == {}


def test_collapsed_codes_and_constant_bits_are_found():
    codes = np.zeros((520, 6), dtype=int)
    codes[:4, 1] = codes[500:510, 1] = 1
    by_name = found(codes)
    assert kinds(by_name.values()) == {("collapsed-codes", "warning"), ("constant-bits", "information")}
    assert by_name["constant-bits"].items == ("bit 0", "bit 2", "bit 3", "bit 4", "bit 5")
    end = "that of their labels 2.00, so items of different classes are tied."
    assert by_name["collapsed-codes"].consequence.endswith(end)


def test_codes_that_do_not_fit_are_refused(tmp_path):
    np.save(tmp_path / "d.npy", NOISY[:499])
    with pytest.raises(ProtocolError, match=r"/d\.npy: 499 codes for 500 items of the database list\.$"):
        audit(**SPLIT, query_codes=NOISY[:20], database_codes=Codes(tmp_path / "d.npy"))
    codes = {"query_codes": NOISY[QUERY], "database_codes": NOISY[DATABASE]}
    needed = r"^query_codes and database_codes need the labels of all query items as well\.$"
    refuses(needed, audit, **SPLIT | {"labels": None}, **codes)
    with pytest.raises(ProtocolError, match=r"^query_codes and database_codes are only used together\.$"):
        audit(**SPLIT, database_codes=NOISY[DATABASE])
    splits = [{"query": QUERY, "database": DATABASE}, {"query": QUERY, "database": DATABASE[1:]}]
    refuses(r"^query_codes and database_codes need a single split, not 2 runs\.$", audit, *splits, labels=Y, **codes)


def test_the_command_reads_packed_codes(here, capsys):
    arrays = {"query": QUERY, "database": DATABASE, "labels": Y}
    for name, rows in {"qc": QUERY, "dc": DATABASE}.items():
        arrays[name] = np.packbits(CLASS_CODES[rows], axis=1, bitorder="little")
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    lists = ["audit", "--query", "query.npy", "--database", "database.npy", "--labels", "labels.npy"]
    codes = ["--query-codes", "qc.npy", "--database-codes", "dc.npy"]
    assert main([*lists, *codes, "--n-bits", "6", "--fail-on", "warning"]) == 1
    assert "warning  one-code-per-class: 500" in capsys.readouterr().out
    for wrong in (codes[:2], ["--n-bits", "6"], ["--binarize", "sign"]):
        assert main([*lists, *wrong]) == 2
        assert capsys.readouterr().err.endswith(" is missing. Codes of queries and database are needed.\n")
