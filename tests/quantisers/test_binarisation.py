"""What codes and other representations lose of vectors: slow loops, re-ranking, the answer in words, and errors."""

import itertools
import json
import re
from statistics import NormalDist

import numpy as np
import pytest
from encoded import message_of, refusals, refuses
from plainly import all_distances, peak_memory, sets_of_nearest

from protocol import registry
from protocol.cli import main
from protocol.evaluation import Codes, Nearest, Outputs, Relevant, evaluate
from protocol.quantisers import quantisation, rescoring
from protocol.quantisers.int8 import Int8
from protocol.quantisers.representations import SAMPLE
from protocol.quantisers.rescoring import _returned
from protocol.truth import DISTANCES, nearest

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(8, 16))
QUERY, DATABASE = (
    (CENTRES[RNG.integers(0, 8, n)] + 0.7 * RNG.normal(size=(n, 16))).astype(np.float32) for n in (12, 300)
)
SIGNS = QUERY > 0, DATABASE > 0
UNIT = tuple(side / np.linalg.norm(side.astype(np.float64), axis=1, keepdims=True) for side in (QUERY, DATABASE))
DEFAULTS = {"k": None, "distance": "cosine"}


def lost(codes="sign", *, query=QUERY, database=DATABASE, k=None, distance="cosine", **options):
    return quantisation(Nearest(query, database, k, distance), codes, **options)


def nearest_sets(apart, number):
    """Return the items of each query that are no farther than its K-th nearest one."""
    return apart <= np.sort(apart, axis=1)[:, number - 1, None]


def shares(hamming, relevant, number, retrieved):
    """Return worst, expected and best share of the K nearest items among the first ones, where none are equally near.

    The expected one is the sum over the relevant items of the chance to be retrieved.
    """
    result = {}
    for ties, key in (("worst", relevant), ("best", ~relevant)):
        order = np.lexsort((key, hamming), axis=1)[:, :retrieved]
        hits = np.take_along_axis(relevant, order, axis=1).sum(axis=1)
        result[ties] = np.minimum(hits, number).mean() / number
    ends = [np.array([np.searchsorted(np.sort(row), row, side) for row in hamming]) for side in ("left", "right")]
    nearer, equal = ends[0], ends[1] - ends[0]
    chance = np.clip((retrieved - nearer) / equal, 0, 1) * relevant
    return result["worst"], chance.sum(axis=1).mean() / number, result["best"]


@pytest.mark.parametrize("distance", ["cosine", "euclidean", "dot"])
def test_a_slow_loop(distance):
    names = list(evaluate(*SIGNS, truth=Nearest(QUERY, DATABASE, 20, distance), metrics=None).metrics)
    result = lost(distance=distance, k=[1, 5, 20], target=0.9, metrics=names)
    hamming = ((QUERY > 0)[:, None] != (DATABASE > 0)).sum(axis=2)
    apart = all_distances(QUERY, DATABASE, distance)
    for number in (1, 5, 20):
        relevant = nearest_sets(apart, number)
        values = [result.metrics[f"neighbours@{number}{ties}"] for ties in ("[worst]", "", "[best]")]
        np.testing.assert_allclose(values, shares(hamming, relevant, number, number), rtol=1e-12)
        values = [result.metrics[f"1-recall@{number}{ties}"] for ties in ("[worst]", "", "[best]")]
        np.testing.assert_allclose(values, shares(hamming, nearest_sets(apart, 1), 1, number), rtol=1e-12)
        rows = [row for row in result.rescoring[0].rows if row.neighbours == number]
        factors = {1: [16, 32, 64], 5: [16, 32, 60], 20: [15]}[number]
        assert [row.factor for row in rows] == [1, 2, 4, 8, *factors]
        for row in rows:
            assert row.retrieved == min(row.factor * number, 300)
            np.testing.assert_allclose(row[3:], shares(hamming, relevant, number, row.retrieved), rtol=1e-12)
        every = (shares(hamming, relevant, number, min(c * number, 300))[1] for c in range(1, 301))
        smallest = next(c for c, share in enumerate(every, 1) if share >= 0.9)
        assert result.rescoring[0].smallest_factor[number] == smallest
    plain = evaluate(*SIGNS, truth=Relevant(nearest_sets(apart, 20)))
    assert {name: result.metrics[name] for name in plain.metrics} == plain.metrics
    assert result.ground_truth_sha256 == plain.ground_truth_sha256
    assert evaluate(*SIGNS, truth=Nearest(QUERY, DATABASE, [1, 5, 20], distance)).metrics == result.metrics


def test_equally_near_items():
    """Each item is in the database three times: one copy of the nearest item suffices, and any two of R_2 count."""
    database = np.repeat(DATABASE[:40], 3, axis=0)
    result = lost(query=DATABASE[:5], database=database, k=[1, 2, 3])
    assert result.metrics["1-recall@1"] == result.metrics["neighbours@1"] == result.metrics["neighbours@3"] == 1
    assert result.relevant_per_query == (3, 3)
    assert "with ties" not in str(result)
    text = " ".join(str(lost(query=DATABASE[:5], database=database, k=2)).split())
    assert "nearest by cosine of the vectors (float32, dimension 16), with ties 3 to 3 items" in text


def test_a_hasher_is_fitted_on_training_vectors_or_a_sample_of_the_database(monkeypatch):
    monkeypatch.setattr("protocol.quantisers.representations.SAMPLE", 100)
    train = RNG.normal(size=(50, 16)).astype(np.float32)
    chosen = np.sort(np.random.default_rng(3).choice(300, 100, replace=False))
    for vectors, rows in ((train, train), (None, DATABASE[chosen])):
        result = lost("itq:n_bits=8,n_iter=5", seed=3, train=vectors)
        model = registry.get("hasher", "itq")(n_bits=8, seed=3, n_iter=5).fit(rows)
        plain = lost((model.transform(QUERY), model.transform(DATABASE)))
        assert result.metrics == plain.metrics
        assert f"fitted on {len(rows)} of the " in result.hashed_by
    origin = "fitted on 100 of the 300 vectors of the database, drawn with seed 3"
    assert f"itq:n_bits=8,n_iter=5, 8 bits, seed 3, {origin}" in " ".join(str(result).split())
    assert SAMPLE == 10_000


def test_vectors_are_read_in_blocks_from_mapped_files(tmp_path, monkeypatch):
    monkeypatch.setattr("protocol.quantisers.representations._BLOCK_BYTES", 1000)
    files = {role: tmp_path / f"{role}.npy" for role in ("query", "database")}
    for file, vectors in zip(files.values(), (QUERY, DATABASE), strict=True):
        np.save(file, vectors)
    assert lost("pcah:n_bits=8", **files).to_json() == lost("pcah:n_bits=8").to_json()


def test_metrics_that_are_chosen():
    result = lost(k=5, metrics=["mAP", "neighbours@3", "1-recall@9"])
    shares = [f"{name}@{number}" for name in ("neighbours", "1-recall") for number in (3, 5, 9)]
    assert [name for name in result.metrics if "[" not in name] == [*shares, "mAP"]
    assert (result.ground_truth, result.relevant_per_query) == ("5 nearest by cosine", (5, 5))


def test_the_asymmetric_ranking_finds_more():
    items = Codes(DATABASE, binarize="sign")
    result = lost((Outputs(QUERY), items))
    scores = -(QUERY.astype(np.float64) @ np.where(DATABASE > 0, 1.0, -1.0).T)
    relevant = nearest_sets(all_distances(QUERY, DATABASE, "cosine"), 10)
    expected = shares(scores, relevant, 10, 10)
    values = [result.metrics[f"neighbours@10{ties}"] for ties in ("[worst]", "", "[best]")]
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert result.metrics["neighbours@10"] > lost((QUERY, items)).metrics["neighbours@10"]


@pytest.mark.parametrize(
    ("ranking", "database", "n_bytes", "ranked_by"),
    [
        ("hamming", SIGNS[1], 2, "codes: given; 2 bytes instead of 64 ranked by the Hamming distance: codes"),
        ("asymmetric", SIGNS[1], 2, "codes: given; 2 bytes instead of 64 ranked by the inner product of outputs and"),
        ("dot", np.rint(DATABASE * 40).astype("i1"), 16, "outputs: given; 16 bytes instead of 64 ranked by the inner"),
        ("euclidean", DATABASE, 64, "outputs: given; 64 bytes instead of 64 ranked by the Euclidean distance from the"),
    ],
)
def test_each_ranking_and_rows_in_another_order_are_named(ranking, database, n_bytes, ranked_by):
    query = SIGNS[0] if ranking == "hamming" else Outputs(QUERY, ranking)
    by, text = {"distance": ranking if ranking in DISTANCES else "cosine"}, ranked_by.split(":")[0]
    result = lost((query, database), k=10, quantisers=["int8"], **by)
    assert ranked_by in " ".join(str(result).split())
    assert result.content()["cost"]["code_bytes"] == by_name(result)[text].n_bytes == n_bytes
    assert not result.warnings
    assert not lost((query, database), k=100, **by).warnings
    (warning,) = lost((query, np.roll(database, 100, axis=0)), k=10, **by).warnings
    assert re.fullmatch(rf"{text}: .* of the items are among the K nearest, of random ones 3.33%. Are .*", warning)


@pytest.mark.parametrize("ranking", DISTANCES)
def test_outputs_that_are_ranked_by_another_distance_are_named(ranking, caplog):
    caplog.set_level("INFO")
    whole = [np.rint(side * 20).astype(np.int8) for side in (QUERY, DATABASE)]
    for distance in DISTANCES:
        warnings = lost((Outputs(whole[0], ranking), whole[1]), k=5, distance=distance).warnings
        said = f"ranked by {ranking}, but the truth is by {distance}: --distance {ranking}, or --ranking {distance} (in"
        assert [one.startswith(said) for one in warnings] == [True] * (ranking != distance)
    assert f"int8 values are ranked by {ranking} as they are, without scale or offset" in caplog.messages
    for query, database in ((QUERY, DATABASE), UNIT):  # vectors of one length rank alike
        outputs = Outputs(UNIT[0], "euclidean"), UNIT[1].astype(np.float16).astype(np.float64)
        assert not lost(outputs, query=query, database=database, k=5).warnings


def test_own_compressed_vectors_have_the_bytes_that_are_stated():
    coarse = Outputs(QUERY, "euclidean"), np.round(DATABASE)
    result = lost(coarse, quantisers=["float16"]).with_code_bytes(4)
    assert [(one.name, one.n_bytes) for one in result.equal_bytes] == [("outputs", 4), ("float16", 32)]
    assert "outputs: given; 4 bytes instead of 64\n" in str(result)
    assert result.content()["cost"] == {"code_bytes": 4, "vector_bytes": 64}
    refuses("code_bytes needs codes of your own", lost("itq:n_bits=8").with_code_bytes, 4)


def test_queries_that_are_in_the_database_are_named(caplog):
    lost(query=np.concatenate([QUERY, DATABASE[:3]]), k=5)
    found = "perhaps themselves, which are found too easily"
    assert caplog.messages == [f"3 queries of 15 have a database item at distance 0: {found}"]
    caplog.clear()
    lost(query=DATABASE[:9], k=5, distance="dot")
    assert not caplog.messages


def compared(names, *, k=(1, 10), **options):
    return lost(k=list(k), quantisers=names, **options)


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
        ranks = [np.isin(row, i).nonzero()[0] for i, row in zip(indices, order, strict=True)]
        assert one.shares[10].factor == next(c for c in range(1, 31) if np.mean(np.array(ranks) < 10 * c) >= 0.95)


def test_a_hasher_is_a_quantiser():
    """Its shares are those of the codes themselves, counted by Hamming distance."""
    result = compared(["itq:n_bits=8,n_iter=5", "sign"], codes="pcah:n_bits=12")
    rows = by_name(result)
    sizes = {"itq:n_bits=8,n_iter=5": 1, "pcah:n_bits=12": 2, "sign": 2}
    assert [(one.name, one.n_bytes) for one in result.equal_bytes] == [*sizes.items()]
    alone = quantisation(Nearest(QUERY, DATABASE, [1, 10]), "itq:n_bits=8,n_iter=5")
    one, names = rows["itq:n_bits=8,n_iter=5"], ("neighbours@10", "neighbours@10[worst]", "neighbours@10[best]")
    share = one.shares[10]
    assert [share.expected, share.worst, share.best] == [alone.metrics[name] for name in names]
    assert share.first == alone.metrics["1-recall@10"]
    assert share.factor == alone.rescoring[0].smallest_factor[10]


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
            [relevant[chosen][[*final]].sum() for final in sets_of_nearest(second[chosen], k)]
            for chosen in map(list, sets_of_nearest(first, top))
        ]
        orders = [order for order in map(list, itertools.permutations(range(n))) if (np.diff(second[order]) >= 0).all()]
        outcome = [_returned(first[order], second[order], relevant[order], top, k) for order in orders]
        every = list(itertools.chain(*shares))
        assert {(worst, best) for worst, _, best in outcome} == {(min(every), max(every))}
        assert np.mean([one[1] for one in outcome]) == pytest.approx(np.mean([np.mean(of) for of in shares]), rel=1e-9)


def test_a_quantiser_without_loss_re_ranks_as_the_vectors_do():
    integers = np.rint(DATABASE * 8)
    outcome = quantisation(Nearest(integers[:9], integers, [1, 10], "euclidean"), rescore="float16")
    by_vectors, by_quantiser = outcome.rescoring
    assert by_quantiser.by == "float16"
    np.testing.assert_allclose([row[3:] for row in by_quantiser.rows], [row[3:] for row in by_vectors.rows], rtol=1e-9)


def test_results_are_repeatable_and_do_not_depend_on_threads():
    names, options = ["int8:calibration=minmax", "lsh:n_bits=24"], {"rescore": "int8", "seed": 3}
    plain = compared(names, **options).to_json()
    assert compared(names, **options, threads=2).to_json() == plain
    content = json.loads(plain)
    assert content["equal_bytes"][0]["shares"]["10"].keys() == set(rescoring.Share._fields)
    assert "equal_bytes" not in json.loads(compared([]).to_json())


def test_memory_does_not_grow_with_the_database(tmp_path, monkeypatch):
    """The vectors of the larger database would need 6 MB more, and its int8 codes 1.5 MB."""
    monkeypatch.setattr("protocol.quantisers.representations._BLOCK_BYTES", 1 << 18)
    rng, peaks = np.random.default_rng(0), {}
    options = {"quantisers": ["int8"], "rescore": "int8"}
    for n in (12_000, 60_000):
        path = tmp_path / f"{n}.npy"
        np.save(path, rng.normal(size=(n, 32)).astype(np.float32))
        vectors = Nearest(rng.normal(size=(20, 32)).astype(np.float32), path, [10])
        _, peaks[n] = peak_memory(lambda: quantisation(vectors, **options, metrics="mAP"))  # noqa: B023
    assert peaks[60_000] < peaks[12_000] + 1_000_000


def test_vectors_without_their_role_are_refused():
    refuses(r"^vectors must be Nearest\(query, database\), got ndarray\.$", quantisation, QUERY, DATABASE)


@pytest.mark.parametrize(("change", "message"), refusals("quantisers/refused.yaml"))
def test_refusals(change, message):
    def refused_call(query=((1, 2), (3, 4)), database=((1, 0), (0, 1), (2, 2)), codes="sign", **options):
        vectors = Nearest(query, database, *(options.pop(name, default) for name, default in DEFAULTS.items()))
        if "outputs" in options:
            codes = Outputs(options.pop("outputs")), [[1, 0], [0, 1], [1, 1]]
        quantisation(vectors, codes, **options)

    assert message_of(refused_call, **change) == message


def test_the_command(here, capsys):
    np.save("q", QUERY)
    np.save("d", DATABASE)
    vectors = ["--query-vectors", "q.npy", "--database-vectors", "d.npy"]
    options = ["--hasher", "itq:n_bits=8,n_iter=5", "--seed", "1"]
    more = ["--neighbours", "1", "10", "--target", "0.9", "--rescore", "int8", "--json", "o.json"]
    assert main(["recall", *vectors, *options, *more]) == 0
    options = {"rescore": "int8", "target": 0.9, "seed": 1, "k": [1, 10]}
    result = lost("itq:n_bits=8,n_iter=5", query="q.npy", database="d.npy", **options)
    assert capsys.readouterr().out == f"{result}\n"
    files = {"inputs": {"query_vectors": "q.npy", "database_vectors": "d.npy"}}
    assert json.loads((here / "o.json").read_text()) == json.loads(result.to_json()) | files
