"""Judged pairs: the shipped tables, pairs from files, and the affected queries of a split."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from audited import audit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import protocol as hp
from protocol import datasets
from protocol.auditing import (
    SHIPPED,
    Dataset,
    Known,
    Run,
    Split,
    audit_splits,
    known_pairs_for,
)
from protocol.auditing.inputs import known_pairs
from protocol.auditing.inputs.known_pairs import EXACT, NEAR, SIMILAR, KnownPairs, known_pairs_from
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.evaluation.exclusion import excluded_rows
from protocol.provenance import storage
from protocol.splits import write_list

COUNTS = {"cifar10": (0, 249, 37), "cifar100": (39, 582, 270)}
OFFICIAL = {"train": np.arange(50_000), "test": np.arange(50_000, 60_000)}
IDS = np.array(
    [f"data_batch_{row // 10_000 + 1}/{row % 10_000:05d}" for row in range(50_000)]
    + [f"test_batch/{row:05d}" for row in range(10_000)]
)
QUERY, TRAIN = 50_000 + 159, 25_768  # judged a near-duplicate
SIMILAR_QUERY, SIMILAR_TRAIN = 50_000 + 9_413, 2_342


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_tables_are_unchanged_copies_of_those_of_cifair(shared, name):
    table = Path(hp.__file__).parent / "auditing" / "inputs" / "known_pairs" / f"{name}.csv"
    assert rows_of(table) == rows_of(shared / "data" / "near_duplicates" / f"{name}_test_train.csv")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_pair_is_of_a_test_and_a_training_image(name):
    known = known_pairs_from(name, Dataset())
    assert tuple(np.bincount(known.judgement)) == COUNTS[name]
    test, train = known.pairs.T
    assert test.min() >= 50_000
    assert test.max() < 60_000
    assert train.max() < 50_000
    assert len(np.unique(test)) == len(test)
    assert "Barz" in known.source


def test_row_numbers_ids_and_official_parts_name_the_same_images():
    plain = known_pairs_from("cifar10", Dataset(n_items=60_000)).pairs
    by_id = known_pairs_from("cifar10", Dataset(n_items=60_000, ids=IDS)).pairs
    order = np.random.default_rng(0).permutation(60_000)
    shuffled = Dataset(n_items=60_000, ids=IDS[order])
    official = {name: np.argsort(order)[rows] for name, rows in OFFICIAL.items()}
    np.testing.assert_array_equal(by_id, plain)
    np.testing.assert_array_equal(order[known_pairs_from("cifar10", shuffled).pairs], plain)
    by_part = known_pairs_from("cifar10", Dataset(n_items=60_000, official=official))
    np.testing.assert_array_equal(order[by_part.pairs], plain)
    few = known_pairs_from("cifar10", Dataset(ids=IDS[[TRAIN, 5, QUERY]]))
    assert few.pairs.tolist() == [[2, 0]]
    cifar100 = np.array([f"train/{row:05d}" for row in range(50_000)] + [f"test/{row:05d}" for row in range(10_000)])
    np.testing.assert_array_equal(
        known_pairs_from("cifar100", Dataset(ids=cifar100)).pairs, known_pairs_from("cifar100", Dataset()).pairs
    )


def test_the_pairs_are_of_images_that_look_alike(shared):
    """On real data, the two images of a judged near-duplicate are nearly equal, and those of other pairs are not."""
    archive = "cifar-10-binary.tar.gz"
    data = datasets.load("cifar10", {archive: shared / "data" / "cifar10" / archive}, {})
    assert data.ids.tolist() == IDS.tolist()
    known = known_pairs_from("cifar10", Dataset(ids=data.ids, official=data.partitions))

    def cosine(pairs):
        first, second = (data.images[side].reshape(len(pairs), -1).astype(np.float64) for side in pairs.T)
        first, second = (side - side.mean(axis=1, keepdims=True) for side in (first, second))
        return (first * second).sum(axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)

    near = known.pairs[known.judgement == NEAR]
    assert np.median(cosine(near)) > 0.89
    assert np.median(cosine(np.stack([near[:, 0], np.roll(near[:, 1], 1)], axis=1))) < 0.1
    assert (data.labels[near[:, 0]] == data.labels[near[:, 1]]).all()


def test_the_closest_pair_of_each_query_matches_a_naive_loop():
    rng = np.random.default_rng(1)
    for _ in range(50):
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
        assert known.queries(split).tolist() == [
            place for place, query in enumerate(parts["query"].tolist()) if query in near
        ]


def findings(parts, values=None, name=None):
    dataset = Dataset(n_items=60_000, name=name)
    known = Known(judged=known_pairs_for(values, dataset))
    run = Run("x", Split({part: np.array(items) for part, items in parts.items()}, dataset), known=known)
    return [one for one in audit_splits([run])["x"] if one.name == "known-near-duplicate"]


def test_a_finding_for_the_database_and_one_for_the_training_set():
    parts = {"query": [QUERY, SIMILAR_QUERY, 3], "database": [TRAIN, SIMILAR_TRAIN, 7, 8], "train": [TRAIN, 7]}
    of_database, of_train = findings(parts, "cifar10")
    assert (of_database.severity, of_database.count) == (of_train.severity, of_train.count) == ("warning", 1)
    assert (of_database.items, of_database.partners) == ((str(QUERY),), (str(TRAIN),))
    assert of_database.consequence == (
        "According to ciFAIR (Barz and Denzler 2020), 1 of 3 queries has a near-duplicate in the database (0 of "
        "them an exact copy); 1 more has a very similar item, which does not count; only pairs of an official "
        "test and an official training image were judged."
    )
    assert "in the training set (0 of them an exact copy); only pairs" in of_train.consequence
    turned = {"query": [TRAIN], "database": [QUERY, 7]}
    assert [(one.items, one.partners) for one in findings(turned, "cifar10")] == [((str(TRAIN),), (str(QUERY),))]


def test_pairs_of_the_dataset_are_found_by_its_name_alone():
    parts = {"query": [QUERY], "database": [TRAIN]}
    assert len(findings(parts, name="cifar10")) == 1
    assert findings(parts) == findings(parts, name="digits") == findings(parts, name="cifar100") == []
    assert findings({"query": [QUERY], "database": [TRAIN + 1]}, name="cifar10") == []


@pytest.mark.parametrize(("judgement", "severities"), [(EXACT, ["warning", "error"]), (NEAR, ["warning"] * 2)])
def test_an_exact_copy_in_the_training_set_is_an_error(judgement, severities):
    found = findings({"query": [1], "database": [2], "train": [2]}, [[1, 2, judgement]])
    assert [one.severity for one in found] == severities


def test_very_similar_items_alone_are_not_a_finding():
    assert findings({"query": [1], "database": [2]}, [[1, 2, SIMILAR]]) == []


FILES = {
    "row numbers": ("query,database,judgement\n4,9,1\n5,9,2\n", Dataset(n_items=10), [[4, 9], [5, 9]]),
    "ids": ("query,database,distance,judgement\na,b,0.1,0\na,x,0.2,1\n", Dataset(ids=np.array(["b", "a"])), [[1, 0]]),
    "official": ("TestID,TrainID,Distance,Judgment\n1,2,0.1,0\n", Dataset(n_items=60_000), [[50_001, 2]]),
    "not judged": ("query,database,judgement,note\n4,9,,\n5,9,1,yes\n\n", Dataset(), [[5, 9]]),
    "parts": (
        "TestID,TrainID,Distance,Judgment\r\n1,2,0.1,0\r\n",
        Dataset(official={"test": np.array([5, 4]), "train": np.array([9, 8, 7])}),
        [[4, 7]],
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_files(tmp_path, case):
    text, dataset, pairs = FILES[case]
    (tmp_path / "pairs.csv").write_bytes(text.encode())
    assert known_pairs_from(tmp_path / "pairs.csv", dataset).pairs.tolist() == pairs


OWN = "query,database,judgement\n"
WRONG = {
    "no such file": (None, Dataset(), r"pairs\.csv: expected a table of judged pairs, got no such file\."),
    "empty": ("", Dataset(), r"expected the columns query,database\[,distance\],judgement or TestID,.*, got ''\."),
    "header": ("a,b\n1,2\n", Dataset(), r"expected the columns .*, got 'a,b'\."),
    "no row": (OWN, Dataset(), r"pairs\.csv: expected one judged pair per line, got none\."),
    "judgement": (f"{OWN}1,2,4\n", Dataset(), r"line 2: expected the judgement 0 \(exact copy\).*, got '4'\."),
    "fields": (f"{OWN}1,2\n", Dataset(), r"line 2: expected 3 fields, got 2\."),
    "ids in place of rows": (f"{OWN}a,b,1\n", Dataset(), r"line 2: expected two item numbers, got 'a'\."),
    "range": (f"{OWN}1,20,1\n", Dataset(n_items=10), r"expected row numbers from 0 to 9, got 1 to 20\."),
    "other ids": (f"{OWN}a,b,1\n", Dataset(ids=np.array(["c"])), r"items, such as 'c', got none; the first pair is"),
    "quotes": (f'{OWN}"1,2,1\n', Dataset(), r"expected a table of judged pairs, got lines that can't be read"),
    "numbers of cifar": ("TestID,TrainID,Judgment\n10000,0,1\n", Dataset(), r"test images up to 9999, got 10000\."),
    "official numbers": (
        "TestID,TrainID,Judgment\n9,0,1\n",
        Dataset(official={"test": np.arange(3), "train": np.arange(3, 9)}),
        r"expected numbers of test images up to 2, got 9\.",
    ),
}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=60),
        st.lists(st.sampled_from(["1", "2", ",", "\n", "a", '"', "-", "9" * 30, ""]), max_size=30).map(
            lambda parts: (OWN + "".join(parts)).encode()
        ),
    )
)
def test_any_file_is_read_or_refused_in_one_line(tmp_path, content):
    (tmp_path / "pairs.csv").write_bytes(content)
    messages = []
    for read in (
        lambda path: known_pairs_from(path, Dataset()),
        lambda path: known_pairs_from(path, Dataset(ids=np.array(["1", "a"]))),
        lambda path: excluded_rows(path, 5),
    ):
        try:
            read(tmp_path / "pairs.csv")
        except ProtocolError as error:
            messages.append(str(error))
    assert not any("\n" in message for message in messages)


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_refused_in_one_line(tmp_path, case):
    text, dataset, message = WRONG[case]
    if text is not None:
        (tmp_path / "pairs.csv").write_text(text)
    with pytest.raises(ProtocolError, match=message) as error:
        known_pairs_from(tmp_path / "pairs.csv", dataset)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "dataset", "message"),
    [
        ("cifar", Dataset(), r"^known_pairs: expected cifar10, cifar100 or the path of a file, got 'cifar'\.$"),
        ("cifar10", Dataset(n_items=100), r"^cifar10: expected row numbers of 60,000 images, .*, got 100 items\.$"),
        ("cifar10", Dataset(ids=np.array(["a"])), r"^cifar10: expected ids such as 'test_batch/00000', got 'a'\."),
        ("", Dataset(), r"^known_pairs: expected cifar10, cifar100 or the path of a file, got ''\.$"),
        ("cifar100", Dataset(n_items=60_000, official=OFFICIAL, name="cifar10"), r"^known_pairs: expected pairs"),
        (np.zeros((0, 3)), Dataset(), r"^known_pairs: expected one judged pair per row, got none\.$"),
        ([[1, 2]], Dataset(), r"^known_pairs: expected row numbers of two items and a judgement, shape \(n, 3\)"),
        ([[1, 2, 5]], Dataset(), r"^known_pairs: expected judgements 0, 1 or 2, got 5\.$"),
        ([[1, -2, 1]], Dataset(), r"^known_pairs: expected row numbers >= 0, got -2 to 1\.$"),
    ],
)
def test_wrong_names_and_arrays_are_refused(values, dataset, message):
    with pytest.raises(ProtocolError, match=message):
        known_pairs_from(values, dataset)


ASSUMED = "row numbers are assumed to count the 50,000 training images, then the 10,000 test images"


def test_the_audit_reports_the_meaning_of_row_numbers_and_the_number_of_pairs_in_the_split(tmp_path):
    found = audit(query=np.arange(50_000, 60_000), database=np.arange(50_000), known_pairs="cifar10")
    (about,) = found.about.values()
    assert (
        f"Judged pairs (ciFAIR (Barz and Denzler 2020)): {ASSUMED}; 286 of 286 pairs have both items in this split."
        in about
    )
    few = audit(query=[QUERY, 3], database=[TRAIN], known_pairs="cifar10")
    assert any(f"{ASSUMED}; 1 of 286 pairs has both items" in sentence for sentence in few.about["query database"])
    (tmp_path / "pairs.csv").write_text(f"{OWN}a,b,1\nb,c,0\nx,y,2\n")
    lists = {"query": ["a"], "database": ["c", "d"], "ids": ["a", "b", "c", "d"]}
    none = audit(**lists, known_pairs=tmp_path / "pairs.csv")
    expected = f"Judged pairs ({tmp_path / 'pairs.csv'}): 0 of 3 pairs have both items in this split."
    assert expected in none.about["query database"]


def test_row_numbers_beyond_the_dataset_are_refused():
    lists = {"query": np.arange(60_000, 71_000), "database": np.arange(50_000)}
    message = r"^cifar10: expected row numbers of 60,000 images, the training images first, up to 59999, got 70999\.$"
    with pytest.raises(ProtocolError, match=message):
        audit(**lists, known_pairs="cifar10")


def test_a_table_is_read_once_for_a_split(tmp_path, monkeypatch):
    (tmp_path / "pairs.csv").write_text(f"{OWN}1,2,1\n")
    opened, read = [], known_pairs._read
    monkeypatch.setattr(known_pairs, "_read", lambda path, **known: opened.append(path) or read(path, **known))
    assert audit(query=[1, 4], database=[2, 3], known_pairs=tmp_path / "pairs.csv").n_warnings == 1
    assert len(opened) == 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of the pipeline with a split of CIFAR-10's items, without the images."""
    monkeypatch.chdir(tmp_path)
    made = storage.provenance("dataset cifar10", parameters={}, inputs={})
    arrays = {"ids": IDS.astype("S"), "class_names": np.array([b"a"]), "labels": np.zeros(60_000, dtype=np.int64)}
    storage.write("items.h5", arrays | {f"partitions/{name}": rows for name, rows in OFFICIAL.items()}, made)
    parts = {"query": np.array([3, QUERY, SIMILAR_QUERY]), "database": np.arange(20_000, 50_000)}
    parts["train"] = np.arange(20_000, 21_000)
    inputs = {"labels": "items.h5"}
    storage.write("splits.h5", parts, storage.provenance("split from_lists", parameters={}, inputs=inputs))
    for name, rows in parts.items():
        write_list(f"{name}.txt", rows, IDS)
    return tmp_path


LISTS = ["--query", "query.txt", "--database", "database.txt"]


def test_the_command_finds_them_in_a_split_of_the_pipeline_and_by_name_in_lists(folder, capsys):
    assert main(["audit", "splits.h5", "--json", "a.json", "--write-affected", "affected.txt"]) == 0
    found = {one["finding"]: one for one in json.loads(Path("a.json").read_text())}
    pair = found["known-near-duplicate"]
    assert (pair["items"], pair["partners"], pair["severity"]) == ([IDS[QUERY]], [IDS[TRAIN]], "warning")
    assert f"{IDS[QUERY]} ~ {IDS[TRAIN]}\n" in capsys.readouterr().out
    assert Path("affected.txt").read_text() == "1\n"
    assert main(["audit", *LISTS]) == 0
    assert "known-near-duplicate (needs known pairs)" in " ".join(capsys.readouterr().out.split())
    assert main(["audit", *LISTS, "--known-pairs", "cifar10", "--fail-on", "warning"]) == 1
    assert "warning  known-near-duplicate: 1\n" in capsys.readouterr().out
    assert audit("splits.h5").affected["splits.h5"].tolist() == [1]


def test_an_unwritable_output_is_refused(folder, capsys):
    assert main(["audit", *LISTS, "--write-affected", "affected.txt"]) == 2
    assert capsys.readouterr().err == (
        "protocol: --write-affected: expected judged pairs of the dataset (--known-pairs), or label issues "
        "(--label-issues), got none.\n"
    )
    Path("other.h5").write_bytes(Path("splits.h5").read_bytes())
    assert main(["audit", "splits.h5", "other.h5", "--write-affected", "affected.txt"]) == 2
    assert "expected one split, since splits have different queries, got 2." in capsys.readouterr().err
    assert main(["audit", "splits.h5", "--write-affected", "splits.h5"]) == 2
    assert main(["audit", *LISTS, "--known-pairs", "query.txt", "--write-affected", "query.txt"]) == 2
    assert not Path("affected.txt").exists()


def test_the_evaluation_excludes_the_queries_that_the_audit_writes(folder):
    main(["audit", "splits.h5", "--write-affected", "affected.txt"])
    codes = np.random.default_rng(0).integers(0, 2, (13, 8))
    found = hp.evaluate(codes[:3], codes[3:], query_labels=[0, 1, 0], database_labels=[0, 1] * 5)
    assert found.without("affected.txt").excluded.tolist() == [1]
