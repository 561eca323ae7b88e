"""The ranking of an evaluation: requested by name, named in every result, refused where it has no radius."""

import json

import numpy as np
import pandas as pd
import pytest
from encoded import evaluated, message_of

from protocol import registry
from protocol.counting import asymmetric
from protocol.evaluation import Codes, Outputs, bucket_search, evaluate
from protocol.scores.metadata import RANKINGS
from protocol.truth import DISTANCES

RNG = np.random.default_rng(0)
QUERY, DATABASE = RNG.normal(size=(12, 24)).astype(np.float32), RNG.normal(size=(90, 24)).astype(np.float32)
LABELS = {"query_labels": RNG.integers(0, 4, 12), "database_labels": RNG.integers(0, 3, 90)}


def asymmetric_scores(query=QUERY, database=DATABASE, **more):
    inputs = {"binarize": "sign", "ranking": "asymmetric"} | LABELS | more
    return evaluated(query, database, **inputs)


def precisions_by_sorting(query, database, thresholds, cutoff):
    """Return mAP@K[retrieved] of a plain sort, as the scripts of deep hashing compute it."""
    scores = (query.astype(np.float64) - thresholds) @ np.where(database > thresholds, 1.0, -1.0).T
    first = np.argsort(-scores, axis=1, kind="stable")[:, :cutoff]
    relevant = LABELS["database_labels"][first] == LABELS["query_labels"][:, None]
    sums = (relevant.cumsum(axis=1) / np.arange(1, cutoff + 1) * relevant).sum(axis=1)
    return sums / np.maximum(relevant.sum(axis=1), 1)


@pytest.mark.parametrize("binarize", ["sign", "median"])
def test_it_is_a_plain_sort_by_the_inner_product(binarize):
    thresholds = np.median(DATABASE.astype(np.float64), axis=0) if binarize == "median" else np.zeros(24)
    result = asymmetric_scores(binarize=binarize, metrics=["mAP@20[retrieved]"])
    expected = precisions_by_sorting(QUERY, DATABASE, thresholds, 20)
    np.testing.assert_allclose(result.per_query["mAP@20[retrieved]"], expected, rtol=1e-12)
    inputs = asymmetric_scores(QUERY - thresholds, DATABASE - thresholds, metrics=["mAP@20[retrieved]"])
    np.testing.assert_array_equal(inputs.per_query["mAP@20[retrieved]"], result.per_query["mAP@20[retrieved]"])


@pytest.mark.parametrize("ranking", RANKINGS[1:])
def test_queries_of_minus_and_plus_one_give_every_number_of_the_hamming_ranking(monkeypatch, ranking):
    monkeypatch.setattr(asymmetric, "_BLOCK_BYTES", 8 * 90 * 3 * 5)  # three blocks
    signs = np.where(QUERY > 0, 1, -1)
    for convention in ("default", "hashnet"):
        of_codes = evaluate(signs, DATABASE > 0, **LABELS, metrics="all", convention=convention)
        database = DATABASE > 0 if ranking == "asymmetric" else np.where(DATABASE > 0, 1, -1)
        options = {"metrics": "all", "convention": convention, "ranking": ranking}
        result = evaluated(signs, database, **options, **LABELS)
        on_ranking = [name for name in of_codes.metrics if registry.METRICS.entry(name).defined_on == "ranking"]
        assert list(result.metrics) == list(result.per_query) == list(result.n_undefined) == on_ranking
        assert len(on_ranking) > 15
        for name in on_ranking:
            np.testing.assert_allclose(result.per_query[name], of_codes.per_query[name], rtol=1e-12, atol=1e-15)
            assert result.n_undefined[name] == of_codes.n_undefined[name]
        for one, other in zip(result.top_k, of_codes.top_k, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        same = ("levels", "queries_without_relevant", "relevant_per_query", "ground_truth_sha256")
        assert [getattr(result, name) for name in same] == [getattr(of_codes, name) for name in same]
        by_metric = {(row.metric, row.undefined): row for row in of_codes.spread().rows if row.metric != "AUPRC[area]"}
        assert {(row.metric, row.undefined): (row.conventions, row.value) for row in result.spread().rows} == {
            key: (row.conventions, pytest.approx(row.value, rel=1e-12)) for key, row in by_metric.items()
        }


@pytest.mark.parametrize(
    ("ranking", "distances"),
    [
        ("euclidean", lambda q, d: ((q[:, None] - d) ** 2).sum(axis=2)),
        ("cosine", lambda q, d: -(q @ d.T) / np.linalg.norm(d, axis=1)),
        ("dot", lambda q, d: -(q @ d.T)),
    ],
)
def test_vectors_are_ranked_by_a_plain_sort_of_their_distances(monkeypatch, ranking, distances):
    monkeypatch.setattr(asymmetric, "_BLOCK_BYTES", 8 * 90 * 3 * 5)  # three blocks
    result = evaluated(QUERY, DATABASE, ranking=ranking, metrics=["mAP"], **LABELS)
    order = np.argsort(distances(QUERY.astype(np.float64), DATABASE.astype(np.float64)), axis=1)
    relevant = LABELS["database_labels"][order] == LABELS["query_labels"][:, None]
    sums = (relevant.cumsum(axis=1) / np.arange(1, 91) * relevant).sum(axis=1)
    np.testing.assert_allclose(result.per_query["mAP"], sums / np.maximum(relevant.sum(axis=1), 1), rtol=1e-12)
    assert result.n_bits == 24 * 32


def test_every_result_names_the_ranking(tmp_path):
    for ranking in ("hamming", "asymmetric"):
        result = asymmetric_scores(ranking=ranking, metrics=["mAP", "P@5"])
        assert result.ranking == ranking
        assert ("; asymmetric ranking" in repr(result).split("\n")[0]) == (ranking == "asymmetric")
        assert json.loads(result.to_json())["ranking"] == ranking
        result.write_per_query(tmp_path / "values.csv")
        table = pd.read_csv(tmp_path / "values.csv")
        assert list(table)[:2] == ["query", "ranking"]
        assert set(table["ranking"]) == {ranking}
    (point, *_) = result.plot("precision@K").to_dict()["data"]["values"]
    assert point["method"] == f"mAP {result.metrics['mAP']:.4f} (asymmetric)"
    assert "24 bits, database binarised by sign; asymmetric ranking\n" in repr(result)
    assert "24 bits; asymmetric ranking\n" in repr(asymmetric_scores(QUERY, DATABASE > 0, binarize=None))


def test_the_names_of_rankings_are_those_of_the_distances():
    assert ("hamming", "asymmetric", *sorted(DISTANCES, key=RANKINGS.index)) == RANKINGS


def test_what_needs_distances_is_refused(tmp_path):
    result = asymmetric_scores(metrics=["mAP"])
    assert result.pr_curves == {}
    folder, tables, real = tmp_path / "folder", "4x2", Outputs(QUERY)
    for call, message in (
        (lambda: result.to_trec(folder), "trec needs Hamming distances, which the asymmetric ranking does"),
        (lambda: bucket_search(real, DATABASE > 0, tables, **LABELS), "tables needs binary codes of the quer"),
        (lambda: evaluate(Outputs(QUERY, "dot"), Codes(DATABASE, binarize="sign")), "binarize and n_bits are of codes"),
        (lambda: evaluate(Outputs(QUERY, "dot"), DATABASE[:, 1:]), "database codes: 23 values, but the query codes"),
        (lambda: Outputs(QUERY, "dott"), "ranking must be asymmetric, cosine, dot or euclidean, got 'dott'"),
        (lambda: evaluate(QUERY > 0, Outputs(DATABASE), **LABELS), "Outputs are only for queries. Pass the database"),
        (result.plot, "plot 'precision-recall' needs the Hamming radius, which the asymmetric ranking does not have."),
    ):
        assert message_of(call).startswith(message)
    assert not list(tmp_path.iterdir())
