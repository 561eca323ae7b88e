import hashlib
import json
import re

import numpy as np
import pytest

from protocol import __version__, registry
from protocol.evaluation import CONVENTIONS, evaluate, table, write_json, write_per_query

LABELS = {"query_labels": [7, 99], "database_labels": [7, 8, 7]}
CODES = ([[0, 0], [0, 1]], [[0, 0], [0, 1], [1, 1]])


def found(**options):
    return evaluate(*CODES, **LABELS, **options)


def test_the_table_states_every_convention():
    text = table(found(metrics=["mAP", "mAP[worst]", "AUPRC[area]"], convention="hashnet"))
    head, numbers, differences = text.split("\n\n")
    assert head.split("\n")[0] == "2 queries, 3 database items, 2 bits; convention hashnet"
    assert [re.split("  +", line) for line in numbers.split("\n")] == [
        ["metric", "mean", "undefined", "ties", "denominator"],
        ["mAP", "0.8333", "left out (1)", "expected value", "all relevant items"],
        ["mAP[worst]", "0.8333", "left out (1)", "relevant items last", "all relevant items"],
        ["AUPRC[area]", "0.3833", "0", "none", registry.entry("metric", "AUPRC[area]").denominator],
    ]
    assert differences.startswith("not copied from the original:\n  Ties come in the order of an unstable sort")


@pytest.mark.parametrize("rules", CONVENTIONS, ids=lambda rules: rules.name)
def test_every_table_is_narrow_enough_and_says_what_is_not_copied(rules):
    text = table(found(convention=rules.name, spread=True))
    assert all(len(line) <= 160 and line == line.rstrip() for line in text.split("\n"))
    assert ("not copied from the original:" in text) == (rules.name != "protocol")
    for line in rules.not_copied:
        assert line in text


def test_the_spread_is_shown_with_who_calls_it_so():
    text = table(found(metrics=["mAP"], spread=True))
    assert "what goes by the name of mAP, from 0.3833 to 0.8333:" in text
    rows = [line.split() for line in text.split("\n") if line.startswith("mAP[index]")]
    assert rows == [["mAP[index]", "0.8333", "left", "out", "mihash"], ["mAP[index]", "0.4167", "0", "thesis"]]
    assert "either way  habir" in text


def test_small_numbers_keep_their_digits():
    bits = np.zeros((1, 40), bool)
    text = table(evaluate(bits, ~bits, query_labels=[1], database_labels=[1], metrics=["RAMAP@r40"]))
    assert re.search("^RAMAP@r40 +2.22e-14 +0 ", text, re.M)


def test_json_has_the_means_and_what_identifies_them(tmp_path):
    path = tmp_path / "means.json"
    write_json(path, found(metrics=["mAP", "AUPRC[area]"], dataset="digits", split="improved"))
    assert json.loads(path.read_text()) == {
        "name": None,
        "dataset": "digits",
        "ground_truth": None,
        "relevance": "class labels",
        "split": "improved",
        "n_queries": 2,
        "n_database": 3,
        "n_bits": 2,
        "convention": "protocol",
        "ground_truth_sha256": found().ground_truth_sha256,
        "version": __version__,
        "metrics": {"mAP": pytest.approx(5 / 12), "AUPRC[area]": pytest.approx(23 / 60)},
        "empty": {"mAP": "zero", "AUPRC[area]": "zero"},
        "ties": {name: registry.entry("metric", name).ties for name in ("mAP", "AUPRC[area]")},
    }
    assert [file.name for file in tmp_path.iterdir()] == ["means.json"]


def test_json_names_the_values_per_query_and_their_digest(tmp_path):
    made, values = found(metrics=["mAP"]), tmp_path / "values" / "mine.csv"
    values.parent.mkdir()
    write_per_query(values, made)
    write_json(tmp_path / "means.json", made, per_query=values)
    recorded = json.loads((tmp_path / "means.json").read_text())["per_query"]
    assert recorded == {"file": "values/mine.csv", "sha256": hashlib.sha256(values.read_bytes()).hexdigest()}


def test_json_of_a_mean_over_nothing_is_null_and_has_the_spread_if_asked(tmp_path):
    undefined = evaluate(
        [[0]], [[1]], query_labels=[1], database_labels=[2], metrics=["mAP"], convention="hashnet", spread=True
    )
    write_json(tmp_path / "means.json", undefined)
    content = json.loads((tmp_path / "means.json").read_text())
    assert content["metrics"] == {"mAP": None}
    assert {"value": None, "metric": "mAP", "empty": ["drop"], "conventions": ["hashnet"]} in content["spread"]
    assert re.search(r"^mAP +none +left out \(1\) ", table(undefined), re.M)


def test_per_query_values(tmp_path):
    path = tmp_path / "values.csv"
    write_per_query(path, found(metrics=["mAP", "AUPRC[area]", "precision@r1"], convention="hashnet"))
    assert path.read_text() == "query,mAP,precision@r1\n0,0.833333333,0.5\n1,,0\n"
    values = np.genfromtxt(path, delimiter=",", skip_header=1)
    assert np.nanmean(values[:, 1]) == pytest.approx(5 / 6)
