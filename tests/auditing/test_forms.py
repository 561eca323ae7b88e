"""Ids that two lists write in different forms are a finding, and ids of different items are not."""

import pytest

import protocol as hp
from protocol.auditing.forms import one_form

ALIKE = [
    ("a.jpg", "A.JPG"),
    ("a.jpg", "./a.jpg"),
    ("images/a.jpg", "/data/images/a.jpg"),
    ("images\\a.jpg", "images/a.jpg"),
    ("a.jpg", "a.png"),
    ("a", "a.jpeg"),
    ("007", "7"),
    ("x/007.jpg", "x/7.jpg"),
    ("a/", "a"),
    ('"a.jpg"', "a.jpg"),
    ("caf\u00e9", "cafe\u0301"),
    ("\u017ftra\u00dfe", "STRASSE"),
]
DIFFERENT = [("train/a.jpg", "test/a.jpg"), ("a.jpg", "ba.jpg"), ("a.txt", "a.jpg"), ("10", "1"), ("v1.5", "v1.6")]


def audited(query, database):
    (made,) = hp.audit(query=query, database=database).findings.values()
    return [(one.name, one.severity, one.examples) for one in made]


@pytest.mark.parametrize(("a", "b"), ALIKE)
def test_forms_of_one_id_are_found_in_both_directions(a, b):
    for one, other in ((a, b), (b, a)):
        expected = [("ids-differ-in-form", "warning", (f"{one} ~ {other}",))]
        assert audited([one, "x1"], [other, "y1"]) == expected


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different_ids_cause_no_finding(a, b):
    assert audited([a, "x1"], [b, "y1"]) == []
    assert one_form(a) != one_form(b)


def test_a_line_break_in_an_id_does_not_end_it():
    assert audited(["a\nb", "c"], ["b", "d"]) == []
    assert audited(["a\nB", "c"], ["d", "A\nb"]) == [("ids-differ-in-form", "warning", ("a\nB ~ A\nb",))]


def test_lists_that_share_some_ids_may_share_others_in_another_form():
    assert [name for name, *_ in audited(["a", "b"], ["a", "B"])] == ["query-in-database", "ids-differ-in-form"]
    assert [name for name, *_ in audited(["a", "A"], ["a", "A"])] == ["query-in-database"]


def test_ids_of_a_dataset_and_row_numbers_have_one_form():
    (made,) = hp.audit(query=["a"], database=["A"], ids=["a", "A"]).findings.values()
    assert made == ()
    assert audited([1, 2], [10, 20]) == []


def test_every_pair_of_lists_is_compared():
    (made,) = hp.audit(query=["q.jpg"], train=["./d.jpg"], database=["d.jpg", "e.jpg"]).findings.values()
    assert [(one.name, one.examples) for one in made] == [
        ("train-not-in-database", ("./d.jpg",)),
        ("ids-differ-in-form", ("./d.jpg ~ d.jpg",)),
    ]
