import dataclasses
import hashlib
import json
import re

import numpy as np
import pytest
from encoded import evaluated

from protocol import __version__, registry
from protocol.checks import ProtocolError
from protocol.evaluation import CONVENTIONS, evaluate
from protocol.scores import identity

LABELS = {"query_labels": [7, 99], "database_labels": [7, 8, 7]}
CODES = ([[0, 0], [0, 1]], [[0, 0], [0, 1], [1, 1]])


def found(**options):
    names = {name: options.pop(name) for name in ("name", "dataset", "split") if name in options}
    return evaluated(*CODES, **LABELS, **options).named(**names)


def test_the_table_states_every_convention():
    text = str(found(metrics=["mAP", "mAP[worst]", "AUPRC[area]"], convention="hashnet"))
    head, numbers, differences = text.split("\n\n")
    assert head.split("\n")[0] == "2 queries, 3 database items, 2 bits; Hamming ranking; convention hashnet"
    assert [re.split("  +", line) for line in numbers.split("\n")] == [
        ["metric", "mean", "undefined queries", "ties", "denominator"],
        ["mAP", "0.8333", "1 of 2, left out", "expected value", "all relevant items"],
        ["mAP[worst]", "0.8333", "1 of 2, left out", "relevant items last", "all relevant items"],
        ["AUPRC[area]", "0.3833", "none", "none", registry.METRICS.entry("AUPRC[area]").denominator],
    ]
    assert differences.startswith("not copied from the original:\n  Ties are ordered by an unstable sort")


@pytest.mark.parametrize("rules", CONVENTIONS, ids=lambda rules: rules.name)
def test_every_table_is_narrow_and_lists_the_differences_from_the_original(rules):
    text = str(found(convention=rules.name, spread=True))
    assert all(len(line) <= 170 and line == line.rstrip() for line in text.split("\n"))
    assert ("not copied from the original:" in text) == (rules.name != "protocol")
    for line in rules.not_copied:
        assert line in text


def test_the_spread_is_shown_with_the_conventions():
    text = str(found(metrics=["mAP"], spread=True))
    assert "values that a convention calls mAP, from 0.3833 to 0.8333:" in text
    rows = [line.split() for line in text.split("\n") if line.startswith("mAP[index]")]
    assert rows == [
        ["mAP[index]", "0.8333", "left", "out", "mihash"],
        ["mAP[index]", "0.4167", "counted", "as", "0", "thesis"],
    ]
    assert re.search("either way +habir", text)


def test_small_numbers_keep_their_digits():
    bits = np.zeros((1, 40), bool)
    text = str(evaluate(bits, ~bits, query_labels=[1], database_labels=[1], metrics=["RAMAP@r40"]))
    assert re.search("^RAMAP@r40 +2.22e-14 +none ", text, re.M)


def test_json_has_the_means_and_their_identity(tmp_path):
    path = tmp_path / "means.json"
    found(metrics=["mAP", "AUPRC[area]"], dataset="digits", split="improved").write_json(path)
    assert json.loads(path.read_text()) == {
        "name": None,
        "dataset": "digits",
        "ground_truth": None,
        "relevance": "class labels",
        "split": "improved",
        "n_queries": 2,
        "n_database": 3,
        "n_bits": 2,
        "ranking": "hamming",
        "binarize": None,
        "convention": "protocol",
        "ground_truth_sha256": found().ground_truth_sha256,
        "version": __version__,
        "queries_without_relevant": 1,
        "labels_not_in_database": [99],
        "relevant_per_query": [0, 2],
        "levels": [1, 1],
        "metrics": {"mAP": pytest.approx(5 / 12), "AUPRC[area]": pytest.approx(23 / 60)},
        "undefined": {"mAP": 1, "AUPRC[area]": 0},
        "empty": {"mAP": "zero", "AUPRC[area]": "zero"},
        "ties": {name: registry.METRICS.entry(name).ties for name in ("mAP", "AUPRC[area]")},
    }
    assert [file.name for file in tmp_path.iterdir()] == ["means.json"]


def test_json_names_the_values_per_query_and_their_digest(tmp_path):
    made, values = found(metrics=["mAP"]), tmp_path / "values" / "mine.csv"
    values.parent.mkdir()
    made.write_per_query(values)
    made.write_json(tmp_path / "means.json", per_query=values)
    recorded = json.loads((tmp_path / "means.json").read_text())["per_query"]
    assert recorded == {"file": "values/mine.csv", "sha256": hashlib.sha256(values.read_bytes()).hexdigest()}


def test_json_has_null_for_undefined_means_and_the_spread_if_requested(tmp_path):
    name = "mAP@1000[retrieved]"
    undefined = evaluate(
        [[0]],
        [[0]] * 1000 + [[1]],
        query_labels=[1],
        database_labels=[2] * 1000 + [1],
        metrics=[name],
        convention="hashnet",
        spread=True,
    )
    undefined.write_json(tmp_path / "means.json")
    content = json.loads((tmp_path / "means.json").read_text())
    assert content["metrics"] == {name: None}
    assert {"value": None, "metric": name, "empty": ["drop"], "conventions": ["hashnet", "mihash"]} in content["spread"]
    assert re.search(r"^mAP@1000\[retrieved\] +none +1 of 1, left out ", str(undefined), re.M)


def test_per_query_values(tmp_path):
    path = tmp_path / "values.csv"
    found(metrics=["mAP", "AUPRC[area]", "precision@r1"], convention="hashnet").write_per_query(path)
    assert path.read_text() == "query,ranking,mAP,precision@r1\n0,hamming,0.833333333,0.5\n1,hamming,,0\n"
    values = np.genfromtxt(path, delimiter=",", skip_header=1)
    assert np.nanmean(values[:, 2]) == pytest.approx(5 / 6)


def test_it_is_printed_as_the_str():
    evaluation = found(metrics=["mAP", "AUPRC[area]"], spread=True)
    assert repr(evaluation) == str(evaluation) == str(evaluation)
    assert len(repr(evaluation).split("\n")) < 30


def test_undefined_queries_are_counted_under_either_treatment():
    names = ["mAP", "precision@r0", "precision_micro@r0", "AUPRC[area]"]
    for convention in ("protocol", "hashnet"):
        assert found(metrics=names, convention=convention).undefined == dict(zip(names, (1, 0, 0, 0), strict=True))
    names = ["mAP@1[retrieved]", "precision@r0", "precision_micro@r0"]
    nothing = evaluate([[0, 0], [0, 0]], [[1, 0], [1, 1]], query_labels=[1, 1], database_labels=[2, 1], metrics=names)
    assert nothing.undefined == dict.fromkeys(names, 2)
    assert re.search("^precision_micro@r0 +0.0000  2 of 2, counted as 0 ", str(nothing), re.M)


def test_the_range_of_the_spread_is_that_of_the_values_with_a_convention():
    """The cutoffs with all relevant items in the denominator are called mAP by no convention."""
    bits, labels = np.random.default_rng(0).random((1500, 8)) < 0.5, np.zeros(1500, int)
    evaluation = evaluate(bits[:3], bits, query_labels=labels[:3], database_labels=labels, spread=True)
    named = [row.value for row in evaluation.spread if row.conventions]
    others = {row.metric: row.value for row in evaluation.spread if not row.conventions}
    assert min(others.values()) < min(named)
    assert "mAP@1000[all]" in others
    assert f"a convention calls mAP, from {min(named):.4f} to {max(named):.4f}:" in str(evaluation)


def test_html_has_the_cells_of_the_table_and_escapes_everything():
    from html.parser import HTMLParser

    evaluation = found(convention="mihash", spread=True, binarize="sign")
    page = evaluation._repr_html_()
    texts, parser = [], HTMLParser()
    parser.handle_data = texts.append
    parser.feed(page)
    shown = " ".join(" ".join(texts).split())
    for line in repr(evaluation).split("\n"):
        for cell in re.split("  +", line.strip()):
            assert cell in shown
    assert page.count("<table>") == page.count("</table>") == 2
    risky = dataclasses.replace(evaluation, spread=tuple(row._replace(metric="<script>&") for row in evaluation.spread))
    assert "&lt;script&gt;&amp;" in risky._repr_html_()
    assert "<script>" not in risky._repr_html_()


def test_a_data_frame_has_a_row_for_each_metric_with_its_identity():
    evaluation = found(metrics=["mAP", "precision@r1"], convention="hashnet", dataset="digits", name="mine")
    frame = evaluation.to_frame()
    assert frame["metric"].tolist() == ["mAP", "precision@r1"]
    assert frame["value"].tolist() == list(evaluation.metrics.values())
    assert frame["undefined"].tolist() == [1, 0]
    assert frame["empty"].tolist() == ["drop", "zero"]
    assert {*identity.SCORE, *identity.NOTED, "name", "binarize"} <= set(frame.columns)
    assert set(frame["dataset"]) == {"digits"}
    assert set(frame["version"]) == {__version__}


def test_json_is_the_text_that_is_written(tmp_path):
    evaluation = found(binarize="median", spread=True)
    evaluation.write_json(tmp_path / "means.json")
    assert (tmp_path / "means.json").read_text() == evaluation.to_json() + "\n"
    assert json.loads(evaluation.to_json())["binarize"] == "median"


def test_the_plot_has_a_point_for_each_radius_and_average():
    evaluation = found(name="mine")
    chart = evaluation.plot().to_dict()
    points = chart["data"]["values"]
    assert len(points) == 2 * 3
    for average, curve in evaluation.pr_curves.items():
        drawn = [point["precision"] for point in points if point["average"] == average]
        np.testing.assert_array_equal(drawn, curve.precision)
    assert chart["title"] == "mine"
    assert evaluation.plot("precision-recall").to_dict()["data"] == chart["data"]
    with pytest.raises(ProtocolError, match=r"plot: expected .*precision-recall.*, got 'roc'"):
        evaluation.plot("roc")
