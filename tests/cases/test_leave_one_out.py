"""Queries that are the database items."""

import itertools

import numpy as np
import pytest

from protocol.cli import main
from protocol.evaluation import evaluate

OPTIONS = [f"--{side}-{kind}={kind}.npy" for side in ("query", "database") for kind in ("codes", "labels")]


def precision(distances, relevant):
    """Mean average precision over all orders of the items that are orders of the ranking."""
    values = []
    for order in map(list, itertools.permutations(range(len(distances)))):
        if (np.diff(distances[order]) >= 0).all():
            ranks = np.flatnonzero(relevant[order]) + 1
            values.append((np.arange(1, ranks.size + 1) / ranks).mean())
    return np.mean(values)


@pytest.mark.case("17-queries-are-database-items")
def test_leaving_the_queries_out_of_their_rankings(case, capsys):
    codes, labels = np.load("codes.npy"), np.load("labels.npy")
    distances, relevant = (codes[:, None] != codes).sum(axis=2), labels[:, None] == labels
    others = ~np.eye(len(codes), dtype=bool)
    own = [precision(*rows) for rows in zip(distances, relevant, strict=True)]
    without = [precision(distances[row, others[row]], relevant[row, others[row]]) for row in range(len(codes))]
    assert (round(np.mean(own), 4), round(np.mean(without), 4)) == (0.9722, 0.9444)

    assert main(["evaluate", *OPTIONS, "--metrics", "mAP", "P@1"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "the queries are the database items: each query finds itself first" in printed
    assert (
        "`protocol evaluate --leave-one-out` (Python: leave_one_out=True) leaves each query out of its own ranking"
        in printed
    )
    assert "mAP 0.9722" in printed

    assert main(["evaluate", *OPTIONS, "--metrics", "mAP", "P@1", "--leave-one-out", "--per-query=values.csv"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "each query's own row is left out of the 6 database items" in printed
    assert "mAP 0.9444" in printed
    of_queries = np.loadtxt("values.csv", delimiter=",", skiprows=1, usecols=2)
    np.testing.assert_allclose(of_queries, without, rtol=0, atol=1e-9)
    result = evaluate(codes, codes, query_labels=labels, database_labels=labels, metrics="mAP", leave_one_out=True)
    np.testing.assert_allclose(result.per_query["mAP"], without, rtol=0, atol=1e-12)
