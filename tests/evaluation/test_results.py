import hashlib
import json
import re

import numpy as np
import pytest
from encoded import evaluated, refuses

from protocol import __version__, registry
from protocol.evaluation import Nearest, bucket_search, evaluate
from protocol.quantisers import quantisation
from protocol.truth.relevance import LabelRelevance, labels_sha256

LABELS = {"query_labels": [7, 99], "database_labels": [7, 8, 7]}
CODES = ([[0, 0], [0, 1]], [[0, 0], [0, 1], [1, 1]])


def evaluated_codes(**options):
    names = {name: options.pop(name) for name in ("name", "dataset", "split") if name in options}
    return evaluated(*CODES, **LABELS, **options).named(**names)


def sha256_of(n_bits, *packed):
    """Return the digest of codes of a byte each."""
    content = hashlib.sha256(bytes(packed)).hexdigest()
    array = hashlib.sha256(f"|u1 ({len(packed)}, 1) {content}".encode()).hexdigest()
    return hashlib.sha256(f"{n_bits} {array}".encode()).hexdigest()


def test_the_table_states_every_convention():
    names = ["mAP", "mAP[worst]", "nDCG[linear,best]", "nDCG[linear]", "AUPRC[area]", "nDCG[linear,worst]"]
    text = str(evaluated_codes(metrics=names, convention="hashnet"))
    head, numbers, differences = text.split("\n\n")
    assert head.startswith("2 queries, 3 database items, 2 bits\n1 of 2 queries has no relevant item; query labels ")
    assert "\nconvention hashnet: mAP divided by" in head
    rows = [re.split("  +", line) for line in numbers.split("\n")]
    assert rows[:3] == [
        ["metric", "mean", "ties", "denominator", "undefined"],
        ["mAP", "0.8333", "expected value", "all relevant items", "1 left out"],
        ["mAP[worst]", "0.8333", "relevant items last", "all relevant items", "1 left out"],
    ]
    assert rows[3][:3] == ["nDCG[linear]", "0.4599", "no effect"]
    assert [row[0] for row in rows if row[0]] == ["metric", "mAP", "mAP[worst]", "nDCG[linear]", "AUPRC[area]"]
    assert differences.startswith("not copied from the original:\n  Ties are ordered by an unstable sort")


def test_every_metric_and_every_table_is_printed_in_100_columns(tmp_path):
    codes, labels = np.arange(400).reshape(20, 20) % 7 < 3, np.arange(20) % 4
    every = evaluate(codes, codes, query_labels=labels, database_labels=labels, metrics="all")
    vectors = np.random.default_rng(0).normal(size=(20, 20))
    results = [every, every.spread(), every.without([0]), every.to_trec(tmp_path)]
    results.append(quantisation(Nearest(vectors, vectors, [1, 2, 5, 10], "cosine"), metrics="all"))
    results.append(bucket_search(codes, codes, ["4x4", "2x2"], query_labels=labels, database_labels=labels))
    lines = [line for result in results for line in str(result).split("\n")]
    assert max(map(len, lines)) <= 100
    names = {line.split()[0] for line in str(every).split("\n") if line}
    assert {name for name in every.metrics if "worst]" not in name and "best]" not in name} <= names


def test_json_has_the_means_and_their_metadata(tmp_path):
    path = tmp_path / "means.json"
    evaluation = evaluated_codes(metrics=["mAP", "AUPRC[area]"], dataset="digits", split="improved", binarize="sign")
    evaluation.write_json(path)
    assert path.read_text() == evaluation.to_json() + "\n"
    assert json.loads(path.read_text()) == {
        "name": None,
        "supervision": None,
        "dataset": "digits",
        "ground_truth": None,
        "relevance": "class labels",
        "split": "improved",
        "n_queries": 2,
        "n_database": 3,
        "n_bits": 2,
        "ranking": "hamming",
        "binarize": "sign",
        "convention": "default",
        "ground_truth_sha256": evaluated_codes().ground_truth_sha256,
        "version": __version__,
        "queries_without_relevant": 1,
        "labels_not_in_database": [99],
        "relevant_per_query": [0, 2],
        "levels": [1, 1],
        "metrics": {"mAP": pytest.approx(5 / 12), "AUPRC[area]": pytest.approx(23 / 60)},
        "n_undefined": {"mAP": 1, "AUPRC[area]": 0},
        "undefined": {"mAP": "zero", "AUPRC[area]": "zero"},
        "ties": {name: registry.METRICS.entry(name).ties for name in ("mAP", "AUPRC[area]")},
        "codes_sha256": {"query": sha256_of(2, 0b00, 0b10), "database": sha256_of(2, 0b00, 0b10, 0b11)},
        "labels_sha256": labels_sha256(LabelRelevance([7, 99], [7, 8, 7])),
    }
    assert [file.name for file in tmp_path.iterdir()] == ["means.json"]


def test_per_query_values(tmp_path):
    path = tmp_path / "values.csv"
    evaluated_codes(metrics=["mAP", "AUPRC[area]", "precision@r1"], convention="hashnet").write_per_query(path)
    assert path.read_text() == "query,ranking,mAP,precision@r1\n0,hamming,0.833333333,0.5\n1,hamming,,0\n"
    values = np.genfromtxt(path, delimiter=",", skip_header=1)
    assert np.nanmean(values[:, 2]) == pytest.approx(5 / 6)


def test_the_plot_has_a_point_for_each_radius():
    evaluation = evaluated_codes(name="mine")
    chart = evaluation.plot().to_dict()
    points = chart["data"]["values"]
    curve = evaluation.pr_curves["micro"]
    assert [point["radius"] for point in points] == [radius for radius in range(3) if curve.recall[radius] >= 0.001]
    assert [point["precision"] for point in points] == [curve.precision[point["radius"]] for point in points]
    assert {point["method"] for point in points} == {"mine"}
    assert evaluation.plot("precision-recall").to_dict()["data"] == chart["data"]
    refuses(r"plot must be precision-recall, precision@K or recall@K, got", evaluation.plot, "roc")


def test_precision_and_recall_of_the_top_k():
    """The first query's items are relevant, not, relevant, in this order; the second query has no relevant item."""
    evaluation = evaluated_codes(name="mine")
    for name, values in (("precision", [1 / 2, 1 / 4, 1 / 3]), ("recall", [1 / 4, 1 / 4, 1 / 2])):
        chart = evaluation.plot(f"{name}@K").to_dict()
        assert (chart["title"], chart["mark"]["type"]) == (f"{name.capitalize()} of the top K items", "line")
        points = [{"K": k, name: pytest.approx(value)} for k, value in enumerate(values, 1)]
        assert [{key: point[key] for key in ("K", name)} for point in chart["data"]["values"]] == points


@pytest.mark.parametrize(("second", "worst"), [([0, 0], "0.4583"), ([1, 0], "0.5833")], ids=["one code", "two codes"])
def test_map_alone_has_its_range_and_equal_query_codes_are_noted(second, worst):
    database, labels = [[0, 1], [1, 0], [0, 1]], {"query_labels": [0, 1], "database_labels": [0, 1, 1]}
    text = str(evaluate([[0, 0], second], database, **labels, metrics=["mAP"]))
    assert f"{worst} to 1.0000" in text
    assert ("all queries have the same code, so they have the same ranking" in text) == (second == [0, 0])


def test_a_map_like_that_of_exchanged_queries_and_more_queries_than_items_are_noted():
    labels = np.arange(120) % 5 % 3
    codes, sides = np.eye(3, dtype=np.int64)[labels], {"query_labels": labels, "metrics": ["mAP"]}
    tied = evaluate(np.zeros((120, 2)), np.zeros((120, 2)), database_labels=labels[::-1], **sides)
    mean = f"{tied.metrics['mAP']:.4f}"
    about = f"mAP {mean} is not clearly above that with the codes of the queries exchanged, {mean}: do the codes"
    assert about in " ".join(str(tied).split())
    assert "exchanged" not in str(evaluate(codes, codes, database_labels=labels, **sides))
    unequal = np.minimum(np.arange(400) % 9, 2)  # so that a random order is worse than another order of the queries
    order = np.random.default_rng(1).permutation(400)
    other = evaluate(np.eye(3)[unequal][order], np.eye(3)[unequal], query_labels=unequal, database_labels=unequal)
    assert "exchanged" in str(other)
    fewer = evaluate(codes, codes[:60], database_labels=labels[:60], **sides)
    assert "more queries than database items: are these swapped?" in str(fewer)
    assert "swapped" not in str(evaluate(codes, codes, database_labels=labels, **sides, leave_one_out=True))
