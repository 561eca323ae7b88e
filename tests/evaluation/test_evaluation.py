import numpy as np
import pytest
from encoded import evaluated

from protocol import codes, metrics
from protocol.checks import ProtocolError
from protocol.counting import count
from protocol.evaluation import CONVENTIONS, evaluate
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance

RNG = np.random.default_rng(0)
QUERY, DATABASE = RNG.random((6, 12)) < 0.5, RNG.random((50, 12)) < 0.5
OF_QUERY, OF_DATABASE = RNG.integers(0, 4, 6), RNG.integers(0, 3, 50)
LABELS = {"query_labels": OF_QUERY, "database_labels": OF_DATABASE}
METRICS = ["mAP", "mAP@5[retrieved]", "precision@r3", "AUPRC[area]"]


class Tensor:
    """A tensor of a framework, as NumPy sees it."""

    def __init__(self, array):
        self.array = np.asarray(array)

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


class TensorElsewhere:
    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy.\nUse Tensor.cpu() first.")


def test_evaluate_equals_counting_and_metrics():
    relevance = LabelRelevance(OF_QUERY, OF_DATABASE)
    counts = count(codes.pack(QUERY), codes.pack(DATABASE), 12, {"": relevance})[""]
    reference = metrics.evaluate(counts, METRICS)
    found = evaluate(QUERY, DATABASE, **LABELS, metrics=METRICS)
    assert (found.n_queries, found.n_database, found.n_bits, found.convention) == (6, 50, 12, "protocol")
    assert list(found.metrics) == list(found.per_query) == METRICS
    for name in METRICS:
        np.testing.assert_array_equal(found.per_query[name], reference[name])
        assert found.metrics[name] == metrics.mean(reference[name])


@pytest.mark.parametrize(
    "form",
    [
        lambda bits: np.where(bits, 1, -1),
        lambda bits: np.where(bits, 1, -1).astype(np.int8),
        lambda bits: Tensor(np.where(bits, 1.0, -1.0)),
        codes.pack,
        lambda bits: codes.pack(bits).astype(np.int64),
    ],
    ids=["signs", "int8", "tensor", "packed", "packed integers"],
)
def test_every_form_of_the_same_codes_gives_the_same(form):
    plain = evaluate(QUERY, DATABASE, **LABELS, metrics=METRICS).metrics
    assert evaluated(form(QUERY), form(DATABASE), **LABELS, metrics=METRICS, n_bits=12).metrics == plain


def test_big_endian_codes():
    packed = [np.packbits(bits, axis=1) for bits in (QUERY, DATABASE)]
    found = evaluated(*packed, **LABELS, metrics=METRICS, n_bits=12, bit_order="big")
    assert found.metrics == evaluate(QUERY, DATABASE, **LABELS, metrics=METRICS).metrics
    with pytest.raises(ProtocolError, match=r"query codes: expected zeros after bit 12, got ones\. Check n_bits\."):
        evaluated(*packed, **LABELS, n_bits=12)


@pytest.mark.parametrize("bit_order", ["little", "big"])
def test_one_bit_in_one_column_needs_no_guess(bit_order):
    query, database = [[1], [0]], np.array([[1], [0], [0]], dtype=np.uint8)
    one = {
        "query_labels": [1, 2],
        "database_labels": [1, 2, 2],
        "metrics": "mAP",
        "n_bits": 1,
        "bit_order": bit_order,
    }
    assert evaluated(query, database, **one).metrics == {"mAP": 1.0}
    assert evaluated(np.packbits(query, axis=1, bitorder=bit_order), database, **one).metrics == {"mAP": 1.0}


@pytest.mark.parametrize(
    "form",
    [
        lambda y: y[:, None],
        lambda y: y[None],
        lambda y: y.astype(float),
        lambda y: y[:, None].astype(float),
        lambda y: y.astype(np.uint8),
        lambda y: y.tolist(),
        lambda y: Tensor(y),
        lambda y: y[:, None] == np.arange(4),
        lambda y: (y[:, None] == np.arange(4)).astype(float),
    ],
    ids=["column", "row", "float", "MATLAB", "uint8", "list", "tensor", "matrix", "float matrix"],
)
def test_every_form_of_the_same_labels_gives_the_same(form):
    plain = evaluate(QUERY, DATABASE, **LABELS, metrics=METRICS).metrics
    same = {name: form(values) for name, values in LABELS.items()}
    assert evaluate(QUERY, DATABASE, **same, metrics=METRICS).metrics == plain


def test_every_form_of_the_same_relevance_gives_the_same():
    from scipy import sparse

    matrix = OF_QUERY[:, None] == OF_DATABASE
    lists = [np.flatnonzero(row) for row in matrix]
    ends = np.cumsum([0, *map(len, lists)])
    plain = evaluate(QUERY, DATABASE, **LABELS, metrics=METRICS).metrics
    for relevance in (
        sparse.csr_matrix(matrix),
        sparse.csc_array(matrix.astype(float)),
        lists,
        [row[::-1].tolist() for row in lists],
        NeighbourRelevance(ends, np.concatenate(lists), 50),
    ):
        assert evaluated(QUERY, DATABASE, relevance=relevance, metrics=METRICS).metrics == plain


def test_levels_of_a_sparse_matrix_and_a_matrix_of_neighbours():
    from scipy import sparse

    graded = evaluated([[0]], [[0], [1]], relevance=sparse.csr_matrix([[1, 3]]), metrics=["nDCG"]).metrics["nDCG"]
    gain, second = 1.0, 1 / np.log2(3)
    assert graded == pytest.approx((gain + 7 * second) / (7 + second))
    assert evaluated([[0]], [[0], [1]], relevance=np.array([[1]]), metrics=["mAP"]).metrics == {"mAP": 0.5}


def test_inputs_are_not_modified():
    from scipy import sparse

    matrix = sparse.csr_matrix(OF_QUERY[:, None] == OF_DATABASE)
    inputs = [QUERY.copy(), DATABASE.copy(), matrix.copy()]
    evaluated(QUERY, DATABASE, relevance=matrix)
    np.testing.assert_array_equal(QUERY, inputs[0])
    np.testing.assert_array_equal(DATABASE, inputs[1])
    np.testing.assert_array_equal(matrix.indices, inputs[2].indices)


@pytest.mark.parametrize("rules", CONVENTIONS, ids=lambda rules: rules.name)
@pytest.mark.parametrize("n_bits", [1, 2, 12])
def test_the_metrics_are_those_of_the_convention_with_a_radius_the_codes_have(rules, n_bits):
    found = evaluate(QUERY[:, :n_bits], DATABASE[:, :n_bits], **LABELS, convention=rules.name)
    left_out = [name for name in rules.metrics if name not in found.metrics]
    assert all(name.endswith("@r2") for name in left_out)
    assert bool(left_out) == (n_bits == 1 and any(name.endswith("@r2") for name in rules.metrics))


def test_a_single_metric_name_and_a_radius_beyond_the_code_length():
    assert list(evaluate(QUERY, DATABASE, **LABELS, metrics="mAP").metrics) == ["mAP"]
    with pytest.raises(
        ProtocolError, match=r"metric 'RAMAP@r13': expected a radius from 0 to 12, the code length, got 13\."
    ):
        evaluate(QUERY, DATABASE, **LABELS, metrics=["RAMAP@r13"])


def test_progress_reports_every_query():
    reported = []
    evaluate(QUERY, DATABASE, **LABELS, metrics=["mAP"], progress=lambda *seen: reported.append(seen))
    assert reported == sorted(reported)
    assert reported[-1] == (6, 6, "counting")


def test_threads_change_nothing():
    assert evaluate(QUERY, DATABASE, **LABELS, threads=2).metrics == evaluate(QUERY, DATABASE, **LABELS).metrics


def test_the_spread_lists_every_map_once_with_its_conventions():
    found = evaluate(
        [[0, 0], [0, 0]], [[0, 0], [0, 1], [1, 0]], query_labels=[7, 9], database_labels=[7, 8, 7], spread=True
    )
    by_row = {(row.metric, row.empty): row for row in found.spread}
    values = [row.value for row in found.spread]
    assert values == sorted(values, reverse=True)
    for name, value in (("mAP[best]", 1.0), ("mAP[worst]", 5 / 6), ("mAP[index]", 5 / 6), ("mAP", 11 / 12)):
        assert by_row[name, ("zero",)].value == pytest.approx(value / 2)
        assert by_row[name, ("drop",)].value == pytest.approx(value)
    assert by_row["mAP", ("zero",)].conventions == ("protocol", "talr", "mlgap", "deephash")
    assert by_row["mAP", ("drop",)].conventions == ("hashnet",)
    assert by_row["mAP[index]", ("drop",)].conventions == ("mihash",)
    assert by_row["mAP[index]", ("zero",)].conventions == ("thesis",)
    assert by_row["AUPRC[area]", ("zero", "drop")].conventions == ("habir",)
    assert not any("@" in row.metric for row in found.spread)
    assert evaluate(QUERY, DATABASE, **LABELS).spread == ()


def test_the_spread_has_the_cutoffs_that_the_database_reaches():
    database = RNG.random((1200, 4)) < 0.5
    labels = {"query_labels": OF_QUERY % 2, "database_labels": RNG.integers(0, 2, 1200)}
    rows = evaluate(QUERY[:, :4], database, **labels, spread=True).spread
    assert {row.metric for row in rows if "@" in row.metric} == {
        f"mAP@1000[{denominator}]" for denominator in ("all", "retrieved", "min")
    }
    assert len({row.metric for row in rows}) == len(rows), "nothing is undefined, so there is one row each"


def test_without_defined_queries_the_mean_is_nan():
    found = evaluate(
        [[0]],
        [[0]] * 1000 + [[1]],
        query_labels=[1],
        database_labels=[2] * 1000 + [1],
        convention="hashnet",
        metrics=["mAP@1000[retrieved]"],
        spread=True,
    )
    assert np.isnan(found.metrics["mAP@1000[retrieved]"])
    left_out = [row for row in found.spread if row.empty == ("drop",)]
    assert [row.metric for row in left_out if np.isnan(row.value)] == ["mAP@1000[retrieved]"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"query": QUERY * 0.3},
            'query codes: expected bits, .* got real values from 0 to 0.3. Choose .*binarize="sign" or "median"',
        ),
        (
            {"query": np.full((6, 12), np.nan)},
            "query codes: expected finite numbers, got NaN or infinity, first in row 0",
        ),
        (
            {"query": np.tile([-1, 0, 1], (6, 4))},
            'got -1, 0 and [+]1: 24 of 72 values are 0. binarize="sign" maps',
        ),
        ({"query": codes.pack(QUERY)}, "got values from .*. Packed codes need n_bits"),
        (
            {"query": QUERY[None]},
            r"query codes: expected a non-empty 2-D array \(n, n_bits\), got shape \(1, 6, 12\)",
        ),
        ({"query": QUERY[:0]}, r"query codes: expected a non-empty 2-D array .*got shape \(0, 12\)"),
        ({"query": TensorElsewhere()}, "query codes: .*TensorElsewhere \\(.* Use Tensor.cpu"),
        ({"query": [[0, 1], [0]]}, "query codes: expected an array, got list \\(.*inhomogeneous"),
        (
            {"query": None},
            "query codes are missing",
        ),
        ({"query": [["0", "1"]]}, "query codes: expected numbers, got dtype <U1"),
        ({"database": DATABASE[:, :11]}, "database codes: expected 12 bits as in the query codes, got 11"),
        ({"n_bits": 0}, "query codes: n_bits: expected an integer >= 1, got 0"),
        ({"n_bits": 11}, "query codes: expected 11 columns of bits, or 2 columns of packed integers, got 12 of bool"),
        ({"n_bits": 8}, "query codes: expected 8 columns of bits, or 1 column of packed integers, got 12 of bool"),
        (
            {"query": np.full((6, 2), 300), "n_bits": 12},
            "expected packed codes from 0 to 255, got values from 300",
        ),
        ({"bit_order": "middle"}, "bit_order: expected .*, got 'middle'"),
        ({"query_labels": OF_QUERY[:5]}, "query labels: 5 labels for 6 items"),
        ({"query_labels": OF_QUERY + 0.5}, r"query labels: expected integers, got \d.5"),
        ({"query_labels": np.full(6, np.nan)}, "query labels: expected integers, got nan"),
        ({"query_labels": np.full(6, 1e300)}, "query labels: expected integers up to .*, got 1e[+]300"),
        ({"query_labels": np.full((6, 3), 2)}, "query labels: expected a matrix of 0 and 1, got values from 2 to 2"),
        (
            {"query_labels": np.zeros((6, 3))},
            "database labels: expected 3 columns as in the query labels, got one integer per item",
        ),
        ({"query_labels": None}, "expected query labels and database labels, relevance, or .*, got database labels"),
        (
            {"query_labels": None, "database_labels": None},
            "ground truth: .* relevance, or query vectors and database vectors, got none",
        ),
        ({"relevance": [[0]] * 6}, "got query labels and database labels and relevance"),
        ({"metrics": ["mAP", "mAQ"]}, "metric: expected .*, got 'mAQ'"),
        ({"convention": "none"}, "convention: expected .*, got 'none'"),
    ],
)
def test_refusals(change, message):
    good = {"query": QUERY, "database": DATABASE, **LABELS}
    with pytest.raises(ProtocolError, match=message) as refused:
        evaluated(**good | change)
    assert "\n" not in str(refused.value)


def csr(indptr=(0, 1, 2), indices=(0, 1), data=(1, 1), shape=(2, 3)):
    class Rows:
        def tocsr(self):
            return self

    rows = Rows()
    rows.indptr, rows.indices, rows.data = (np.asarray(part) for part in (indptr, indices, data))
    rows.shape = shape
    return rows


@pytest.mark.parametrize(
    ("relevance", "message"),
    [
        ([[0]], "relevance: expected a list of neighbours for each of 2 queries, got 1"),
        ([[0], [3]], "relevance: indices: expected row numbers from 0 to 2, got 0 to 3"),
        ([[0], [-1]], "relevance: indices: expected row numbers .* got -1 to 0"),
        ([[0], [1, 1]], "relevance: indices: expected distinct database positions in ascending order"),
        ([[0.5], [1]], "relevance: expected a Boolean matrix .* or lists of database positions, got other values"),
        ([[[0]], [[1]]], "relevance: expected a Boolean matrix .* or lists of database positions"),
        (3, "relevance: expected a list of neighbours for each query, got int"),
        (csr(shape=(3, 3)), r"relevance: expected shape \(n_queries, n_database\) = \(2, 3\), got \(3, 3\)"),
        (csr(indptr=(0, 2)), "relevance: expected n_queries [+] 1 = 3 integers as indptr, got 2"),
        (csr(indptr=(0, 2, 1)), "relevance: indptr: expected ascending integers from 0 to 2"),
        (csr(indptr=np.array([0, 2**32 - 1, 2], dtype=np.uint32)), "relevance: indptr: expected ascending integers"),
        (csr(indices=(0, 9)), "relevance: indices: expected row numbers from 0 to 2, got 0 to 9"),
        (csr(indices=(0.0, 1.0)), r"relevance: expected integers as indices, got shape \(2,\) of float64"),
        (csr(data=(1, 0.5)), "relevance: expected an integer as the level of each of 2 pairs"),
        (csr(data=(1,)), "relevance: expected an integer as the level of each of 2 pairs"),
        (
            csr(data=(1, 0)),
            "relevance: expected levels from 1 to 255, larger for more relevant .* got levels from 0 to 1",
        ),
    ],
)
def test_refused_relevance(relevance, message):
    with pytest.raises(ProtocolError, match=message):
        evaluated([[0], [1]], [[0], [1], [1]], relevance=relevance)
    assert evaluated([[0], [1]], [[0], [1], [1]], relevance=csr(), metrics="mAP").metrics["mAP"] > 0
