"""Codes that follow the labels, collapsed codes and constant bits: by hand, and on published codes and the digits."""

import json

import numpy as np
import pytest

from protocol import Codes, Relevant, evaluate

ADSH = {12: (10, 1.0), 24: (10, 1.0), 32: (11, 0.9968), 48: (10, 1.0)}


def utilisation_of(query, database, query_labels, database_labels, **options):
    return evaluate(
        query, database, query_labels=query_labels, database_labels=database_labels, metrics=["mAP"], **options
    ).code_utilisation


def one_code_per_class(n_items=10):
    """Return three queries, and a database of two classes with the codes 00 and 11."""
    labels = np.repeat([0, 1], n_items)
    return [[0, 0], [1, 1], [0, 1]], np.column_stack([labels, labels]), [0, 0, 1], labels


def test_the_note_of_evaluate_and_the_field_of_the_json():
    query, database, query_labels, labels = one_code_per_class()
    result = evaluate(query, database, query_labels=query_labels, database_labels=labels, metrics=["mAP"])
    assert (
        "one-code-per-class: 100.0 % of the 20 database items have the one code of their class (2 distinct codes for 2 "
        "classes), so a ranking orders classes, not items, and mAP measures how well queries are classified."
    ) in " ".join(str(result).split())
    record = json.loads(result.to_json())["code_utilisation"]
    assert (record["found"], record["one_code"], record["n_codes"]) == (["one-code-per-class"], 1.0, 2)
    database[::2] ^= np.array([0, 1])  # half of each class has another code
    other = evaluate(query, database, query_labels=query_labels, database_labels=labels, metrics=["mAP"])
    assert "code_utilisation" not in json.loads(other.to_json())


@pytest.mark.parametrize(
    ("n_items", "wrong", "label", "follows"),
    [
        (100, 0, np.repeat([0, 1], 100), True),
        (100, 2, np.repeat([0, 1], 100), True),  # one in a hundred items may be an exception
        (100, 3, np.repeat([0, 1], 100), False),
        (10, 0, np.repeat([0, 1], 10) + 2 * (np.arange(20) % 2), False),  # classes share a code
        (10, 0, np.repeat([0, 1], [19, 1]), False),  # a class has two codes
        (9, 0, np.repeat([0, 1], 9), False),  # few items per class
        (10, 0, np.zeros(10), False),  # one class
    ],
)
def test_codes_follow_the_labels_if_nearly_every_class_has_one(n_items, wrong, label, follows):
    query, database, query_labels, _ = one_code_per_class(n_items)
    database[:wrong] = [0, 1]
    assert utilisation_of(query, database[: len(label)], query_labels, label).follows_labels == follows


def test_sets_of_labels_are_classes():
    sets = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    label = np.repeat([0, 1, 2], 10)
    codes = np.array([[0, 0, 0], [0, 1, 1], [1, 1, 0]])
    utilisation = utilisation_of(codes, codes[label], sets, sets[label])
    assert (utilisation.n_classes, utilisation.follows_labels, utilisation.several) == (3, True, True)
    assert "3 distinct codes for 3 sets of labels" in utilisation.sentences()["one-code-per-class"]


def test_collapsed_codes():
    labels = np.arange(50) % 5
    one = np.zeros((50, 8), dtype=int)
    rare = one.copy()
    rare[:3] = 1
    text = utilisation_of(rare[:2], rare, labels[:2], labels).sentences()
    assert text == {
        "collapsed-codes": "The 50 database items have 2 distinct codes with an entropy of 0.33 bits, that "
        "of their labels 2.32"
    }
    halves = one + (np.arange(50) < 25)[:, None]  # 1 bit of 2.32
    assert "collapsed-codes" in utilisation_of(halves[:2], halves, labels[:2], labels).sentences()
    quarters = np.column_stack([np.arange(50) % 2, np.arange(50) < 25])
    four = labels < 4
    assert utilisation_of(quarters[:2], quarters[four], labels[:2], labels[four]).sentences() == {}
    relevant = evaluate(one[:1], one, truth=Relevant([[0, 3]]), metrics=["mAP"])
    assert "The 50 database items have 1 distinct code with an entropy of 0.00 bits." in " ".join(str(relevant).split())


@pytest.mark.parametrize("n_codes", [1, 9, 10, 12])
def test_fewer_codes_than_classes_are_collapsed_whatever_their_entropy(n_codes):
    """Ten classes of twenty items; the codes are numbered, so each item has one of `n_codes` different ones."""
    labels, number = np.arange(200) % 10, np.arange(200) // 10 % n_codes
    codes = number[:, None] >> np.arange(4) & 1
    scores = utilisation_of(codes[:2], codes, labels[:2], labels).sentences()
    assert ("collapsed-codes" in scores) == (n_codes < 10)
    if n_codes < 10:
        assert scores["collapsed-codes"].startswith(f"The 200 database items have {n_codes} distinct code")
    rare = np.arange(12)  # one item of each class
    assert "collapsed-codes" in utilisation_of(codes[:2], codes[:12] * 0, rare[:2], rare).sentences()


def test_constant_bits():
    rng = np.random.default_rng(0)
    database, labels = rng.integers(0, 2, (60, 12)), np.arange(60) % 2
    assert utilisation_of(database[:3], database, labels[:3], labels).sentences() == {}
    database[:, 4] = 1
    utilisation = utilisation_of(database[:3] ^ 1, database, labels[:3], labels)  # the queries may have another value
    text = "The value of 1 bit never changes in the database (4, counted from 0), so no ranking depends on it"
    assert utilisation.sentences() == {"constant-bits": text}
    assert utilisation_of(database[:3], database[:20], labels[:3], labels[:20]).constant_bits == ()  # may be chance


@pytest.mark.parametrize("n_bits", ADSH)
def test_the_published_codes_of_adsh_follow_the_labels(shared, n_bits):
    file = shared / "data" / "published_codes" / "adsh_cifar10" / f"ADSH_CIFAR-10_{n_bits}.mat"
    codes = (Codes(f"{file}:result.{side}", n_bits) for side in ("qB", "rB"))
    utilisation = utilisation_of(*codes, np.repeat(np.arange(10), 100), np.repeat(np.arange(10), 5400))
    n_codes, share = ADSH[n_bits]
    assert (utilisation.n_items, utilisation.n_codes, utilisation.n_classes) == (54_000, n_codes, 10)
    assert utilisation.one_code == pytest.approx(share, abs=5e-5)
    assert list(utilisation.sentences()) == ["one-code-per-class", *(["constant-bits"] if n_bits == 48 else [])]


def test_the_published_codes_of_csq_do_not(shared):
    folder = shared / "data" / "published_codes" / "ucf101"
    codes = (Codes(folder / f"{side}_hash.npy", binarize="sign") for side in ("test", "database"))
    utilisation = utilisation_of(*codes, *(np.load(folder / f"{side}_label.npy") for side in ("test", "database")))
    assert (utilisation.n_codes, utilisation.n_classes, round(utilisation.one_code, 3)) == (5833, 101, 0.342)
    assert utilisation.sentences() == {}
