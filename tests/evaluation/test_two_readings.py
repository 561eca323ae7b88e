"""Inputs that can be read in two ways are refused, or the output states how they were read."""

import json

import numpy as np
import pandas as pd
import pytest
from encoded import evaluated
from scipy import sparse

from protocol import codes
from protocol.checks import ProtocolError
from protocol.cli import main

RNG = np.random.default_rng(0)
QUERY, DATABASE = RNG.random((100, 16)) < 0.5, RNG.random((300, 16)) < 0.5
OF_QUERY, OF_DATABASE = np.arange(100) % 5, np.arange(300) % 5
HAMMING = (QUERY[:, None] != DATABASE).sum(axis=2)


def scored(query=QUERY, database=DATABASE, labels=(OF_QUERY, OF_DATABASE), **options):
    given = {} if "relevance" in options else dict(zip(("query_labels", "database_labels"), labels, strict=True))
    return evaluated(query, database, **{"metrics": ["mAP", "precision@r2"]} | given | options)


def head(found):
    """Return the line about the interpretation of the ground truth."""
    return str(found).split("\n")[1]


def columns(labels, n_classes):
    return labels[:, None] == np.arange(n_classes)


def test_labels_of_queries_that_the_database_lacks_are_printed():
    found = scored(labels=(OF_QUERY + 1, OF_DATABASE))
    assert found.queries_without_relevant == 20
    assert found.labels_not_in_database == (5,)
    assert head(found) == "20 of 100 queries have no relevant item; labels of queries that the database lacks: 5"
    assert head(found) in found._repr_html_()
    content = json.loads(found.to_json())
    assert content["queries_without_relevant"] == 20
    assert content["labels_not_in_database"] == [5]


def test_the_line_is_always_printed():
    assert head(scored()) == ("0 of 100 queries have no relevant item; labels of queries that the database lacks: none")


def test_labels_that_are_strings_and_columns_are_named():
    words = np.array(["ant", "bee", "cat", "dog", "eel", "fly"])
    found = scored(labels=(words[OF_QUERY + 1], words[OF_DATABASE]))
    assert found.labels_not_in_database == ("fly",)
    found = scored(labels=(columns(OF_QUERY + 1, 6), columns(OF_DATABASE, 6)))
    assert found.labels_not_in_database == (5,)
    assert found.queries_without_relevant == 20


def test_a_query_without_labels_has_no_relevant_item():
    found = scored(labels=(columns(OF_QUERY, 4), columns(OF_DATABASE, 4)))
    assert head(found).startswith(
        "20 of 100 queries have no relevant item; labels of queries that the database lacks: n"
    )


def test_many_labels_are_printed_in_part():
    found = scored(labels=(np.arange(100), np.zeros(300, int)))
    assert len(found.labels_not_in_database) == 99
    assert head(found).endswith("lacks: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 89 more")


@pytest.mark.parametrize(
    ("labels", "got"),
    [
        ((OF_QUERY + 5, OF_DATABASE), "5, 6, 7, 8, 9 for the queries and 0, 1, 2, 3, 4 for the database"),
        ((np.full(100, 9), np.arange(300) % 7), "9 for the queries and 0, 1, 2, 3, 4 and 2 more for the database"),
        ((["cat"] * 100, ["Cat"] * 300), "cat for the queries and Cat for the database"),
        ((np.eye(2)[[0] * 100], np.eye(2)[[1] * 300]), "0 for the queries and 1 for the database"),
        ((np.zeros((100, 2), int), np.eye(2)[[1] * 300]), "none for the queries and 1 for the database"),
    ],
    ids=["integers", "many", "strings", "columns", "no labels"],
)
def test_label_sets_without_a_shared_label_are_refused(labels, got):
    with pytest.raises(ProtocolError) as refused:
        scored(labels=labels)
    assert str(refused.value) == f"labels: expected a label that queries and database share, got {got}."


def test_the_command_refuses_disjoint_labels_and_prints_the_missing_ones(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arrays = {"q": QUERY, "d": DATABASE, "ql": OF_QUERY + 1, "dl": OF_DATABASE, "other": OF_QUERY + 9}
    for name, array in arrays.items():
        np.save(name, array)
    command = ["evaluate", "--query-codes", "q.npy", "--database-codes", "d.npy", "--database-labels", "dl.npy"]
    assert main([*command, "--query-labels", "ql.npy", "--json", "out.json"]) == 0
    assert "20 of 100 queries have no relevant item; labels of queries that the d" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text())["labels_not_in_database"] == [5]
    assert main([*command, "--query-labels", "other.npy"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("dtype", "first", "largest"),
    [
        ("float16", 2046, "2,047"),
        ("float16", 4096, "2,047"),
        ("float32", 2**24, "16,777,215"),
        ("float32", 2**25, "16,777,215"),
    ],
)
def test_labels_that_a_float_type_rounds_are_refused(dtype, first, largest):
    sides = [(labels + first).astype(dtype) for labels in (OF_QUERY, OF_DATABASE)]
    message = f"query labels: expected integers up to {largest}, because {dtype} rounds larger ones, got "
    with pytest.raises(ProtocolError, match=message):
        scored(labels=sides)


@pytest.mark.parametrize(("dtype", "first"), [("float16", 2043), ("float32", 2**24 - 5), ("float64", 2**53 - 5)])
def test_the_largest_labels_of_a_float_type_are_read(dtype, first):
    sides = [(labels + first).astype(dtype) for labels in (OF_QUERY, OF_DATABASE)]
    assert scored(labels=sides).metrics == scored().metrics


def test_labels_of_bfloat16_are_refused_from_256():
    torch = pytest.importorskip("torch")
    sides = [torch.tensor(labels + 252).to(torch.bfloat16) for labels in (OF_QUERY, OF_DATABASE)]
    with pytest.raises(ProtocolError, match=r"expected integers up to 255, because bfloat16 rounds .* got 256\.0"):
        scored(labels=sides)
    small = [torch.tensor(labels + 251).to(torch.bfloat16) for labels in (OF_QUERY, OF_DATABASE)]
    assert scored(labels=small).metrics == scored().metrics


def test_one_column_of_boolean_labels_is_refused_and_both_readings_can_be_chosen():
    sides = [labels > 2 for labels in (OF_QUERY, OF_DATABASE)]
    with pytest.raises(ProtocolError, match=r"query labels: .*shape \(100, 1\), which may be two classes or one label"):
        scored(labels=[side[:, None] for side in sides])
    two_classes = scored(labels=sides)
    one_label = scored(labels=[np.pad(side[:, None], ((0, 0), (0, 1))) for side in sides])
    assert two_classes.metrics == scored(labels=[side[:, None].astype(int) for side in sides]).metrics
    assert one_label.metrics["mAP"] < two_classes.metrics["mAP"]
    assert head(one_label).startswith("60 of 100 queries have no relevant item")


@pytest.mark.parametrize("metric", ["precision@r99", "recall_micro@r17", "RAMAP@r17"])
def test_a_radius_above_the_code_length_is_refused(metric):
    radius = metric.rpartition("r")[2]
    with pytest.raises(ProtocolError) as refused:
        scored(metrics=[metric])
    assert str(refused.value) == f"metric {metric!r}: expected a radius from 0 to 16, the code length, got {radius}."
    assert scored(metrics=["precision@r16"]).metrics["precision@r16"] == pytest.approx(0.2)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
@pytest.mark.parametrize("n_bits", [None, 16, 128])
def test_masks_of_0_and_255_are_refused_with_a_suggestion(dtype, n_bits):
    sides = [(side * 255).astype(dtype) for side in (QUERY, DATABASE)]
    if dtype == "float32" and n_bits == 128:
        n_bits = 16
    with pytest.raises(ProtocolError, match=r"query codes: .* got .*0 and 255\. .*: pass codes > 0\.$") as refused:
        scored(*sides, n_bits=n_bits)
    assert "n_bits" not in str(refused.value)
    assert scored(*(side > 0 for side in sides)).metrics == scored().metrics


def test_packed_codes_of_the_bytes_0_and_255_are_read_where_they_are_few():
    few = np.array([[255], [0]], dtype=np.uint8)
    assert scored(few, few, ([0, 1], [0, 1]), n_bits=8).metrics["mAP"] == 1
    assert scored(codes.pack(QUERY), codes.pack(DATABASE), n_bits=16).metrics == scored().metrics


RANKING = np.argsort(HAMMING, axis=1)


@pytest.mark.parametrize(
    "relevance",
    [RANKING, list(RANKING), RANKING.tolist(), np.ones((100, 300), bool), sparse.csr_array(np.ones((100, 300)))],
    ids=["matrix", "arrays", "lists", "Boolean", "sparse"],
)
def test_every_item_for_every_query_is_refused(relevance):
    with pytest.raises(ProtocolError, match=r"relevance: expected .*(got all 300 items for|which may be either)"):
        scored(relevance=relevance)


@pytest.mark.parametrize(
    "dense", [lambda m: m.astype(int), lambda m: m.astype(float), lambda m: m.astype(int).tolist()]
)
def test_a_dense_matrix_of_0_and_1_is_refused(dense):
    with pytest.raises(ProtocolError, match="relevance: expected a Boolean matrix"):
        scored(relevance=dense(HAMMING < 5))


def test_a_dense_matrix_of_0_and_1_as_text_is_refused(tmp_path):
    np.savetxt(tmp_path / "r.txt", HAMMING < 5, fmt="%d")
    with pytest.raises(ProtocolError, match=r"r\.txt: relevance: expected a Boolean matrix or lists"):
        scored(relevance=tmp_path / "r.txt")


def test_a_sparse_matrix_of_distances_is_refused_or_its_levels_are_printed():
    with pytest.raises(ProtocolError, match="relevance: expected an integer as the level of each of"):
        scored(relevance=sparse.csr_array(np.sqrt(HAMMING)))
    with pytest.raises(ProtocolError, match=r"expected levels from 1 to 255, .*Distances are not levels"):
        scored(relevance=sparse.csr_array(HAMMING * 300))
    with pytest.raises(ProtocolError, match=r"expected levels from 1 to 255, .* got levels from 0 to 7\. .*eliminate_"):
        scored(relevance=sparse.csr_array(([0, 7], ([0, 1], [0, 1])), shape=(100, 300)))
    near = np.where(HAMMING < 5, HAMMING, 0)
    found = scored(relevance=sparse.csr_array(near))
    counts = (near > 0).sum(axis=1)
    assert found.levels == (1, 4)
    assert found.relevant_per_query == (counts.min(), counts.max())
    assert head(found) == (
        f"{(counts == 0).sum()} of 100 queries have no relevant item; relevance read as graded neighbours: "
        f"{counts.min()} to {counts.max()} items per query, levels 1 to 4 (larger is more relevant)"
    )
    assert json.loads(found.to_json())["levels"] == [1, 4]


def test_how_relevance_was_read_is_printed():
    found = scored(relevance=RANKING[:, :10])
    assert head(found) == (
        "0 of 100 queries have no relevant item; relevance read as neighbours: 10 items per query, level 1"
    )
    assert found.labels_not_in_database is None
    graded = scored(relevance=sparse.csr_array(HAMMING + 1))
    assert head(graded).endswith(
        f": 300 items per query, levels {HAMMING.min() + 1} to {HAMMING.max() + 1} (larger is more relevant); "
        "every item is relevant to every query"
    )


@pytest.mark.parametrize("relevance", [[[]] * 100, np.zeros((100, 300), bool), sparse.csr_array((100, 300))])
def test_relevance_without_a_relevant_item_is_refused(relevance):
    with pytest.raises(ProtocolError, match="relevance: no query has a relevant item"):
        scored(relevance=relevance)


@pytest.mark.parametrize("first", [2**53 - 1, 2**63 - 3, 2**63, 2**64 - 3, 2**64])
@pytest.mark.parametrize("form", ["lists", "objects", "series", "text", "uint64"])
def test_large_labels_are_exact_in_every_form(form, first, tmp_path):
    sides = [[first + label for label in labels.tolist()] for labels in (OF_QUERY, OF_DATABASE)]
    largest = max(map(max, sides))
    if form in ("objects", "series"):
        sides = [np.array(side, dtype=object) for side in sides]
        sides = [pd.Series(side) for side in sides] if form == "series" else sides
    elif form == "text":
        for name, side in zip("qd", sides, strict=True):
            (tmp_path / f"{name}.txt").write_text("".join(f"{label}\n" for label in side), encoding="utf-8")
        sides = [str(tmp_path / f"{name}.txt") for name in "qd"]
    elif form == "uint64" and largest < 2**64:
        sides = [np.array(side, dtype=np.uint64) for side in sides]
    if form == "text" and largest >= 2**64:
        with pytest.raises(ProtocolError, match=r"q\.txt: query labels: expected integers up to 9,007,199,254,740,991"):
            scored(labels=sides)
    else:
        assert scored(labels=sides).metrics == scored().metrics
