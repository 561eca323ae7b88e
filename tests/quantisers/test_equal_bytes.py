"""Representations at equal bytes, and re-ranking by a quantiser: slow loops, the answer in words, and errors."""

import itertools
import json
import tracemalloc
from statistics import NormalDist

import numpy as np
import pytest

from protocol.evaluation import Nearest, Outputs
from protocol.quantisers import Rescoring, quantisation, rescoring
from protocol.quantisers.int8 import Int8
from protocol.quantisers.rescoring import _returned
from protocol.truth import nearest

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(8, 16))
QUERY, DATABASE = (
    (CENTRES[RNG.integers(0, 8, n)] + 0.7 * RNG.normal(size=(n, 16))).astype(np.float32) for n in (12, 300)
)
UNIT = tuple(side / np.linalg.norm(side.astype(np.float64), axis=1, keepdims=True) for side in (QUERY, DATABASE))


def compared(names, *, codes="sign", k=(1, 10), distance="cosine", query=QUERY, database=DATABASE, **options):
    return quantisation(Nearest(query, database, list(k), distance), codes, quantisers=names, **options)


def by_name(result):
    return {one.name: one for one in result.equal_bytes}


@pytest.mark.parametrize("distance", ["cosine", "euclidean", "dot"])
def test_shares_of_a_slow_loop(distance):
    """Rank by the formulas for decoded items; no two of these are equal."""
    outcome = by_name(compared(["int8", "int8:calibration=minmax"], distance=distance))
    query, database = (side.astype(np.float32) for side in (UNIT if distance == "cosine" else (QUERY, DATABASE)))
    for name, quantiser in (("int8", Int8()), ("int8:calibration=minmax", Int8(calibration="minmax"))):
        model = quantiser.fit(database, distance, 0)
        items = quantiser.decode(quantiser.encode(database, model), model).astype(np.float64)
        products, squared = query.astype(np.float64) @ items.T, (items**2).sum(axis=1)
        scores = {"euclidean": squared - 2 * products, "cosine": -products / squared**0.5, "dot": -products}[distance]
        order, one = np.argsort(scores, axis=1), outcome[name]
        assert one.n_bytes == 16
        for k, share in one.shares.items():
            true = nearest(QUERY, DATABASE, k, distance=distance)
            indices = np.split(true.indices, true.indptr[1:-1])
            values = [np.isin(*pair).sum() / k for pair in zip(order[:, :k], indices, strict=True)]
            assert share.worst == share.best == share.expected == pytest.approx(np.mean(values), rel=1e-12)
            half = NormalDist().inv_cdf(0.975) * np.std(values, ddof=1) / 12**0.5
            assert (share.low, share.high) == pytest.approx((share.expected - half, share.expected + half), rel=1e-9)
        first = nearest(QUERY, DATABASE, 1, distance=distance).indices
        assert one.shares[10].first == np.mean([i in row for i, row in zip(first, order[:, :10], strict=True)])
        assert one.rescoring.smallest_factor[10] == next(
            c
            for c in range(1, 31)
            if np.mean([np.isin(i, row).mean() for i, row in zip(indices, order[:, : 10 * c], strict=True)]) >= 0.95
        )


def test_what_ranks_the_items_is_reported():
    pytest.importorskip("faiss")
    result = compared(["truncate:dims=4"], rescoring=Rescoring("rabitq"))
    assert result.ranked_by == {
        "sign": "the Hamming distance",
        "truncate:dims=4": "the cosine with the restored vectors",
        "rabitq": "the estimated Euclidean distance of unit vectors",
    }
    assert "ranked by the Hamming distance: sign" in str(result)
    assert compared(["int8"], codes=(Outputs(QUERY), DATABASE > 0)).ranked_by["codes"] == (
        "the inner product of outputs and codes"
    )


def test_a_hasher_is_a_quantiser():
    """Its shares are those of the codes themselves, counted by Hamming distance."""
    result = compared(["itq:n_bits=8,n_iter=5", "sign"], codes="pcah:n_bits=12")
    rows = by_name(result)
    assert [(one.name, one.n_bytes) for one in result.equal_bytes] == [
        ("itq:n_bits=8,n_iter=5", 1),
        ("pcah:n_bits=12", 2),
        ("sign", 2),
    ]
    alone = quantisation(Nearest(QUERY, DATABASE, [1, 10]), "itq:n_bits=8,n_iter=5")
    one, names = rows["itq:n_bits=8,n_iter=5"], ("neighbours@10", "neighbours@10[worst]", "neighbours@10[best]")
    share = one.shares[10]
    assert [share.expected, share.worst, share.best] == [alone.metrics[name] for name in names]
    assert share.first == alone.metrics["1-recall@10"]
    assert one.rescoring.rows == alone.rescoring[0].rows


def tops(distance, items, n):
    """Return all sets of the n nearest of some items."""
    cut = np.sort(distance[items])[n - 1]
    sure = [item for item in items if distance[item] < cut]
    tied = [item for item in items if distance[item] == cut]
    return [[*sure, *more] for more in itertools.combinations(tied, n - len(sure))]


@pytest.mark.parametrize("seed", range(10))
def test_re_ranking_over_all_orders_of_ties(seed):
    """Retrieve every possible set by the first distance, and re-rank it by the second in every order of its ties."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 7)), int(rng.integers(1, 4))
    first, second = rng.integers(0, 3, n), rng.integers(0, 4, n) / 2
    relevant = np.zeros(n, bool)
    relevant[rng.choice(n, k, replace=False)] = True
    for top in range(k, n + 1):
        shares = [
            [relevant[final].sum() for final in tops(second, np.array(chosen), k)]
            for chosen in tops(first, np.arange(n), top)
        ]
        orders = [order for order in map(list, itertools.permutations(range(n))) if (np.diff(second[order]) >= 0).all()]
        outcome = [_returned(first[order], second[order], relevant[order], top, k) for order in orders]
        every = list(itertools.chain(*shares))
        assert {(worst, best) for worst, _, best in outcome} == {(min(every), max(every))}
        assert np.mean([one[1] for one in outcome]) == pytest.approx(np.mean([np.mean(of) for of in shares]), rel=1e-9)


def test_a_quantiser_without_loss_re_ranks_as_the_vectors_do():
    integers = np.rint(DATABASE * 8)
    outcome = quantisation(
        Nearest(integers[:9], integers, [1, 10], "euclidean"), rescoring=Rescoring("float16", largest_factor=8)
    )
    by_vectors, by_quantiser = outcome.rescoring
    assert by_quantiser.by == "float16"
    np.testing.assert_allclose([row[3:] for row in by_quantiser.rows], [row[3:] for row in by_vectors.rows], rtol=1e-9)


def test_results_are_repeatable_and_do_not_depend_on_threads():
    names, options = ["int8:calibration=minmax", "lsh:n_bits=24"], {"rescoring": Rescoring("int8"), "seed": 3}
    plain = compared(names, **options).to_json()
    assert compared(names, **options, threads=2).to_json() == plain
    content = json.loads(plain)
    assert content["equal_bytes"][0]["shares"]["10"].keys() == set(rescoring.Share._fields)
    assert "equal_bytes" not in json.loads(compared([]).to_json())


def test_the_figure():
    pytest.importorskip("altair")
    points = compared(["int8", "itq"]).plot("bytes").to_dict()["data"]["values"]
    assert {(point["name"], point["bytes"], point["panel"]) for point in points} == {
        (name, n_bytes, f"K = {k}") for name, n_bytes in (("int8", 16), ("itq", 2), ("sign", 2)) for k in (1, 10)
    }


def test_memory_does_not_grow_with_the_database(tmp_path, monkeypatch):
    """The vectors of the larger database would need 6 MB more, and its int8 codes 1.5 MB."""
    monkeypatch.setattr("protocol.quantisers.representations._BLOCK_BYTES", 1 << 18)
    rng, peaks = np.random.default_rng(0), {}
    options = {"quantisers": ["int8"], "rescoring": Rescoring("int8", largest_factor=4)}
    for n in (12_000, 60_000):
        path = tmp_path / f"{n}.npy"
        np.save(path, rng.normal(size=(n, 32)).astype(np.float32))
        vectors = Nearest(rng.normal(size=(20, 32)).astype(np.float32), path, [10])
        tracemalloc.start()
        quantisation(vectors, **options, metrics="mAP")
        peaks[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks[60_000] < peaks[12_000] + 1_000_000
