"""Judged pairs: the shipped tables, pairs from files, and the affected queries of a split."""

from pathlib import Path

import numpy as np
import pytest

import protocol as hp
from protocol.auditing import SHIPPED, Split, known_pairs_for
from protocol.auditing.checks import audit_splits
from protocol.auditing.items import Dataset
from protocol.auditing.known_pairs import EXACT, NEAR, SIMILAR, KnownPairs
from protocol.auditing.runs import Run

COUNTS = {"cifar10": (0, 249, 37), "cifar100": (39, 582, 270)}
IDS = np.array(
    [f"data_batch_{row // 10_000 + 1}/{row % 10_000:05d}" for row in range(50_000)]
    + [f"test_batch/{row:05d}" for row in range(10_000)]
)
QUERY, TRAIN = 50_000 + 159, 25_768  # judged a near-duplicate
SIMILAR_QUERY, SIMILAR_TRAIN = 50_000 + 9_413, 2_342


@pytest.mark.parametrize("name", SHIPPED)
def test_the_tables_are_unchanged_copies_of_those_of_cifair(shared, name):
    table = Path(hp.__file__).parent / "auditing" / "known_pairs" / f"{name}.csv"
    published = shared / "data" / "near_duplicates" / f"{name}_test_train.csv"
    assert table.read_text().splitlines() == published.read_text().splitlines()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_pair_is_of_a_test_and_a_training_image(name):
    known = known_pairs_for(name, Dataset())
    assert tuple(np.bincount(known.judgement)) == COUNTS[name]
    test, train = known.pairs.T
    assert (len(np.unique(test)), test.min() >= 50_000, test.max() < 60_000) == (len(test), True, True)
    assert train.max() < 50_000


def test_row_numbers_and_ids_name_the_same_images():
    plain = known_pairs_for("cifar10", Dataset(n_items=60_000)).pairs
    by_id = known_pairs_for("cifar10", Dataset(n_items=60_000, ids=IDS)).pairs
    order = np.random.default_rng(0).permutation(60_000)
    shuffled = Dataset(n_items=60_000, ids=IDS[order])
    np.testing.assert_array_equal(by_id, plain)
    np.testing.assert_array_equal(order[known_pairs_for("cifar10", shuffled).pairs], plain)
    few = known_pairs_for("cifar10", Dataset(ids=IDS[[TRAIN, 5, QUERY]]))
    assert few.pairs[(few.pairs >= 0).all(axis=1)].tolist() == [[2, 0]]
    cifar100 = np.array([f"train/{row:05d}" for row in range(50_000)] + [f"test/{row:05d}" for row in range(10_000)])
    by_id, by_row = (known_pairs_for("cifar100", one).pairs for one in (Dataset(ids=cifar100), Dataset()))
    np.testing.assert_array_equal(by_id, by_row)


def test_the_closest_pair_of_each_query_matches_a_naive_loop():
    rng = np.random.default_rng(1)
    for _ in range(20):
        pairs, judgement = rng.integers(0, 30, (40, 2)), rng.integers(0, 3, 40)
        parts = {part: rng.choice(30, 10, replace=False) for part in ("query", "database", "train")}
        known, split = KnownPairs("x", pairs, judgement), Split(parts, Dataset())
        slow = {}
        for query in sorted(parts["query"].tolist()):
            options = [
                (int(judged), int(b))
                for pair, judged in zip(pairs, judgement, strict=True)
                for a, b in (pair, pair[::-1])
                if a == query != b and (b in parts["database"] or b in parts["train"])
            ]
            if options:
                slow[query] = min(options)[::-1]
        queries, partners, judged = known.best(split, "database", "train")
        assert dict(zip(queries.tolist(), zip(partners.tolist(), judged.tolist(), strict=True), strict=True)) == slow
        near = [query for query, (_, judged) in slow.items() if judged < SIMILAR]
        places = [place for place, query in enumerate(parts["query"].tolist()) if query in near]
        assert known.queries(split).tolist() == places


def findings(parts, values=None, name=None):
    dataset = Dataset(n_items=60_000, name=name)
    split = Split({part: np.array(items) for part, items in parts.items()}, dataset)
    run = Run("x", split, judged=known_pairs_for(values, dataset))
    return [one for one in audit_splits([run])["x"] if one.name == "known-near-duplicate"]


def test_a_finding_for_the_database_and_one_for_the_training_set():
    parts = {"query": [QUERY, SIMILAR_QUERY, 3], "database": [TRAIN, SIMILAR_TRAIN, 7, 8], "train": [TRAIN, 7]}
    of_database, of_train = findings(parts, "cifar10")
    assert (of_database.severity, of_database.count) == (of_train.severity, of_train.count) == ("warning", 1)
    assert (of_database.items, of_database.partners) == ((str(QUERY),), (str(TRAIN),))
    assert of_database.consequence == (
        "According to ciFAIR (Barz and Denzler 2020), 1 of 3 queries has a near-duplicate in the database (exact "
        "copies: 0); with only a very similar item, which does not count: 1; only pairs of an official test and an "
        "official training image were judged; row numbers are assumed to count the 50,000 training images, then the "
        "10,000 test images."
    )
    assert "in the training set (exact copies: 0); only pairs of" in of_train.consequence
    turned = {"query": [TRAIN], "database": [QUERY, 7]}
    assert [(one.items, one.partners) for one in findings(turned, "cifar10")] == [((str(TRAIN),), (str(QUERY),))]
    parts = {"query": [QUERY], "database": [TRAIN]}
    assert len(findings(parts, name="cifar10")) == 1  # the pairs of a dataset are known by its name
    assert findings(parts) == findings(parts, name="digits") == findings(parts, name="cifar100") == []


OF_JUDGEMENTS = {EXACT: ["warning", "error"], NEAR: ["warning"] * 2, SIMILAR: [], "exact copy": ["warning", "error"]}


@pytest.mark.parametrize(("judgement", "severities"), OF_JUDGEMENTS.items())
def test_an_exact_copy_in_the_training_set_is_an_error(tmp_path, judgement, severities):
    (tmp_path / "a.csv").write_text(f"query,database,judgement\n1,2,{judgement}\n")
    found = findings({"query": [1], "database": [2], "train": [2]}, tmp_path / "a.csv")
    assert [one.severity for one in found] == severities
