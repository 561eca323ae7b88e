"""Ids that two lists write in different forms are a finding, and ids of different items are not."""

import json

import numpy as np
import pytest
from audited import audit
from encoded import yaml_of

from protocol.cli import main
from protocol.inputs.forms import one_form
from protocol.inputs.judgments import read_ids, read_judgments

FORMS = yaml_of("auditing/forms.yaml")


def audited(query, database):
    (made,) = audit(query=query, database=database).findings.values()
    return [(one.name, one.severity, one.examples) for one in made]


@pytest.mark.parametrize(("kind", "names"), [("alike", ("x1", "y1")), ("numbers", ("2", "3"))])
def test_forms_of_one_id_or_number_are_found_in_both_directions(kind, names):
    for one, other in [pair[::step] for pair in FORMS[kind] for step in (1, -1)]:
        expected = [("ids-differ-in-form", "undetermined", (f"{one} ~ {other}",))]
        assert audited([one, names[0]], [other, names[1]]) == expected


@pytest.mark.parametrize(("a", "b"), FORMS["different"])
def test_different_ids_cause_no_finding(a, b):
    has_same_name = one_form(a)[-1] == one_form(b)[-1]
    assert [name for name, *_ in audited([a, "x1"], [b, "y1"])] == ["equal-file-names"] * has_same_name
    assert one_form(a) != one_form(b)


@pytest.mark.parametrize("form", ["./a.jpg", ".\\a.jpg", ".//./a.jpg"])
def test_a_leading_dot_never_changes_an_id(form):
    assert [one[:2] for one in audited([form, "x1"], ["a.jpg", "y1"])] == [("query-in-database", "error")]
    assert read_ids([form, "./..", ".hid"], "query", 3).keys() == {"..", ".hid", *read_judgments({form: {}})}


def in_folders(*folders, n=200, start=0):
    return [
        f"{folder if folder.endswith('_') else folder + '/'}{number}.jpg"
        for number in range(start, start + n)
        for folder in folders
    ]


@pytest.mark.parametrize(
    ("query", "database", "severity"),
    [
        (
            ["VOC/JPEG/a1.jpg", "VOC/JPEG/007.jpg", "z.jpg"],
            ["./images/A1.png", "images/7.jpg", "y.jpg"],
            "undetermined",
        ),
        (in_folders("query", n=50, start=1), in_folders("database", start=1), "undetermined"),  # each counts its files
        (in_folders("query/im_", n=50, start=900), in_folders("database/im_", start=900), "undetermined"),
        (in_folders("query/2007_", n=600)[::30], in_folders("database/2007_", n=600)[::6], "error"),  # by chance: 1/6
        ([f"a/{x:x}ef.jpg" for x in range(50)], [f"b/{x:x}ef.jpg" for x in range(200)], "error"),
        ([f"a/{x:x}ef.jpg" for x in range(50)], [f"b/{x:x}ef.jpg" for x in range(25, 200)], "undetermined"),
        (in_folders("/test/ö/IM 1_", "/test/b/IM 1_"), in_folders("/all/ö/IM 1_", "/all/b/IM 1_"), "undetermined"),
        (in_folders("t/a/x", "t/b/x", n=9), [f"all/{c}/x/{x}.jpg" for c in "abc" for x in range(1, 9)], "undetermined"),
        (
            [f"t/{c}/{x}f.jpg" for c in "ab" for x in range(9)],
            [f"d/{c}/{x}f.jpg" for c in "abc" for x in range(99)],
            "error",
        ),
    ],
)
def test_most_names_in_another_folder_are_an_error_unless_they_count_files(query, database, severity, tmp_path):
    """Case, extension and number of digits do not matter; the exit status is 1 for errors, and 3 if undetermined."""
    forms = [list(map(one_form, names)) for names in (query, database)]
    tails = ([{form[-n:] for form in side} for side in forms] for n in range(1, 9))
    n_equal = len(set.intersection(*next(both for both in tails if list(map(len, both)) == list(map(len, forms)))))
    (made,) = audit(query=query, database=database).findings.values()
    assert [(one.name, one.severity, one.count) for one in made] == [("equal-file-names", severity, n_equal)]
    files = {"query": query, "database": database}
    for part, names in files.items():
        (tmp_path / f"{part}.txt").write_text("\n".join(names))
    (tmp_path / "ids.txt").write_text("\n".join([*query, *database]))
    command = ["audit", *(f"--{part}={tmp_path / part}.txt" for part in files)]
    assert main(command) == {"error": 1, "undetermined": 3}[severity]
    assert (main([*command, "--fail-on=never"]), main([*command, f"--ids={tmp_path / 'ids.txt'}"])) == (0, 0)


def test_names_that_repeat_within_a_list_say_nothing_and_are_listed_as_not_compared():
    """A random split of two classes in folders that both number their images from 0."""
    words = "equal-file-names (needs names that do not repeat within a list)"
    items = np.random.default_rng(0).permutation(in_folders("cat", "dog", n=500)).tolist()
    made = audit(query=items[:100], database=items[100:])
    assert words in str(made.not_checked)
    assert [one.name for one in next(iter(made.findings.values()))] == []
    assert words not in str(audit(query=["train/cat/7.jpg", "a.jpg"], database=["b/x.jpg", "c/y.jpg"]).not_checked)


@pytest.mark.parametrize(("protocol", "is_found"), [("standard", False), ("improved", True), (None, True)])
def test_equal_names_are_compared_where_partitions_must_be_disjoint(protocol, is_found):
    lists = {"query": in_folders("q", n=9), "database": in_folders("d", n=99, start=50)}
    made = audit(**lists, train=in_folders("t", n=9, start=60), protocol=protocol)
    found = [one.items for one in next(iter(made.findings.values())) if one.name == "equal-file-names"]
    assert found == [tuple(in_folders("t", n=9, start=60))] * is_found
    in_query = audit(**lists, train=in_folders("t", n=9), protocol=protocol)
    assert "equal-file-names" in str(in_query)


@pytest.mark.parametrize(("protocol", "found"), FORMS["other_roots"])
def test_training_items_under_another_root_are_not_said_to_be_outside_the_database(protocol, found):
    names = [f"{x:x}ef.jpg" for x in range(2866)]
    roots = {"query": ("q", names[:693]), "database": ("d", names[693:]), "train": ("t", names[692:-1])}
    lists = {part: [f"{root}/{name}" for name in of] for part, (root, of) in roots.items()}
    made = audit(**lists, protocol=protocol)
    assert [[one["finding"], one["severity"], one["count"]] for one in json.loads(made.to_json())] == found
    assert "which would be an overlap, or different files." in " ".join(str(made).split())
    undetermined = (
        "whether queries are in the training set is undetermined and whether training items are in the database is"
    )
    said = f"This split resembles wiki_official in sizes and overlaps, but {undetermined}"
    assert protocol or said in " ".join(str(made).split())
    (proved,) = audit(**lists, protocol="wiki_official", ids=names).findings.values()
    assert [(one.name, one.count) for one in proved] == [("query-in-train", 1), ("train-in-database", 2172)]


def test_ids_of_a_dataset_and_row_numbers_have_one_form():
    (made,) = audit(query=["a", "b"], database=["A", "c"], ids=["a", "A", "b", "c"]).findings.values()
    assert list(made) == []
    assert audited([1, 2], [10, 20]) == []


def test_numbers_that_are_written_alike_or_are_among_names_are_ids():
    assert audited(["7.0", "8.0"], ["9.0", "10.0"]) == []
    assert audited(["2007_000027", "2007_000032"], ["2007_000033", "2008_000002"]) == []
    assert [name for name, *_ in audited(["007", "008"], ["007", "009"])] == ["query-in-database"]


def test_a_list_of_one_item_is_a_warning(tmp_path):
    (tmp_path / "query.txt").write_text("a.jpg|b.jpg|c.jpg\n")
    (made,) = audit(query=tmp_path / "query.txt", database=["a.jpg", "b.jpg"]).findings.values()
    expected = ("single-item", "undetermined", ("a.jpg|b.jpg|c.jpg",))
    assert [(one.name, one.severity, one.items) for one in made] == [expected]
    assert made[0].consequence.startswith("The query list has one item")
