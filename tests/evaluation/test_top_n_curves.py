import csv

import numpy as np
import pytest

from protocol.cli import main
from protocol.evaluation import evaluate

CODES = ([[0, 0], [0, 1]], [[0, 0], [0, 1], [1, 1]])
LABELS = {"query_labels": [7, 99], "database_labels": [7, 8, 7]}


def test_precision_and_recall_of_the_top_n(tmp_path):
    """The first query's items are relevant, not, relevant, in this order; the second query has no relevant item."""
    found = evaluate(*CODES, **LABELS)
    assert found.top_n.n.tolist() == [1, 2, 3]
    assert found.top_n.precision.tolist() == pytest.approx([1 / 2, 1 / 4, 1 / 3])
    assert found.top_n.recall.tolist() == pytest.approx([1 / 4, 1 / 4, 1 / 2])
    found.write_top_n_curves(tmp_path / "curves.csv")
    expected = "n,ranking,precision,recall\n1,hamming,0.5,0.25\n2,hamming,0.25,0.25\n3,hamming,0.333333333,0.5\n"
    assert (tmp_path / "curves.csv").read_text() == expected


@pytest.mark.parametrize("values", ["precision", "recall"])
def test_figures_show_the_curves(values):
    found = evaluate(*CODES, **LABELS).named("mine")
    chart = found.plot(f"{values}@N").to_dict()
    assert chart["title"] == "mine"
    assert chart["mark"]["type"] == "line"
    assert chart["data"]["values"] == [
        {"N": n, values: value} for n, value in zip([1, 2, 3], getattr(found.top_n, values), strict=True)
    ]


def test_a_tie_is_linear_in_n():
    """Four items at one distance, two of them relevant, then one."""
    found = evaluate(
        [[0, 0]],
        [[0, 1], [0, 1], [0, 1], [0, 1], [1, 1]],
        query_labels=[1],
        database_labels=[1, 1, 2, 2, 1],
    )
    np.testing.assert_allclose(found.top_n.precision, [1 / 2, 1 / 2, 1 / 2, 1 / 2, 3 / 5])
    np.testing.assert_allclose(found.top_n.recall, [1 / 6, 1 / 3, 1 / 2, 2 / 3, 1])


def test_the_command_writes_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    command = ["evaluate"]
    for side, n in (("query", 5), ("database", 300)):
        np.save(f"{side}.npy", rng.random((n, 8)) < 0.5)
        np.save(f"{side}_labels.npy", rng.integers(0, 3, n))
        command += [f"--{side}-codes", f"{side}.npy", f"--{side}-labels", f"{side}_labels.npy"]
    assert main([*command, "--metric", "P@70", "R@300", "--json", "out.json", "--top-n-curves", "new/curves.csv"]) == 0
    with open("new/curves.csv", newline="") as file:
        rows = [tuple(float(row[name]) for name in ("n", "precision", "recall")) for row in csv.DictReader(file)]
    assert [row[0] for row in rows] == [*range(1, 101), *range(110, 301, 10)]
    assert rows[-1][2] == pytest.approx(1)
