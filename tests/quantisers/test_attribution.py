"""Recall lost to an index, compared with every exact result; and errors of engines that were made on purpose."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
from encoded import refuses
from plainly import all_distances, sets_of_nearest

import protocol as hp
from protocol.checks import ProtocolError
from protocol.cli import main

K, LEFT_OUT = 5, "nearer items left out"
UNKNOWN = "of no known kind, or rows are in another order, so not compared with those of the items;"
VALUES = ["recall", "lost_to_code", "lost_to_index", "lost_to_ties", "exact"]
VALUES += ["least_lost_to_ties", "most_lost_to_ties"]


@pytest.mark.parametrize("seed", range(20))
def test_lost_recall_is_a_mean_over_every_exact_result(seed):
    """The repaired results are the exact ones that have as many items as possible in common with the engine's."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 12)), int(rng.integers(1, 5))
    query, database = rng.integers(0, 2, (3, 4)), rng.integers(0, 2, (n, 4))
    vq, vd = rng.integers(0, 3, (3, 2)), rng.integers(0, 3, (n, 2))
    ids = np.array([rng.permutation(n)[:k] for _ in range(3)])
    ids[0, int(rng.integers(0, k)) :] = -1
    result = hp.attribute(ids, (query, database), hp.Nearest(vq, vd, distance="euclidean"), k=k)
    vectors_only = hp.attribute(ids, vectors=hp.Nearest(vq, vd, distance="euclidean"), k=k).per_query["results"]
    values, codes_only = result.per_query["results"], hp.attribute(ids, (query, database), k=k).per_query["results"]
    for row, engine in enumerate(set(each[each >= 0].tolist()) for each in ids):
        every = sets_of_nearest((query[row] != database).sum(axis=1), k)
        squares = ((vq[row] - vd) ** 2).sum(axis=1)
        true = set(np.flatnonzero(squares <= np.sort(squares)[k - 1]).tolist())
        most = max(len(each & engine) for each in every)
        recall, by_code, repaired = (
            np.mean([len(each & true) / k for each in sets])
            for sets in ([engine], every, [each for each in every if len(each & engine) == most])
        )
        expected = [recall, 1 - by_code, repaired - recall, by_code - repaired, most / k]
        expected += [by_code - bound([len(each & true) / k for each in every]) for bound in (max, min)]
        np.testing.assert_allclose([getattr(values, name)[row] for name in VALUES], expected, atol=1e-12)
        near = (query[row] != database).sum(axis=1)
        share = len(engine & set(np.flatnonzero(near <= np.sort(near)[k - 1]).tolist())) / k
        assert codes_only.exact[row] == pytest.approx(most / k)
        assert codes_only.recall[row] == pytest.approx(share)
        assert codes_only.lost_to_index[row] == pytest.approx(1 - share)
        assert vectors_only.recall[row] == pytest.approx(recall)
    sizes = np.sort([np.sum(of <= np.sort(of)[k - 1]) for of in ((vq[:, None] - vd) ** 2).sum(axis=2)])
    ties = f", with ties {sizes[0]} to {sizes[-1]} items, which all count" * int(sizes[-1] > k)
    assert result.neighbours == f"the {k} nearest by Euclidean distance of the vectors{ties}"
    of_vectors = hp.Outputs(query.astype(float), "euclidean"), database.astype(float)
    for same in (of_vectors, (hp.Outputs(2.0 * query - 1), database)):  # whose order is that of Hamming distances
        other = hp.attribute(ids, same, hp.Nearest(vq, vd, distance="euclidean"), k=k).per_query["results"]
        for name in VALUES:
            np.testing.assert_allclose(getattr(other, name), getattr(values, name), atol=1e-12, err_msg=name)
    row = result.rows[0]
    assert row.recall + row.lost_to_code + row.lost_to_index + row.lost_to_ties == pytest.approx(1)
    assert row.least_lost_to_ties - 1e-12 <= row.lost_to_ties <= row.most_lost_to_ties + 1e-12


def test_recall_with_and_without_codes_counts_the_same_ties():
    """Cosines that are equal as fractions differ in float64; their squares are compared."""
    rng = np.random.default_rng(0)
    query, database = rng.integers(1, 4, (20, 3)), rng.integers(1, 4, (200, 3))
    ids, codes = np.array([rng.permutation(200)[:10] for _ in query]), [rng.integers(0, 2, (n, 8)) for n in (20, 200)]
    vectors, expected = hp.Nearest(query, database), []
    for row, items in zip(query, ids, strict=True):
        cosines = [Fraction(int(row @ item) ** 2, int(row @ row) * int(item @ item)) for item in database]
        expected.append(sum(cosines[item] >= sorted(cosines)[-10] for item in items) / 10)
    for searched in (None, tuple(codes)):
        np.testing.assert_allclose(hp.attribute(ids, searched, vectors, k=10).per_query["results"].recall, expected)


def test_by_hand():
    """One item at distance 0, three at 1, of which one is the second nearest by the vectors, and one at 2; K = 2."""
    codes = [[0, 0]], [[0, 0], [0, 1], [0, 1], [1, 0], [1, 1]]
    vectors = hp.Nearest([[0.0]], [[0.0], [5.0], [1.0], [6.0], [7.0]], distance="euclidean")
    engines = {"lucky": [[0, 2]], "unlucky": [[0, 1]], "one wrong": [[0, 4]], "none": [[4, 3]]}
    result = hp.attribute(engines, codes, vectors)
    third = 1 / 6  # the expected share of the second nearest: 1/3 of 1/2
    parts = {row.name: (row.recall, row.lost_to_index, row.lost_to_ties, row.exact) for row in result.rows}
    assert parts["lucky"] == pytest.approx((1, 0, -2 * third, 1))
    assert parts["unlucky"] == pytest.approx((0.5, 0, third, 1))
    assert parts["one wrong"] == pytest.approx((0.5, third, 0, 0.5))
    assert parts["none"] == pytest.approx((0, 0.5, third, 0.5))  # repaired: items 0 and 3
    assert all(row.lost_to_code == pytest.approx(1 / 3) for row in result.rows)
    assert (result.rows[0].least_lost_to_ties, result.rows[0].most_lost_to_ties) == pytest.approx((-2 * third, third))
    assert not result.faults
    engine = hp.attribute([[0, 2]], codes, vectors, k=1)
    assert "ties change the recall of an exact search by +0.00 to +0.00" in str(engine)
    for ids, hint in (([[7, 2]], "7 of 5 from 0; -1 means no item"), ([[9, 8]], "pass own ids as --database-ids")):
        assert hint in hp.attribute(ids, codes, vectors).faults[0].example


@pytest.fixture(scope="module")
def exact():
    """Codes and vectors, and the results and distances of an exact search by each, without ties by the vectors.

    The distances of all items, the last value, ascend with the rank; an engine returns inner products themselves.
    """
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (30, 24)), rng.integers(0, 2, (200, 24))
    vectors = rng.normal(size=(30, 8)).astype(np.float32), rng.normal(size=(200, 8)).astype(np.float32)
    spaces = {distance: all_distances(*vectors, distance) for distance in ("euclidean", "cosine", "dot")}
    spaces["hamming"] = (codes[0][:, None] != codes[1]).sum(axis=2)

    def searched(space):
        ids = np.argsort(spaces[space], axis=1, kind="stable")[:, :K]
        inputs = {"codes": codes} if space == "hamming" else {"vectors": hp.Nearest(*vectors, distance=space)}
        return ids, np.take_along_axis(spaces[space], ids, axis=1).astype(np.float64), inputs, spaces[space]

    return searched


def farther(ids, distances, every):
    item = every[7].argmax()
    ids[7, 4], distances[7, 4] = item, every[7, item]


def duplicate(ids, distances, every):
    ids[7, 1], distances[7, 1] = ids[7, 0], distances[7, 0]


def too_large(ids, distances, every):
    ids[7, 2] = 200


def swapped(ids, distances, every):
    order = np.argsort(every[7], kind="stable")[[0, 1, 2, -1, 3]]
    ids[7], distances[7] = order, every[7, order]


def impossible(ids, distances, every):
    distances[7, 4] += 3


def not_a_number(ids, distances, every):
    distances[7, 1] = np.nan


def fewer(ids, distances, every):
    ids[7, 3:] = -1


SEEDED = {
    farther: {LEFT_OUT},
    duplicate: {"duplicate items", LEFT_OUT},
    too_large: {"ids out of range", LEFT_OUT},
    swapped: {"distances not sorted", LEFT_OUT},
    impossible: {"impossible distances"},
    not_a_number: {"impossible distances"},
    fewer: {"fewer than K items", LEFT_OUT},
}


@pytest.mark.parametrize("space", ["hamming", "euclidean", "cosine", "dot"])
@pytest.mark.parametrize("fault", SEEDED)
def test_every_seeded_fault_is_found_and_named(exact, space, fault):
    ids, distances, inputs, every = exact(space)
    sign = -1 if space == "dot" else 1
    assert not hp.attribute(ids, **inputs, distances=sign * distances, exact=True).faults
    fault(ids, distances, every)
    faults = {each.kind: each for each in hp.attribute(ids, **inputs, distances=sign * distances, exact=True).faults}
    assert set(faults) == SEEDED[fault]
    assert {(each.query, each.n_queries) for each in faults.values()} == {(7, 1)}
    # Only an engine that claims to be exact must not leave out items.
    assert set(faults) - {LEFT_OUT} == {x.kind for x in hp.attribute(ids, **inputs, distances=sign * distances).faults}


@pytest.mark.parametrize(
    ("space", "form", "expected"),
    [
        ("hamming", lambda h: h, "Hamming distances"),
        ("euclidean", lambda d: d, "Euclidean distances"),
        ("cosine", lambda d: d, "cosine distances"),
        ("dot", lambda d: -d, "inner products"),
        ("euclidean", np.square, "squared Euclidean distances"),
        ("cosine", lambda d: np.sqrt(2 * d), "Euclidean distances of unit vectors"),
        ("cosine", lambda d: 2 * d, "squared Euclidean distances of unit vectors"),
        ("dot", lambda d: 1 + d, "1 - inner products"),
        ("euclidean", lambda d: 1e9 * d**3, f"{UNKNOWN} ascending with the rank"),
        ("cosine", lambda d: 1 - d, "cosines of the vectors"),
        ("cosine", lambda d: 2 - d, f"{UNKNOWN} descending with the rank"),
        ("dot", lambda d: d, "minus inner products"),
        ("hamming", lambda h: 24 - h, f"{UNKNOWN} descending with the rank"),
        ("hamming", lambda h: h / 24, "Hamming distances / code length"),
        ("hamming", lambda h: np.round(h / 24, 2), "Hamming distances / code length rounded to 0.01"),
        ("cosine", lambda d: np.round(d, 2), "cosine distances rounded to 0.01"),
        ("euclidean", lambda d: d.astype(np.float16), "Euclidean distances in float16"),
        ("euclidean", lambda d: np.round(d + 0.1 * (d == d.max()), 2), f"{UNKNOWN} ascending with the rank"),
        ("cosine", lambda d: np.round(d, 1), f"{UNKNOWN} ascending with the rank"),  # too few steps
    ],
)
def test_kinds_of_distances(exact, space, form, expected):
    ids, distances, inputs, _ = exact(space)
    result = hp.attribute(ids, **inputs, distances=form(distances).astype(np.float32))
    assert result.rows[0].distances == expected
    assert not result.faults
    assert f"distances of results: {expected}" in " ".join(str(result).split())
    assert not result.warnings


def test_distances_of_no_known_kind_must_be_sorted(exact):
    ids, distances, inputs, _ = exact("euclidean")
    distances[7, 3] = distances[7, 2] - 0.1
    (fault,) = hp.attribute(ids, **inputs, distances=1 - distances**3).faults
    a, b = 1 - distances[7, 2:4] ** 3
    assert (fault.kind, fault.query, fault.n_queries) == ("distances not sorted", 7, 1)
    assert fault.example == f"item {ids[7, 3]} was returned with distance {b:.6g} after {a:.6g}"


@pytest.mark.parametrize("given", [None, np.square, np.array])
def test_results_and_distances_of_another_metric_are_named(exact, given):
    """Lengths differ, so that exact results by the Euclidean distance are not the nearest by the cosine."""
    ids, distances, inputs, apart = exact("euclidean")
    sides = inputs["vectors"].query, inputs["vectors"].database
    by_cosine = np.argsort(all_distances(*sides, "cosine"), axis=1)[:, :K]
    recall = np.mean([len({*a} & {*b}) / K for a, b in zip(ids.tolist(), by_cosine.tolist(), strict=True)])
    vectors = hp.Nearest(*sides, distance="cosine")
    (warning,) = hp.attribute(ids, vectors=vectors, distances=given and given(distances)).warnings
    said = f"results: the recall of 30 queries is {recall:.4f} by cosine, but 1.0000 by euclidean."
    assert warning == f'{said} Did you mean --distance euclidean (in Python, distance="euclidean")?'
    ids[:20] = np.argsort(-apart, axis=1)[:20, :K]  # that 10 queries are exact proves nothing without the distances
    distances = given and given(np.take_along_axis(apart, ids, axis=1))
    disordered, *named = hp.attribute(ids, vectors=vectors, distances=distances).warnings
    assert ("20 of 30 queries found none of" in disordered, len(named)) == (True, given is not None)
    fair = np.argsort(apart, axis=1)[:, [0, 1, 2, 4, 9]]
    (warning,) = hp.attribute(fair, vectors=vectors).warnings
    assert "but 0.8000 by euclidean. Did you mean" in warning
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
    outputs = hp.Outputs(sides[0], "euclidean"), sides[1]
    said = "ranked by euclidean, but the truth is by cosine: --distance euclidean, or --ranking cosine (in Python"
    assert hp.attribute(ids, outputs, vectors).warnings[0].startswith(said)
    assert said not in "".join(hp.attribute(ids, outputs, hp.Nearest(*unit)).warnings)
    restored = hp.Outputs(unit[0], "euclidean"), np.round(unit[1], 1)
    assert said not in "".join(hp.attribute(ids, restored, vectors).warnings)
    apart = all_distances(*unit, "euclidean")
    ids = np.argsort(apart, axis=1)[:, :K]
    given = np.take_along_axis(apart, ids, axis=1)
    assert not hp.attribute(ids, vectors=hp.Nearest(*unit), distances=given, exact=True).warnings


@pytest.mark.parametrize(("n_wrong", "kind"), [(14, "Hamming distances"), (15, f"{UNKNOWN} ascending with the rank")])
def test_a_kind_that_half_of_the_queries_contradict_is_not_named(exact, n_wrong, kind):
    """One of the five distances of a query is enough to contradict."""
    ids, distances, inputs, _ = exact("hamming")
    distances[:n_wrong, -1] += 1
    result = hp.attribute(ids, **inputs, distances=distances)
    assert result.rows[0].distances == kind
    expected = {"impossible distances": n_wrong} if n_wrong == 14 else {}
    assert {fault.kind: fault.n_queries for fault in result.faults} == expected


def test_items_beyond_the_precision_of_float32_are_ties():
    """The second item is farther by less than float32 can represent, so an exact engine may return it."""
    vectors = hp.Nearest([[1000.0]], [[1001.0], [998.9999999]], distance="euclidean")
    assert not hp.attribute([[1]], vectors=vectors, exact=True).faults
    vectors = hp.Nearest([[1000.0]], [[1001.0], [990.0]], distance="euclidean")
    assert [fault.kind for fault in hp.attribute([[1]], vectors=vectors, exact=True).faults] == [LEFT_OUT]


def test_files(exact, tmp_path, caplog):
    caplog.set_level("INFO")
    ids, _, inputs, _ = exact("hamming")
    ids[4, 1:] = ids[3, 1:]
    np.save(tmp_path / "a.npy", ids)
    names = [f"query-{query}" for query in range(30)], [f"doc:{item}" for item in range(200)]
    for file, (queries, items) in {"c.run": (range(30), range(200)), "d.run": names}.items():
        ranks = [(query, rank, item) for query in range(30) for rank, item in enumerate(ids[query])]
        lines = [f"{queries[query]} Q0 {items[item]} 1 {-rank} x\n" for query, rank, item in ranks]
        (tmp_path / file).write_text("".join(lines[::-1]))
    (tmp_path / "e.txt").write_text("".join(" ".join(names[1][item] for item in row) + "\n" for row in ids))
    np.save(tmp_path / "f.npy", np.array(names[1])[ids])
    rows = [",".join([names[0][query], *(names[1][item] for item in ids[query])]) for query in reversed(range(30))]
    (tmp_path / "g.csv").write_text("\n".join(["query,n1,n2,n3,n4,n5", *rows]))
    (tmp_path / "h.csv").write_text("\n".join(rows))
    blanks = [f"{item}, a b.jpg" for item in range(200)]
    (tmp_path / "i.csv").write_text("\n".join(",".join(f'"{blanks[item]}"' for item in row) for row in ids))
    expected = hp.attribute(ids, **inputs)
    own = np.arange(5_000, 4_800, -1)
    for dtype in (np.int64, np.float64, str):  # numbers that can't be row numbers are ids; a matrix needs no others
        numbered = hp.attribute(own[ids].astype(dtype), **inputs, ids=(None, own.tolist()))
        np.testing.assert_array_equal(numbered.per_query["results"].exact, expected.per_query["results"].exact)
    assert re.search(
        "results: ids of the database, because 48.. is not a row number of 200 database items", caplog.text
    )
    with_ids = {file: {"ids": names} for file in ("a.npy", "d.run", "e.txt", "f.npy", "g.csv", "h.csv")}
    for file, options in ({"a.npy": {}, "c.run": {}, "i.csv": {"ids": (None, blanks)}} | with_ids).items():
        result = hp.attribute(tmp_path / file, **inputs, **options)
        np.testing.assert_array_equal(result.per_query[file[0]].exact, expected.per_query["results"].exact)
    with pytest.raises(ProtocolError, match=r"d\.run: 'query-29' is not in the list of ids\.$"):
        hp.attribute(tmp_path / "d.run", **inputs, ids=([str(query) for query in range(30)], names[1]))


CODES = np.zeros((30, 8), int), np.zeros((200, 8), int)
IDS, ROWS = np.zeros((30, 5), int), "expected row numbers from 0 to"
REFUSED = [
    ("0 Q0 doc-7 1 2.0 x\n", {}, "x.run: query '0' or its items have ids. Pass their lists, --query-ids and"),
    ("0 Q0 7 1 2.0 x\n0 Q0 8 2 3.5 x\n", {}, "x.run: scores ascend with the rank. If they are distances, write minus"),
    ("30 Q0 7 1 2.0 x\n", {}, rf"x.run: queries: {ROWS} 29, got 30 to 30\. Since 0 is missing, they may count"),
    (IDS, {"codes": None}, "codes and vectors are missing"),
    ({}, {}, "results are missing"),
    (np.add(IDS, [-1, 200, 1, 2, 3]), {}, rf"results: {ROWS} 199, got 1 to 200\. Since 0 is missing"),
    (IDS[:9], {}, "results: 9 rows for 30 queries"),
    (IDS, {"k": 201}, "neighbours must be an integer from 1 to 200, got 201"),
    ({"a": IDS}, {"distances": {"b": IDS}}, "distances must be a mapping with the names of the results"),
    ({"a": IDS}, {"distances": IDS}, "distances must be a mapping with the names of the results"),
    ("1 2\n3 4\n3\n", {}, "x.txt: '3' has an empty cell, or fewer than other rows. Write -1 where there is no item"),
    ("1,2\n,3\n", {}, "x.txt: ',3' has an empty cell, or fewer than other rows"),
    (np.where(IDS == 0, np.nan, 0), {}, "results: expected row numbers, where -1 means no item, got nan"),
    (IDS, {"distances": IDS[:, 1:]}, r"results: distances of shape .30, 4. for results of shape .30, 5."),
]


TREC = "Lines of a query, an item and a score are read as a run of TREC: F.run with `query Q0 item rank score tag`, "
TREC += "whose score is minus the distance, or the similarity."
NUMBERED = [list(map(str, range(30))), [str(item) for item in range(199, -1, -1)]]
REFUSED += [
    ("q0\tdoc-7\t0.5\n", {}, rf"x.txt: '.*' is neither a row number nor an id of the database\. {TREC}"),
    ("query,item,rank,distance\n0,7,1,3\n0,6,2,4\n", {}, rf"x.txt: 2 rows for 30 queries\. {TREC}"),
    ("0 7\n" * 30, {"ids": NUMBERED}, r"x.txt: '0' may be an id or a row number\. Save a run of TREC if they are ids"),
    ("q 7\n" * 30, {"ids": (None, NUMBERED[1])}, "x.txt: .* If lines begin with ids of queries, pass these as well"),
    ("1.0 2.0\n" * 30, {"ids": (None, [f"{item}.0" for item in NUMBERED[1]])}, "x.txt: .1.0. may be an id or a row"),
    ("0 250\n" * 30, {"ids": NUMBERED}, r"x.txt: '250' is neither a row number nor an id of the database"),
]


@pytest.mark.parametrize("space", ["hamming", "euclidean", "cosine", "dot"])
def test_items_that_count_from_one_are_refused_by_their_distances(exact, space):
    ids, _, inputs, _ = exact(space)
    said = (
        r"results: .*% of the items .*% of those with numbers one below\. They may count from 1: subtract 1 from each"
    )
    ids = np.where(ids == 199, -1, ids + 1)
    refuses(said, hp.attribute, ids, **inputs)
    ids[:, 1:] = -1  # the engine finds one item in five
    refuses(said, hp.attribute, np.where(ids == -1, 0, ids), **inputs)  # of -1, 1 was added as well
    ids[:, 0] = np.arange(30)
    refuses("results: the first column counts the rows, and few of these items are near", hp.attribute, ids, **inputs)


def test_results_that_are_no_better_than_random_ones_are_doubted(exact):
    ids, _, inputs, _ = exact("cosine")
    assert not hp.attribute(ids, **inputs).warnings
    (warning,) = hp.attribute(np.roll(ids, 1, axis=0), **inputs).warnings
    assert re.fullmatch(
        r"results: \d.\d\d% of the items are among the K nearest, of random ones 2.50%. Are .*", warning
    )
    half = np.concatenate([np.roll(ids[:15], 1, axis=0), ids[15:]])
    (warning,) = hp.attribute(half, **inputs).warnings
    said = "of 30 queries found none of their K nearest items, but half of the others most of them. Are some"
    assert re.match(rf"results: 1\d {said}", warning)
    inputs["codes"] = [side > 0 for side in (inputs["vectors"].query, np.roll(inputs["vectors"].database, 50, axis=0))]
    assert hp.attribute(ids, **inputs).warnings[0].startswith("codes: ")


def test_items_that_float32_can_not_tell_from_the_neighbours_are_counted_and_named(exact):
    _, _, inputs, apart = exact("euclidean")
    order = np.argsort(apart, axis=1)
    ids = np.delete(order[:, : K + 1], K - 1, axis=1)  # without the K-th
    sides = inputs["vectors"].query, inputs["vectors"].database
    (near, near_warnings), (far, (warning,)) = (
        (one.rows[0].recall, one.warnings)
        for one in (
            hp.attribute(ids, vectors=hp.Nearest(*(side + at for side in sides), distance="euclidean"))
            for at in (0, 300)
        )
    )
    assert (near, near_warnings) == (pytest.approx(1 - 1 / K), ())
    assert far > near + 0.05
    said = "results: the recall is 0.8000 without items that float32 can't tell from the K-th. Subtract the mean"
    assert warning.startswith(said)


def test_queries_that_are_left_out_of_their_own_results_are_named(exact):
    _, _, inputs, _ = exact("euclidean")
    vectors = hp.Nearest(inputs["vectors"].database[:50], inputs["vectors"].database, distance="euclidean")
    ids = np.argsort(all_distances(vectors.query, vectors.database, "euclidean"), axis=1)
    (warning,) = hp.attribute(ids[:, 1 : K + 1], vectors=vectors).warnings
    assert warning.startswith(
        "results: 50 of 50 queries have an item at distance 0, perhaps themselves, and none found it"
    )
    (warning,) = hp.attribute(ids[:, :K], vectors=vectors).warnings
    assert warning == "results: 50 queries of 50 found an item at distance 0: perhaps themselves"


@pytest.mark.parametrize(("results", "options", "message"), REFUSED)
def test_refusals(tmp_path, results, options, message):
    if isinstance(results, str):
        file = tmp_path / ("x.run" if " Q0 " in results else "x.txt")
        file.write_text(results)
        results = file
    refuses(message, hp.attribute, results, **{"codes": CODES} | options)


def test_command(exact, here, capsys):
    ids, distances, inputs, every = exact("hamming")
    for name, array in [("ids", ids), ("d", distances), ("q", inputs["codes"][0]), ("db", inputs["codes"][1])]:
        np.save(f"{name}.npy", array)
    command = ["recall", "--query-codes", "q.npy", "--database-codes", "db.npy", "--results", "ids.npy"]
    assert main([*command, "--distances", "d.npy", "--exact", "--json", "out.json"]) == 0
    first = "30 queries, 200 database items; the 5 nearest by code, with ties 5 to 15 items, which all count\n"
    assert capsys.readouterr().out.startswith(first)
    content = json.loads((here / "out.json").read_text())["attribution"]
    assert ([(row["name"], row["recall"]) for row in content["rows"]], content["faults"]) == ([("ids", 1)], [])
    farther(ids, distances, every)
    np.save("ids.npy", ids)
    np.savetxt("i.txt", range(200), "%d")
    assert main([*command, "--exact", "--neighbours", "5", "1", "--json", "out.json", "--database-ids", "i.txt"]) == 1
    assert [each["attribution"]["k"] for each in json.loads((here / "out.json").read_text())] == [5, 1]
    printed = capsys.readouterr().out
    assert "ids: nearer items left out (1 query, first query 7: item" in printed
    assert printed.index("recall@5") < printed.index("\n\n30 queries") < printed.index("recall@1")
