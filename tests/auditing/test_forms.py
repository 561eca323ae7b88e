"""Ids that two lists write in different forms are a finding, and ids of different items are not."""

import pytest
from audited import audit

from protocol.auditing.inputs.forms import one_form
from protocol.checks import ProtocolError

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
    *((f"a{sign}b.jpg", "ab.jpg") for sign in "\u200b\u2060\u200e\u200f\u202a\u00ad\ufeff\u034f\u3164\ufe0f"),
    ("\uff11\uff12\uff13.jpg", "123.jpg"),
    ("a%20b.jpg", "a b.jpg"),
    ("caf%C3%A9.jpg", "caf\u00e9.jpg"),
    ("%41.jpg", "a.jpg"),
    ("https://host/x/a.jpg?raw=1", "x/a.jpg"),
    ("a.jpg#top", "a.jpg"),
    ("a.jpg.jpg", "a.jpg"),
    ("a.jpg.png", "a"),
    ("\u201ca.jpg\u201d", "a.jpg"),
    ("it\u2019s.jpg", "it's.jpg"),
    ("\u0130MG.jpg", "img.jpg"),
    ("\u0131mg.jpg", "IMG.jpg"),
    *((f"a{extension}", "a.jpg") for extension in (".heic", ".jp2", ".npy")),
]
NUMBERS = ["7.0", "7e0", "+7", "0x7", "007", "\u0667", "\uff17", '"7"']
DIFFERENT = [
    ("train/a.jpg", "test/a.jpg"),
    ("a.jpg", "ba.jpg"),
    ("a.txt", "a.jpg"),
    ("10", "1"),
    ("v1.5", "v1.6"),
    ("2007_000027", "200_7000027"),
]
DIFFERENT += [("photo?id=1", "photo?id=2"), ("a%2541", "aa"), ("7.5", "7"), ("0x7g", "7")]


def audited(query, database):
    (made,) = audit(query=query, database=database).findings.values()
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
    (made,) = audit(query=["a", "b"], database=["A", "c"], ids=["a", "A", "b", "c"]).findings.values()
    assert list(made) == []
    assert audited([1, 2], [10, 20]) == []


def test_every_pair_of_lists_is_compared():
    (made,) = audit(query=["q.jpg", "r.jpg"], train=["./d.jpg", "g.jpg"], database=["d.jpg", "e.jpg"]).findings.values()
    assert [(one.name, one.examples) for one in made] == [
        ("train-not-in-database", ("./d.jpg", "g.jpg")),
        ("ids-differ-in-form", ("./d.jpg ~ d.jpg",)),
    ]


@pytest.mark.parametrize("number", [*NUMBERS, "1_007", "1,007", "1 007", "1.007e3"])
def test_one_number_in_two_notations_is_refused(number):
    plain = "7" if number in NUMBERS else "1007"
    for one, other in ((number, plain), (plain, number)):
        with pytest.raises(ProtocolError, match=f"are the same number, .* as plain digits, such as {plain}"):
            audit(query=[one, "2"], database=[other, "3"])
    assert audited([number, "x1"], [plain, "y1"])[0][0] == "ids-differ-in-form"


def test_numbers_that_are_written_alike_or_are_among_names_are_ids():
    assert audited(["7.0", "8.0"], ["9.0", "10.0"]) == []
    assert audited(["2007_000027", "2007_000032"], ["2007_000033", "2008_000002"]) == []
    assert [name for name, *_ in audited(["007", "008"], ["007", "009"])] == ["query-in-database"]


def test_row_numbers_as_pandas_writes_them_are_refused_by_file(tmp_path):
    (tmp_path / "query.txt").write_text("7\n12\n")
    (tmp_path / "database.txt").write_text("1.0\n12.0\n")
    with pytest.raises(ProtocolError, match=r"database.txt: '12.0' and '12' in .*query.txt are the same number"):
        audit(query=tmp_path / "query.txt", database=tmp_path / "database.txt")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("option", ["query", "ids"])
def test_text_in_utf_16_without_a_byte_order_mark_is_refused(encoding, option, tmp_path):
    (tmp_path / "a.txt").write_bytes("a.jpg\nb.jpg\n".encode(encoding))
    lists = {"query": ["a", "b"], "database": ["c", "d"]} | {option: tmp_path / "a.txt"}
    message = "line 1: a NUL character, as in UTF-16. Save the file as UTF-8"
    with pytest.raises(ProtocolError, match=f"a.txt: {message}"):
        audit(**lists)


def test_a_list_of_one_item_is_a_warning(tmp_path):
    (tmp_path / "query.txt").write_text("a.jpg|b.jpg|c.jpg\n")
    (made,) = audit(query=tmp_path / "query.txt", database=["a.jpg", "b.jpg"]).findings.values()
    assert [(one.name, one.severity, one.items) for one in made] == [("single-item", "warning", ("a.jpg|b.jpg|c.jpg",))]
    assert made[0].consequence.startswith("The query list has one item")
