"""Representations at equal bytes and cascades: comparison with slow loops, the answer in words, and errors."""

import json
import tracemalloc
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.evaluation import (
    Hashing,
    Nearest,
    Outputs,
    Quantisers,
    Rescoring,
    equal_bytes,
    evaluate,
    quantisation,
)
from protocol.evaluation.cascade import cascade
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.representations import VECTORS, Representation, fit, of_codes
from protocol.evaluation.rescoring import RescoringCurve
from protocol.evaluation.second_stage import second_stage
from protocol.quantisers.int4 import Int4
from protocol.quantisers.two_bit import TwoBit
from protocol.truth import nearest
from protocol.truth.relevance import NeighbourRelevance

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(8, 16))
QUERY, DATABASE = (
    (CENTRES[RNG.integers(0, 8, n)] + 0.7 * RNG.normal(size=(n, 16))).astype(np.float32) for n in (12, 300)
)
UNIT = tuple(side / np.linalg.norm(side.astype(np.float64), axis=1, keepdims=True) for side in (QUERY, DATABASE))


def compared(names, *, codes=None, k=(1, 10), distance="cosine", query=QUERY, database=DATABASE, **options):
    return quantisation(Nearest(query, database, list(k), distance), codes, quantisers=names, **options)


def by_name(result):
    return {one.name: one for one in result.equal_bytes.represented}


@pytest.mark.parametrize("distance", ["cosine", "euclidean", "dot"])
def test_shares_of_a_slow_loop(distance):
    """Rank by the formulas for decoded items; no two of these are equal."""
    found = by_name(compared(["int4", "two_bit"], distance=distance))
    query, database = (side.astype(np.float32) for side in (UNIT if distance == "cosine" else (QUERY, DATABASE)))
    for name, quantiser, n_bytes in (("int4", Int4(), 8), ("two_bit", TwoBit(), 4)):
        model = quantiser.fit(database, distance, 0)
        items = quantiser.decode(quantiser.encode(database, model), model).astype(np.float64)
        products, squared = query.astype(np.float64) @ items.T, (items**2).sum(axis=1)
        scores = {"euclidean": squared - 2 * products, "cosine": -products / squared**0.5, "dot": -products}[distance]
        order, one = np.argsort(scores, axis=1), found[name]
        assert one.n_bytes == n_bytes
        for k, share in one.shares.items():
            true = nearest(QUERY, DATABASE, k, distance=distance)
            indices = np.split(true.indices, true.indptr[1:-1])
            values = [np.isin(*pair).sum() / k for pair in zip(order[:, :k], indices, strict=True)]
            assert share.worst == share.best == share.expected == pytest.approx(np.mean(values), rel=1e-12)
            half = NormalDist().inv_cdf(0.975) * np.std(values, ddof=1) / 12**0.5
            assert (share.low, share.high) == pytest.approx((share.expected - half, share.expected + half), rel=1e-9)
        first = nearest(QUERY, DATABASE, 1, distance=distance).indices
        assert one.shares[10].first == np.mean([i in row for i, row in zip(first, order[:, :10], strict=True)])
        assert one.rescoring.smallest_factor[10].expected == next(
            c
            for c in range(1, 31)
            if np.mean([np.isin(i, row).mean() for i, row in zip(indices, order[:, : 10 * c], strict=True)]) >= 0.95
        )


@pytest.mark.parametrize(
    ("distance", "truncated", "estimated"),
    [
        ("cosine", "the cosine with the restored vectors", "the estimated Euclidean distance of unit vectors"),
        ("euclidean", "the Euclidean distance from the restored vectors", "the estimated Euclidean distance"),
        ("dot", "the inner product with the restored vectors", "the estimated inner product"),
    ],
)
def test_what_ranks_the_items_is_reported(distance, truncated, estimated):
    pytest.importorskip("faiss")
    names = Quantisers(["truncate:dims=4", "rabitq"], cascade=["sign", "float"], factors=[2])
    result = compared(names, distance=distance)
    assert (
        result.ranked_by
        == json.loads(result.to_json())["ranked_by"]
        == {
            "sign": "the Hamming distance",
            "truncate:dims=4": truncated,
            "rabitq": estimated,
            "float": truncated.replace("restored ", ""),
        }
    )
    assert all(f"ranked by {ranking}: " in " ".join(str(result).split()) for ranking in result.ranked_by.values())
    outputs = compared(["int8"], codes=(Outputs(QUERY), DATABASE > 0), distance=distance)
    assert outputs.ranked_by["codes"] == "the inner product of outputs and codes"
    assert compared([]).ranked_by == {}


def test_a_restored_vector_of_zeros_has_the_cosine_0():
    """The first dimension of the second item is 0; the others keep only the sign of theirs."""
    database = np.float32([[2, 1], [0, 3], [-1, 1]])
    truncated = fit(Quantisers(), "truncate:dims=1", database, "cosine")(QUERY[:, :2], database, None)
    np.testing.assert_array_equal(truncated.items[:], [[1], [0], [-1]])
    assert truncated.distance == "dot"


def test_a_hasher_is_a_quantiser():
    """Its shares are those of the codes themselves, counted by Hamming distance."""
    result = compared(["itq:n_bits=8,n_iter=5", "sign"], codes=Hashing("pcah", 12))
    rows = by_name(result)
    assert [(one.name, one.n_bytes) for one in result.equal_bytes.represented] == [
        ("itq:n_bits=8,n_iter=5", 1),
        ("pcah:n_bits=12", 2),
        ("sign", 2),
    ]
    for name, codes in (
        ("itq:n_bits=8,n_iter=5", Hashing("itq", 8, {"n_iter": 5})),
        ("pcah:n_bits=12", Hashing("pcah", 12)),
    ):
        alone = quantisation(Nearest(QUERY, DATABASE, [1, 10]), codes)
        for k in (1, 10):
            share = rows[name].shares[k]
            assert (share.expected, share.worst, share.best, share.first) == tuple(
                alone.metrics[metric]
                for metric in (f"neighbours@{k}", f"neighbours@{k}[worst]", f"neighbours@{k}[best]", f"1-recall@{k}")
            )
        assert rows[name].rescoring.rows == alone.rescoring[0].rows
    given = compared(["int8"], codes=(QUERY > 0, DATABASE > 0))
    assert by_name(given)["codes"].shares == by_name(compared(["sign"]))["sign"].shares


def test_items_with_equal_codes_are_tied():
    """Two dimensions of two bits have 16 codes; the values are those over all orders of the items."""
    query, database = QUERY[:, :2].copy(), DATABASE[:, :2].copy()
    share = by_name(compared(["two_bit"], k=[10], query=query, database=database, distance="euclidean"))["two_bit"]
    levels = TwoBit().fit(database, "euclidean", 0)
    items = TwoBit().decode(TwoBit().encode(database, levels), levels).astype(np.float64)
    apart = ((query.astype(np.float64)[:, None] - items) ** 2).sum(axis=2)
    relevant, expected, worst = nearest(query, database, 10), [], []
    for row, (a, b) in enumerate(pairwise(relevant.indptr)):
        cut = np.sort(apart[row])[9]
        near, tied = apart[row] < cut, apart[row] == cut
        of_row, drawn = np.isin(np.arange(300), relevant.indices[a:b]), 10 - near.sum()
        expected.append((of_row & near).sum() + (of_row & tied).sum() * drawn / tied.sum())
        worst.append((of_row & near).sum() + max(0, drawn - (tied & ~of_row).sum()))
    assert share.shares[10].expected == pytest.approx(np.mean(expected) / 10, rel=1e-12)
    assert share.shares[10].worst == pytest.approx(np.mean(worst) / 10, rel=1e-12)
    assert share.shares[10].worst < share.shares[10].expected < share.shares[10].best


def row(name, n_bytes, *values):
    per_query = np.array(values)
    share = equal_bytes.Share(1, per_query.mean(), 0, 0, 0, 0, 0)
    curve = RescoringCurve("vectors", 0.8, (), {})
    return equal_bytes.Represented(name, n_bytes, {1: share}, curve, None, {1: per_query})


def test_the_best_of_a_size():
    rows = [row("a", 8, 1, 0, 0, 1), row("b", 8, 0, 0, 0, 1), row("c", 16, 1, 0, 0, 1), row("d", 64, 1, 1, 0, 1)]
    result = equal_bytes.compared(rows[::-1], 16)
    found = {(best.n_bytes, best.name, best.second, best.difference) for best in result.best}
    assert found == {(8, "a", "b", 0.25), (16, "a", "c", 0.0), (64, "d", "a", 0.25)}
    assert result.answer == (
        "Of all representations with at most 16 bytes, a finds the most of the 1 nearest items: 50.0%, not clearly "
        "more than c (+0.0000 ± 0.0000). No representation finds 80% of them without re-ranking."
    )
    by_size = {best.n_bytes: best for best in result.best}
    half = NormalDist().inv_cdf(1 - 0.05 / 2 / 6) * 0.5 / 4**0.5  # 6 pairs of 4
    assert by_size[64].high - by_size[64].difference == pytest.approx(half)
    everything = equal_bytes.compared([*rows, row("e", 128, 1, 1, 1, 1), row("f", 256, 1, 1, 1, 1)], 1)
    assert everything.answer.startswith("Of all representations with at most 8 bytes, a finds the most of")
    assert everything.answer.endswith("that finds at least 80% of them without re-ranking is e (128 bytes).")
    one = equal_bytes.compared([row("a", 8, 1)], 8)
    assert one.answer.startswith(
        "Of all representations with at most 8 bytes, a finds the most of the 1 nearest items: "
    )
    assert one.best[0].second is None


def codes_of(rng, n_bits, n):
    packed = (np.packbits(rng.random((rows, n_bits)) < 0.5, axis=1, bitorder="little") for rows in (3, n))
    return CodePair(*packed, n_bits)


@pytest.mark.parametrize("seed", range(8))
def test_a_cascade_of_two_codes_is_exact_re_ranking(seed):
    """The extremes are those of `second_stage`, and the expected value is within its error."""
    rng, n = np.random.default_rng(seed), 60
    first, second = codes_of(rng, 3, n), codes_of(rng, 5, n)
    listed = np.stack([np.sort(rng.choice(n, 5, replace=False)) for _ in range(3)])
    relevance = NeighbourRelevance(np.arange(0, 16, 5), listed.ravel(), n)
    for c in (1, 2, 4, 12):
        found = cascade([of_codes("a", first), of_codes("b", second)], [c], {5: relevance}, seed=seed).rows[0]
        worst, expected, best = second_stage(first, second, {5: relevance}, {5: [5 * c]})[5, 5 * c].mean(axis=1)
        assert (found.worst, found.best) == pytest.approx((worst, best), rel=1e-12)
        assert abs(found.expected - expected) <= 4.5 * found.error + 1e-12
        assert found.returned == (5 * c, 5)


def test_a_cascade_of_three_stages():
    """With float at its end, a cascade returns what is left of the nearest items; without ties, a slow loop does."""
    names = Quantisers(cascade=["two_bit", "int8", "float"], factors=[4, 2])
    result = compared(names).cascade
    assert result.stages == ("two_bit", "int8", "float")
    fitted = [fit(names, name, DATABASE, "cosine")(QUERY, DATABASE, None) for name in result.stages]
    for line in result.rows:
        k = line.neighbours
        relevant, values = nearest(QUERY, DATABASE, k, distance="cosine"), []
        for query, (a, b) in enumerate(pairwise(relevant.indptr)):
            items = np.arange(300)
            for one, top in zip(fitted[:2], (4 * k, 2 * k), strict=True):
                scores = -one.query[query].astype(np.float64) @ one.items[:].astype(np.float64).T
                items = items[np.argsort(scores[items])[:top]]
            values.append(np.isin(relevant.indices[a:b], items).mean())
        assert line.returned == (4 * k, 2 * k, k)
        assert line.worst == line.best == line.expected == pytest.approx(np.mean(values), rel=1e-12)
        assert line.error == 0
    complete = compared(Quantisers(cascade=["sign", "float"], factors=[300]))
    assert {line.expected for line in complete.cascade.rows} == {1.0}
    vectors = Representation(VECTORS, 64, QUERY, DATABASE, "cosine", "")
    relevances = {10: NeighbourRelevance(*nearest(QUERY, DATABASE, 10, distance="cosine").first(10), 300)}
    assert cascade([vectors, vectors, vectors], [1, 1], relevances).rows[0].worst == 1


def test_a_cascade_of_codes_agrees_with_rescoring():
    binary = compared(Quantisers(cascade=["sign", "float"], factors=[4])).cascade
    exact = quantisation(Nearest(QUERY, DATABASE, [1, 10]), rescoring=Rescoring()).rescoring[0]
    for line in binary.rows:
        row = next(row for row in exact.rows if (row.neighbours, row.factor) == (line.neighbours, 4))
        assert (line.worst, line.best) == pytest.approx((row.worst, row.best), rel=1e-12)
        assert abs(line.expected - row.expected) <= 4 * line.error
        assert 0 < line.error < 0.02


def test_results_are_repeatable_and_do_not_depend_on_threads(tmp_path):
    names = Quantisers(["int8:calibration=minmax", "lsh:n_bits=24"], cascade=["lsh", "two_bit"], factors=[5], seed=3)
    plain = compared(names).to_json()
    assert compared(names, threads=2).to_json() == plain
    for name, array in (("q", QUERY), ("d", DATABASE)):
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {"query": tmp_path / "q.npy", "database": tmp_path / "d.npy"}
    assert compared(names, **mapped).to_json() == plain
    content = json.loads(plain)
    assert {one["times"] for one in content["equal_bytes"]["represented"]} == {None}
    assert content["equal_bytes"]["represented"][0]["shares"]["10"].keys() == set(equal_bytes.Share._fields)
    assert content["cascade"]["rows"][0]["returned"] == [5, 1]
    assert "equal_bytes" not in json.loads(compared([]).to_json())


def test_training_vectors_and_seeds():
    train = RNG.normal(size=(40, 16)).astype(np.float32)
    one, other = (by_name(compared(Quantisers(["int4"], train=rows)))["int4"] for rows in (train, None))
    assert one.shares != other.shares
    seeds = [by_name(compared(Quantisers(["lsh:n_bits=8"], seed=seed)))["lsh:n_bits=8"].shares for seed in (0, 1)]
    assert seeds[0] != seeds[1]


def test_text_times_and_figure():
    pytest.importorskip("altair")
    result = compared(Quantisers(["int4", "itq"], n_bytes=2), measure_speed=True)
    assert result.equal_bytes.answer in " ".join(str(result).split("\n"))
    for part in ("neighbours@K", "1-recall@K", "c for 0.95", "seconds to train", "best representation of at most"):
        assert part in str(result)
        assert part in result._repr_html_()
    times = by_name(result)["int4"].times
    assert times.train > 0 < times.encode
    assert times.queries_per_second > 0
    points = result.plot("bytes").to_dict()["data"]["values"]
    assert {(point["name"], point["bytes"], point["panel"]) for point in points} == {
        (name, n_bytes, f"K = {k}") for name, n_bytes in (("int4", 8), ("itq", 2), ("sign", 2)) for k in (1, 10)
    }
    with pytest.raises(ProtocolError, match="plot must be"):
        compared([]).plot("bytes")


REFUSED = (
    ({"names": ["int9"]}, "Unknown quantiser 'int9'. Did you mean 'int8'? `protocol list quantisers` lists all "),
    ({"names": ["int8:scale=2"]}, "Unknown option 'scale' of quantiser 'int8': choose calibration."),
    ({"names": ["int8:calibration=max"]}, "quantiser 'int8:calibration=max': calibration must be "),
    ({"names": ["two_bit:n_iter"]}, "quantiser 'two_bit:n_iter': write options as two_bit:NAME=VALUE,NAME=VALUE."),
    ({"names": ["two_bit:n_iter=0"]}, "quantiser 'two_bit:n_iter=0': n_iter must be an integer >= 1, got 0."),
    ({"names": ["ksh"]}, "hasher 'ksh' needs labels or pairs. Choose one that learns from vectors alone (dsh, "),
    ({"names": ["itq:n_bits=0"]}, "n_bits must be an integer >= 1, got 0."),
    ({"names": ["itq:n_bits=17"]}, "n_bits must be at most 16, the dimension of the vectors, for the hasher itq"),
    ({"names": ["truncate:dims=17"]}, "truncate: dims must be at most 16, the dimension, got 17."),
    ({"names": ["int8"], "n_bytes": 0}, "n_bytes must be an integer >= 1, got 0."),
    ({"names": ["int8"], "train": np.full((3, 16), np.nan)}, "training vectors: row 0: expected finite numbers, got"),
    ({"names": ["int8"], "train": np.ones((3, 4))}, "training vectors: dimension 4, but the query vectors have 16."),
    ({"cascade": ["sign", "float"], "factors": [2], "seed": -1}, "seed must be an integer >= 0, got -1."),
    ({"cascade": ["sign"]}, "cascade needs at least two stages, got 1."),
    ({"cascade": ["sign", "float"], "factors": [4, 2]}, "factors: 2 for 2 stages; each stage but the"),
    ({"factors": [4]}, "factors: 1 for 0 stages; each stage but the last needs one."),
    ({"cascade": ["sign", "int8", "float"], "factors": [2, 4]}, "factors must not increase: 2 4."),
    ({"cascade": ["sign", "float"], "factors": [0]}, "factors must be an integer >= 1, got 0."),
)


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refusals(options, message):
    with pytest.raises(ProtocolError) as refused:
        compared(Quantisers(**options))
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_without_faiss(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(ProtocolError, match=r"^faiss is not installed\. Install it .*: pip install '\.\[faiss\]'$"):
        compared(["pq:m=4"])
    compared(["int8"])


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("q", QUERY)
    np.save("d", DATABASE)
    command = ["quantisation", "--query-vectors", "q.npy", "--database-vectors", "d.npy", "--neighbours", "1", "10"]
    further = ["--quantiser", "int8", "itq:n_bits=8", "--bytes", "4", "--seed", "2", "--target", "0.9"]
    assert main([*command, *further, "--cascade", "sign", "int8", "--factors", "4", "--json", "o.json"]) == 0
    out = capsys.readouterr().out
    options = Quantisers(["int8", "itq:n_bits=8"], 4, ["sign", "int8"], [4], 2)
    result = compared(options, codes=Hashing(seed=2), rescoring=Rescoring(target=0.9))
    assert out == f"{result}\n"
    content = json.loads((tmp_path / "o.json").read_text())
    assert content.pop("inputs").keys() == {"query_vectors", "database_vectors"}
    assert content == json.loads(result.to_json())
    plain = evaluate(QUERY > 0, DATABASE > 0, truth=Nearest(QUERY, DATABASE, [1, 10]))
    assert {name: result.metrics[name] for name in plain.metrics} == plain.metrics
    assert main([*command, "--cascade", "sign"]) == 2
    assert "--cascade needs at least two stages, got 1." in capsys.readouterr().err


def test_memory_does_not_grow_with_the_database(tmp_path, monkeypatch):
    """The vectors of the larger database would need 6 MB more, and its int8 codes 1.5 MB."""
    monkeypatch.setattr("protocol.evaluation.hashing._BLOCK_BYTES", 1 << 18)
    rng, peaks = np.random.default_rng(0), {}
    options = Quantisers(["int8", "two_bit"], cascade=["sign", "two_bit", "float"], factors=[4, 2])
    for n in (12_000, 60_000):
        path = tmp_path / f"{n}.npy"
        np.save(path, rng.normal(size=(n, 32)).astype(np.float32))
        vectors = Nearest(rng.normal(size=(20, 32)).astype(np.float32), path, [10])
        tracemalloc.start()
        quantisation(vectors, quantisers=options, metrics="mAP")
        peaks[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks[60_000] < peaks[12_000] + 1_000_000
