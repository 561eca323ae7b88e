"""Queries that are the database items, compared with a call for each query on the database without its row."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from encoded import refuses
from scipy import sparse

from protocol import metrics
from protocol.comparison import compare
from protocol.counting import HammingCounts
from protocol.evaluation import Codes, Judgments, Labels, Nearest, Outputs, Relevant, evaluate
from protocol.verification import verify

PER_QUERY = ("retrieved", "index_precisions", "index_top")
N, N_BITS = 24, 4  # at most 16 codes, so that most items are tied
RNG = np.random.default_rng(7)
CODES = RNG.random((N, N_BITS)) < 0.35
CODES[:3] = CODES[3]  # more items with one code
OUTPUTS = np.where(CODES, 1, -1) * RNG.integers(1, 4, CODES.shape) / 2  # of few magnitudes: ties in the scores
CLASSES = RNG.integers(0, 6, N)
CLASSES[9] = 99  # no other item is relevant
OWN = {"query_labels": CLASSES, "database_labels": CLASSES}
SETS = RNG.random((N, 6)) < 0.3
SETS[4] = False  # not relevant to itself
GRADED = RNG.integers(0, 4, (N, N)) * (RNG.random((N, N)) < 0.3)
GRADED[5] = 0
GRADED[5, 5] = 2  # relevant to itself only
VECTORS = RNG.integers(-2, 3, (N, 3)) + 0.5  # many equal distances


def judged(folder, levels, items):
    """Judgments of all queries about the items, whose ids are their rows."""
    lines = (f"q{q} 0 d{d} {levels[q, d]}\n" for q, d in itertools.product(range(N), items) if levels[q, d])
    (folder / "qrels").write_text("".join(lines))
    return Judgments(folder / "qrels", [f"q{q}" for q in range(N)], [f"d{d}" for d in items])


TRUTHS = {
    "class labels": lambda _, items: Labels(CLASSES, CLASSES[items]),
    "shared labels": lambda _, items: Labels(SETS, SETS[items]),
    "lists": lambda _, items: Relevant(GRADED[:, items] > 1),
    "levels": lambda _, items: Relevant(sparse.csr_array(GRADED[:, items])),
    "judgments": lambda folder, items: judged(folder, GRADED, items),
    "euclidean": lambda _, items: Nearest(VECTORS, VECTORS[items], k=[1, 3], distance="euclidean"),
    "cosine": lambda _, items: Nearest(VECTORS, VECTORS[items], k=[2, 5]),
    "dot": lambda _, items: Nearest(VECTORS, VECTORS[items], k=[1, 3], distance="dot"),
}


def of_rows(parts, name):
    """Row i of an array of the counts of the i-th part, padded to equal widths and all levels."""
    arrays = []
    for row, part in enumerate(parts):
        array = getattr(part, name)[row]
        if name == "at_level":
            full = np.zeros((9, array.shape[-1]), dtype=np.int64)
            full[part.levels - 1] = array
            array = full
        arrays.append(array)
    return np.stack(arrays)


@pytest.mark.parametrize(
    ("name", "ranking"),
    [*itertools.product(TRUTHS, ["hamming"]), *itertools.product(["class labels", "levels", "dot"], ["asymmetric"])],
)
def test_every_value_is_that_of_the_database_without_the_row_of_the_query(tmp_path, name, ranking):
    query = CODES if ranking == "hamming" else Outputs(OUTPUTS)
    if name == "shared labels":  # an item may have another code as a query
        query = np.roll(CODES, 5, axis=0)
    options = {"metrics": ["all", "P@1", "nDCG@5", "mAP@7[retrieved]", "mAP@7[min]"]}
    if name in ("euclidean", "dot"):
        options["metrics"].append("neighbours@2")
    result = evaluate(query, CODES, truth=TRUTHS[name](tmp_path, np.arange(N)), leave_one_out=True, **options)
    parts = []
    for row in range(N):
        others = np.delete(np.arange(N), row)
        parts.append(evaluate(query, CODES[others], truth=TRUTHS[name](tmp_path, others), **options))
        assert parts[-1].n_database == result.n_database == N - 1
    of_buckets = {"entropy", "collision", "largest_bucket", "utilisation", "mLGAP@r0", "mLGAP@r1", "mLGAP@r2"}
    assert set(parts[0].metrics) - set(result.metrics) == (of_buckets if ranking == "hamming" else set())
    assert len(result.metrics) > 15
    pooled = set()
    for metric, values in result.per_query.items():
        if values.size == N:
            expected = [part.per_query[metric][row] for row, part in enumerate(parts)]
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12, err_msg=metric)
            undefined = [part.is_undefined[metric][row] for row, part in enumerate(parts)]
            np.testing.assert_array_equal(result.is_undefined[metric], undefined, err_msg=metric)
        else:
            pooled.add(metric)
    np.testing.assert_array_equal(result.n_relevant, [part.n_relevant[row] for row, part in enumerate(parts)])
    levels = np.concatenate([part.truth.relevance.row(row)[1] for row, part in enumerate(parts)])
    assert result.levels == (levels.min(), levels.max())
    if ranking == "hamming":
        of_parts = [part.counts for part in parts]
        arrays = {one: of_rows(of_parts, one) for one in PER_QUERY}
        joined = HammingCounts(**arrays, at_level=of_rows(of_parts, "at_level"), levels=np.arange(1, 10))
        assert {"nDCG[database-order]", "nDCG[linear,database-order]"} <= set(result.metrics)
        assert pooled
        for metric in pooled:
            expected = metrics.evaluate(joined, [metric])[metric]
            np.testing.assert_allclose(result.per_query[metric], expected, rtol=0, atol=1e-12, err_msg=metric)
        for average, curve in result.pr_curves.items():
            np.testing.assert_allclose(curve, metrics.pr_curve(joined, average=average), rtol=0, atol=1e-12)
        np.testing.assert_allclose(result.top_k, metrics.top_k_curve(joined), rtol=0, atol=1e-12)
        for row in result.spread().rows:
            expected = metrics.mean(metrics.evaluate(joined, [row.metric], undefined=row.undefined[0])[row.metric])
            assert row.value == pytest.approx(expected, rel=0, abs=1e-12)
    assert result.spread().rows


def test_own_items_with_another_code_are_counted():
    text = str(evaluate(~CODES, CODES ^ (np.arange(N) < 3)[:, None], **OWN, leave_one_out=True))
    assert f"own row is left out of the {N} database items; rows with another code as a query: {N - 3}" in text


def test_the_trec_files_lack_the_own_items(tmp_path):
    result = evaluate(CODES, CODES, **OWN, leave_one_out=True)
    written = result.to_trec(tmp_path)
    ranked, judged_items = (
        {tuple(line.split()[column] for column in (0, 2)) for line in (tmp_path / name).read_text().splitlines()}
        for name in ("run", "qrels")
    )
    pairs = {(f"q{q:06d}", f"d{d:07d}") for q, d in itertools.product(range(N), repeat=2) if q != d}
    assert ranked == pairs
    assert judged_items <= pairs
    assert len({query for query, _ in judged_items}) == N
    assert (written.depth, written.metric) == (N - 1, "mAP")
    assert written.expected == result.metrics["mAP"]


NOTE = (
    "each query finds itself first, unless protocol evaluate --leave-one-out (Python: leave_one_out=True) leaves it out"
)


def test_queries_with_the_codes_and_labels_of_the_database_are_noted():
    result, left_out = (evaluate(CODES, CODES.copy(), **OWN, leave_one_out=each) for each in (False, True))
    assert json.loads(result.to_json())["queries_are_database"] is True
    assert json.loads(left_out.to_json())["leave_one_out"] is True
    assert NOTE in result.parts()[0].split("\n")[1]
    assert left_out.parts()[0].split("\n")[2] == "each query's own row is left out of the 24 database items"
    by_lists = evaluate(Codes(CODES), CODES, truth=Relevant(GRADED > 0))
    assert "the queries have the codes of the database items: each query" in by_lists.parts()[0]
    assert evaluate(Outputs(OUTPUTS), CODES, **OWN).queries_are_database


def test_scores_with_and_without_the_own_items_are_not_compared():
    one, other = (
        evaluate(CODES, CODES, **OWN, metrics="mAP", leave_one_out=each).named("mine") for each in (False, True)
    )
    assert one.ground_truth_sha256 != other.ground_truth_sha256
    assert other.n_database == N - 1
    refuses(r"differ in n_database \(24; 23\)", compare, one, replace(other, name="other"))


def test_a_record_is_verified_with_the_option(tmp_path):
    path = tmp_path / "mine.json"
    result = evaluate(CODES, CODES, **OWN, metrics=["mAP", "nDCG"], leave_one_out=True)
    result.write_json(path, result.spread())
    assert verify(path, CODES, CODES, **OWN).holds
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"leave_one_out": False}))
    assert "mAP" in {failure.subject for failure in verify(path, CODES, CODES, **OWN).failures}
