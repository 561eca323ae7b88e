"""The metrics that papers report and that were missing."""

import json

import numpy as np
import pytest
from encoded import yaml_of

import protocol as hp
from protocol.cli import main

METRICS = yaml_of("cases/values.yaml")["metrics"]


def scored(metrics, **options):
    query, database, *labels = (np.load(f"{name}.npy") for name in ("q", "d", "ql", "dl"))
    found = hp.evaluate(query, database, query_labels=labels[0], database_labels=labels[1], metrics=metrics, **options)
    return {name: np.nanmean(values) for name, values in found.per_query.items()}


@pytest.mark.case("16-missing-metrics")
def test_the_missing_metrics_with_ties_in_database_order(case):
    right = METRICS["missing"]
    assert scored(list(right)) == pytest.approx(right, abs=5e-7)


@pytest.mark.case("06-map-within-a-hamming-radius")
def test_map_within_a_hamming_radius(case):
    expected = {"mAP@r2[database-order]": 0.822053, "mAP@r2": 0.838097}
    assert scored([*expected]) == pytest.approx(expected, abs=5e-7)
    left_out = scored(["mAP@r2[database-order]"], convention="mihash")
    assert left_out["mAP@r2[database-order]"] == pytest.approx(0.835986, abs=5e-7)


@pytest.mark.case("29-gain-of-ndcg")
def test_ndcg_states_its_gain(case, capsys):
    right = METRICS["graded"]
    codes = ["--query-codes", "q.npy", "--database-codes", "d.npy"]
    truth = ["--relevance", "qrels.txt", "--query-ids", "qid.txt", "--database-ids", "did.txt"]
    assert main(["evaluate", *codes, *truth, "--metrics", *right, "--json", "out.json"]) == 0
    assert json.loads((case / "out.json").read_text())["metrics"] == pytest.approx(right, abs=5e-7)
    text = " ".join(capsys.readouterr().out.split())
    assert "gain: 2^level - 1" in text
    assert "gain: the level" in text
