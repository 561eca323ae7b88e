"""What codes lose of vectors: comparison with a slow loop, computed codes, re-ranking, and errors."""

import json

import numpy as np
import pytest
from encoded import refusals

from protocol import codes, registry
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.evaluation import Codes, Nearest, Outputs, Relevant, evaluate
from protocol.quantisers import Rescoring, quantisation
from protocol.quantisers.representations import SAMPLE

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(8, 16))
QUERY, DATABASE = (
    (CENTRES[RNG.integers(0, 8, n)] + 0.7 * RNG.normal(size=(n, 16))).astype(np.float32) for n in (12, 300)
)
SIGNS = QUERY > 0, DATABASE > 0
DEFAULTS = {"k": None, "distance": "cosine", "relevant": None}


def lost(codes="sign", *, query=QUERY, database=DATABASE, k=None, distance="cosine", relevant=None, **options):
    return quantisation(Nearest(query, database, k, distance, relevant), codes, **options)


def distances(query, database, distance="cosine"):
    query, database = query.astype(np.float64), database.astype(np.float64)
    if distance == "euclidean":
        return np.sqrt(((query[:, None] - database) ** 2).sum(axis=2))
    products = query @ database.T
    if distance == "dot":
        return -products
    return 1 - products / np.linalg.norm(query, axis=1)[:, None] / np.linalg.norm(database, axis=1)


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
    rescoring = Rescoring(target=0.9, largest_factor=32)
    result = lost(distance=distance, k=[1, 5, 20], rescoring=rescoring)
    hamming = ((QUERY > 0)[:, None] != (DATABASE > 0)).sum(axis=2)
    apart = distances(QUERY, DATABASE, distance)
    for number in (1, 5, 20):
        relevant = nearest_sets(apart, number)
        values = [result.metrics[f"neighbours@{number}{ties}"] for ties in ("[worst]", "", "[best]")]
        np.testing.assert_allclose(values, shares(hamming, relevant, number, number), rtol=1e-12)
        values = [result.metrics[f"1-recall@{number}{ties}"] for ties in ("[worst]", "", "[best]")]
        np.testing.assert_allclose(values, shares(hamming, nearest_sets(apart, 1), 1, number), rtol=1e-12)
        rows = [row for row in result.rescoring[0].rows if row.neighbours == number]
        assert [row.factor for row in rows] == ([1, 2, 4, 8, 15] if number == 20 else [1, 2, 4, 8, 16, 32])
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
    assert "with ties 3 to 3 items for K = 2" in str(lost(query=DATABASE[:5], database=database, k=2))


def test_codes_that_are_given():
    result, computed = lost(tuple(Codes(codes.pack(side), 16) for side in SIGNS)), lost()
    assert result.metrics == computed.metrics
    assert result.hashed_by is None
    assert computed.hashed_by == "sign, 16 bits, seed 0, fitted on 300 of the 300 vectors of the database"


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
    origin = (
        "itq:n_bits=8,n_iter=5, 8 bits, seed 3, fitted on 100 of the 300 vectors of the database, drawn with seed 3"
    )
    assert origin in " ".join(str(result).split())
    assert SAMPLE == 10_000


def test_vectors_are_read_in_blocks_from_mapped_files(tmp_path, monkeypatch):
    monkeypatch.setattr("protocol.quantisers.representations._BLOCK_BYTES", 1000)
    files = {role: tmp_path / f"{role}.npy" for role in ("query", "database")}
    for file, vectors in zip(files.values(), (QUERY, DATABASE), strict=True):
        np.save(file, vectors)
    assert lost("pcah:n_bits=8", **files).to_json() == lost("pcah:n_bits=8").to_json()


def test_metrics_that_are_chosen():
    result = lost(k=5, relevant=7, metrics=["mAP", "neighbours@3", "1-recall@9"])
    assert [name for name in result.metrics if "[" not in name] == [
        *(f"{name}@{number}" for name in ("neighbours", "1-recall") for number in (3, 5, 9)),
        "mAP",
    ]
    assert (result.ground_truth, result.relevant_per_query) == ("7 nearest by cosine", (7, 7))


def test_the_asymmetric_ranking_finds_more():
    items = Codes(DATABASE, binarize="sign")
    result = lost((Outputs(QUERY), items))
    scores = -(QUERY.astype(np.float64) @ np.where(DATABASE > 0, 1.0, -1.0).T)
    relevant = nearest_sets(distances(QUERY, DATABASE), 10)
    expected = shares(scores, relevant, 10, 10)
    values = [result.metrics[f"neighbours@10{ties}"] for ties in ("[worst]", "", "[best]")]
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert result.metrics["neighbours@10"] > lost((QUERY, items)).metrics["neighbours@10"]


def test_text_and_content():
    result = lost(k=[1, 10], rescoring=Rescoring("int8"))
    for part in ("neighbours@K", "1-recall@K", "smallest c for 0.95", "re-ranked by int8", "1/32", "as relevant"):
        assert part in " ".join(str(result).split())
    content = json.loads(result.to_json())
    assert content["cost"] == {"code_bytes": 2, "vector_bytes": 64}
    assert content["rescoring"][0]["smallest_factor"].keys() == {"1", "10"}


@pytest.mark.parametrize(("change", "message"), refusals("quantisers/refused.yaml"))
def test_refusals(change, message):
    def refused_call(query=((1, 2), (3, 4)), database=((1, 0), (0, 1), (2, 2)), codes="sign", **options):
        vectors = Nearest(query, database, *(options.pop(name, default) for name, default in DEFAULTS.items()))
        if "outputs" in options:
            codes = Outputs(options.pop("outputs")), [[1, 0], [0, 1], [1, 1]]
        quantisation(vectors, codes, rescoring=Rescoring(**options.pop("rescoring", {})), **options)

    with pytest.raises(ProtocolError) as refused:
        refused_call(**change)
    assert str(refused.value) == message


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("q", QUERY)
    np.save("d", DATABASE)
    vectors = ["--query-vectors", "q.npy", "--database-vectors", "d.npy"]
    options = ["--hasher", "itq:n_bits=8,n_iter=5", "--seed", "1"]
    more = ["--neighbours", "1", "10", "--target", "0.9", "--rescore", "int8", "--json", "o.json"]
    assert main(["quantisation", *vectors, *options, *more]) == 0
    options = {"rescoring": Rescoring("int8", target=0.9), "seed": 1, "k": [1, 10]}
    result = lost("itq:n_bits=8,n_iter=5", query="q.npy", database="d.npy", **options)
    assert capsys.readouterr().out == f"{result}\n"
    files = {"inputs": {"query_vectors": "q.npy", "database_vectors": "d.npy"}}
    assert json.loads((tmp_path / "o.json").read_text()) == json.loads(result.to_json()) | files
