"""Groups divided between partitions are found, with groups from files and arrays, or guessed from file names."""

import contextlib
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from audited import audit
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.auditing import Dataset, Split
from protocol.auditing.checks.known import GROUP_PAIRS, audit_groups
from protocol.auditing.inputs.groups import Groups, groups_from, guessed_groups
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.splits import PARTITIONS

LISTS = {"query": [0, 1, 2], "train": [3, 4, 5], "database": [6, 7, 8, 9]}
GROUPS = ["a", "b", "c", "a", "d", "d", "b", "b", "e", "e"]
EXPECTED = [("error", 1, ("a (query 1, train 1)",)), ("warning", 1, ("b (query 1, database 2)",))]


def found(audited):
    (made,) = audited.findings.values()
    return [one for one in made if one.name == "group-split"]


def splits_of(audited):
    return [(one.severity, one.count, one.items) for one in found(audited)]


def sentence_about(audited):
    return next(line for lines in audited.about.values() for line in lines if line.startswith("Groups"))


# Findings


def test_a_group_in_the_training_set_is_an_error_and_one_in_the_database_a_warning():
    audited = audit(**LISTS, groups=GROUPS)
    assert splits_of(audited) == EXPECTED
    assert sentence_about(audited) == "Groups (groups): 5 groups of 10 items."
    finding = found(audited)[0]
    assert finding.consequence == (
        "The query partition has 1 item of these groups and the train partition has 1 item, so items that belong "
        "together are in both (groups: groups)."
    )
    assert finding.fix
    assert "Soomro" in finding.treatment


def test_undivided_groups_are_not_a_finding():
    together = ["a", "a", "b", "c", "c", "c", "d", "d", "e", "e"]
    assert splits_of(audit(**LISTS, groups=together)) == []
    assert "group-split" not in str(audit(**LISTS, groups=together))
    assert "group-split (needs groups)" in str(audit(**LISTS))


def test_an_item_in_two_partitions_is_a_separate_finding_and_divides_no_group():
    lists = {"query": [0, 1], "database": [1, 2, 3]}
    assert splits_of(audit(**lists, groups=["a", "b", "c", "d"])) == []
    # Another item of its group divides the group.
    assert splits_of(audit(**lists, groups=["a", "b", "b", "d"])) == [("warning", 1, ("b (query 1, database 2)",))]


def test_training_items_in_the_database_are_not_reported_twice():
    lists = {"query": [0], "train": [1], "database": [1, 2, 3]}
    assert [severity for severity, *_ in splits_of(audit(**lists, groups=["a", "a", "b", "c"]))] == ["error"]
    both = splits_of(audit(**lists, groups=["a", "a", "a", "c"]))
    assert [severity for severity, *_ in both] == ["error", "warning"]


def test_validation_partitions_are_compared_with_the_others():
    lists = LISTS | {"validation_query": [10], "validation_database": [11]}
    assert splits_of(audit(**lists, groups=[*"abcdefghij", "a", "b"])) == [
        ("warning", 1, ("a (query 1, validation_query 1)",)),
        ("warning", 1, ("b (query 1, validation_database 1)",)),
    ]
    assert splits_of(audit(**lists, groups=[*"abcdefghij", "d", "d"])) == [
        ("warning", 1, ("d (validation_query 1, train 1)",)),
        ("warning", 1, ("d (validation_query 1, validation_database 1)",)),
    ]


def slow_divided(parts, codes, a, b):
    """Return the groups that two partitions divide, by loops."""
    found = []
    for group in range(max(codes) + 1):
        in_a, in_b = ([item for item in parts[part] if codes[item] == group] for part in (a, b))
        others = [item for item in in_b if b != "database" or item not in parts["train"]]
        if others and any(x != y for x, y in itertools.product(in_a, in_b)):
            found.append(group)
    return found


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_findings_match_naive_loops(data):
    n_items = 12
    items = st.lists(st.integers(0, n_items - 1), max_size=6, unique=True).map(sorted)
    parts = {part: data.draw(items) for part in PARTITIONS}
    codes = data.draw(st.lists(st.integers(-1, 4), min_size=n_items, max_size=n_items))
    groups = Groups(np.array(codes), [str(code) for code in range(5)], "x")
    split = Split({part: np.array(own, dtype=np.int64) for part, own in parts.items()}, Dataset())
    made = iter(audit_groups(split, groups))
    for a, b, severity in GROUP_PAIRS:
        expected = slow_divided(parts, codes, a, b)
        if expected:
            one = next(made)
            assert (one.severity, one.count) == (severity, len(expected))
            sizes = [Counter(codes[item] for item in parts[part]) for part in (a, b)]
            assert one.items == tuple(f"{code} ({a} {sizes[0][code]}, {b} {sizes[1][code]})" for code in expected)
    assert next(made, None) is None


# How groups are given


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = [f"i{row}.png" for row in range(10)]
    Path("ids.txt").write_text("\n".join(ids) + "\n")
    for part, rows in LISTS.items():
        np.save(f"{part}.npy", np.array(rows))
        Path(f"{part}.txt").write_text("".join(f"{ids[row]}\n" for row in rows))
    Path("by_id.csv").write_text("id,group\n" + "".join(f"{a},{b}\n" for a, b in zip(ids, GROUPS, strict=True)))
    Path("by_row.csv").write_text("".join(f"{a},{b}\n" for a, b in enumerate(GROUPS)))
    Path("one.csv").write_text("\n".join(GROUPS) + "\n")
    Path("one.txt").write_text("\n".join(GROUPS) + "\n")
    np.save("names.npy", np.array(GROUPS))
    np.save("numbers.npy", np.array([ord(group) for group in GROUPS]))
    return tmp_path


GIVEN = ("by_row.csv", "one.csv", "one.txt", "names.npy")


@pytest.mark.parametrize("file", GIVEN)
def test_files_by_row_number_equal_the_array(folder, file):
    audited = audit(**LISTS, groups=file)
    assert splits_of(audited) == EXPECTED
    assert sentence_about(audited) == f"Groups ({file}): 5 groups of 10 items."


def test_groups_may_be_given_by_id_or_number_or_as_a_mapping(folder):
    by_id = {part: f"{part}.txt" for part in LISTS}
    assert splits_of(audit(**by_id, groups="by_id.csv")) == EXPECTED
    assert splits_of(audit(**by_id, ids="ids.txt", groups="by_id.csv")) == EXPECTED
    assert splits_of(audit(**by_id, ids="ids.txt", groups="by_row.csv")) == EXPECTED
    assert splits_of(audit(**by_id, ids="ids.txt", groups="one.txt")) == EXPECTED
    assert splits_of(audit(**LISTS, groups=dict(enumerate(GROUPS)))) == EXPECTED
    (first, _) = splits_of(audit(**LISTS, groups="numbers.npy"))
    assert first == ("error", 1, ("97 (query 1, train 1)",))


def test_the_command_prints_divided_groups_and_fails(folder, capsys):
    lists = [f"--{part}={part}.npy" for part in LISTS]
    assert main(["audit", *lists, "--groups", "one.txt"]) == 1
    assert capsys.readouterr().out == f"{audit(**{part: f'{part}.npy' for part in LISTS}, groups='one.txt')!r}\n"


def test_items_without_a_group_are_counted():
    audited = audit(**LISTS, groups=["a", "", None, "a", "d", float("nan"), "b", "b", "e", "e"])
    assert sentence_about(audited) == (
        "Groups (groups): 4 groups of 7 items; 3 of 10 items without a group, so not checked."
    )
    audited = audit(**LISTS, groups={0: "a", 3: "a"})
    assert sentence_about(audited).endswith("8 of 10 items without a group, so not checked.")


BAD = {
    "few": (["a"] * 9, "groups: expected a group for each of 10 items, or lines `id,group` (.csv), got 9 groups."),
    "matrix": ([["a", "b"]], "groups: expected a group for each item, .* got shape (1, 2) of <U1."),
    "fractions": ([0.5] * 10, "groups: expected a group for each item, .* got shape (10,) of float64."),
    "objects": ([{}] * 10, "groups: expected an integer or a string for each group, got dict at position 0."),
    "all empty": ([""] * 10, "groups: expected a group for each item, got none."),
    "rows": ({"x": "a"}, "groups: expected row numbers >= 0, as in the lists, got 'x'."),
    "two": ({0: "a", "0": "b"}, "groups: expected one group for each item, got two for '0'."),
    "others": ({17: "a"}, "groups: expected groups for items of the split, got none in 1 lines."),
    "auto": ("auto", "groups: expected ids (file names) from which to derive groups, got row numbers."),
    "no file": ("none.csv", "none.csv: expected lines `id,group`, got no such file."),
    "no text": ("none.txt", "none.txt: expected one group per line, got no such file."),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_groups_are_refused_in_one_line(case):
    groups, message = BAD[case]
    with pytest.raises(ProtocolError) as error:
        audit(**LISTS, groups=groups)
    start, _, end = message.partition(" .* ")
    assert str(error.value).startswith(start)
    assert str(error.value).endswith(end)
    assert "\n" not in str(error.value)


def test_invalid_tables_are_refused(folder):
    for text, message in {
        "": "bad.csv: expected lines `id,group`, got none.",
        "id,group\n": "bad.csv: expected lines `id,group`, got none.",
        "0,a\n1,b,c\n": "bad.csv: entry 2: expected `id,group`, got '1,b,c'.",
        "0,a,b\n": "bad.csv: entry 1: expected `id,group` or a group, got '0,a,b'.",
        '0,"a\n': "bad.csv: expected lines `id,group`, got a file that can't be read (unexpected end of data).",
    }.items():
        Path("bad.csv").write_text(text)
        with pytest.raises(ProtocolError) as error:
            audit(**LISTS, groups="bad.csv")
        assert str(error.value) == message
    with pytest.raises(
        ProtocolError, match=r"one.txt: expected lines `id,group` \(.csv\), because the lists contain ids"
    ):
        audit(**{part: f"{part}.txt" for part in LISTS}, groups="one.txt")


# Groups from names


def dataset(*names, y=None):
    return Dataset(ids=np.array(names), y=None if y is None else np.array(y))


GUESSED = {
    "ucf101": (
        ["a/v_PullUps_g21_c02.avi", "b/v_PullUps_g21_c03.avi", "v_PullUps_g20_c01.avi", "v_YoYo_g21_c01.avi"],
        ["PullUps_g21", "PullUps_g21", "PullUps_g20", "YoYo_g21"],
    ),
    "frames": (
        ["scene12_frame0045.png", "scene12_frame0046.png", "scene3_frame1.png", "scene4-f-img 7.png"],
        ["scene12", "scene12", "scene3", "scene4-f"],
    ),
    "slices": (
        ["test/patient007_slice12", "train/patient007_slice13", "x/patient007_slice1", "patient008_slice1"],
        ["patient007", "patient007", "x/patient007", "patient008"],
    ),
    "bursts": (
        ["IMG_1234_3.jpg", "IMG_1234.jpg", "IMG_1235_1.jpg", "IMG_1236 (2).jpg", "IMG_1237.jpg"],
        ["IMG_1234", "IMG_1234", "IMG_1235", "IMG_1236", None],
    ),
    "folders": (
        ["train/p01/a.png", "test/p01/b.png", "train/p02/a.png", "train/p03/a.png", "other/d.png"],
        ["p01", "p01", "p02", "p03", None],
    ),
}


@pytest.mark.parametrize("case", GUESSED)
def test_groups_are_derived_from_names(case):
    names, expected = GUESSED[case]
    groups = guessed_groups(dataset(*names))
    assert groups.guessed
    assert [groups.names[code] if code >= 0 else None for code in groups.codes] == expected
    assert f"`{names[0]}` is in the group {expected[0]}" in groups.source


REFUSED = {
    "plain": [f"{row}.png" for row in range(9)],
    "classes of ImageNet": [f"n0144076{row % 3}_{row}.JPEG" for row in range(9)],
    "folders of ImageNet": [f"n0144076{row % 3}/{row}.JPEG" for row in range(9)],
    "COCO": [f"train2014/COCO_train2014_{row:012d}.jpg" for row in range(9)],
    "VOC": [f"{2007 + row % 3}_{row:06d}.jpg" for row in range(9)],
    "Flickr": [f"actor/000{row % 3}_21244941{row}.jpg" for row in range(9)],
    "CIFAR": [f"{'cat' if row % 2 else 'dog'}_s_{row:06d}.png" for row in range(9)],
    "classes": [f"{'cat' if row % 2 else 'dog'}/{row}.png" for row in range(9)],
    "alone": [f"scene{row}_frame1" for row in range(9)],
    "one group": [f"scene1_frame{row}" for row in range(9)],
}


@pytest.mark.parametrize("case", REFUSED)
def test_names_without_groups_are_refused(case):
    with pytest.raises(ProtocolError, match=r"groups: expected ids that contain groups, .* Give a file") as error:
        groups_from("auto", dataset(*REFUSED[case]), 9)
    assert repr(REFUSED[case][0]) in str(error.value)


def test_groups_that_coincide_with_classes_are_not_used():
    names = [f"class{row % 3}_{row}.png" for row in range(9)]
    assert guessed_groups(dataset(*names)).names == ["class0", "class1", "class2"]
    with pytest.raises(ProtocolError, match="ids that contain groups"):
        guessed_groups(dataset(*names, y=[row % 3 for row in range(9)]))


def test_guessed_groups_cause_warnings_with_a_remark():
    lists = {"query": ["s1_frame1", "s2_frame1"], "train": ["s1_frame2", "s3_frame1"], "database": ["s4_frame1"]}
    audited = audit(**lists, groups="auto")
    assert splits_of(audited) == [("warning", 1, ("s1 (query 1, train 1)",))]
    assert audited.n_errors == 0
    assert sentence_about(audited) == (
        "Groups (names that end with the number of a frame or slice, `scene12_frame0045`: 1 group with 2 or more "
        "items, 2 items at most, for example `s1_frame1` is in the group s1): 4 groups of 5 items. They are guessed "
        "from file names."
    )
    assert "(groups: guessed from file names)" in str(audited).replace("\n           ", " ")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=12, unique=True))
def test_any_names_give_groups_or_are_refused(names):
    with contextlib.suppress(ProtocolError):
        groups = guessed_groups(dataset(*names))
        sizes = np.bincount(groups.codes[groups.codes >= 0])
        assert 2 <= sizes.max() <= len(names) / 2


def test_ucf101_is_clean_by_design_and_a_leak_is_found(shared):
    folder = shared / "data" / "published_codes" / "ucf101"
    query, database = (np.load(folder / f"{part}_path.npy") for part in ("test", "database"))
    audited = audit(query=query, database=database, train=database, groups="auto")
    assert splits_of(audited) == []
    assert "2,525 groups with 2 or more items, 7 items at most" in sentence_about(audited)
    moved = np.flatnonzero(np.char.find(query, "v_YoYo_g07_c03") >= 0)
    leaking = np.append(database, query[moved])
    audited = audit(query=np.delete(query, moved), database=leaking, train=leaking, groups="auto")
    assert splits_of(audited) == [("warning", 1, ("YoYo_g07 (query 3, train 1)",))]
    groups = {path: path.rpartition("_c")[0] for path in np.append(query, database).tolist()}
    audited = audit(query=np.delete(query, moved), database=leaking, train=leaking, groups=groups)
    assert splits_of(audited) == [("error", 1, ("YoYo/v_YoYo_g07 (query 3, train 1)",))]


# Groups from a regular expression

HMDB51 = "re:^[^/]*/(.*)_[a-z]_(?:cm|nm)_np"


def test_groups_are_those_of_a_regular_expression(tmp_path, capsys):
    clip = "cartwheel/Geena_und_die_Radschl_ge___;-)_cartwheel_f_cm_np1_ri_med_{}.avi"
    for name, numbers in {"query": [0, 1], "train": [2, 3], "database": [4]}.items():
        others = [f"kick/{name}_{number}_kick_f_nm_np1_fr_bad_0.avi" for number in range(2)]
        (tmp_path / f"{name}.txt").write_text("\n".join([*(clip.format(number) for number in numbers), *others]))
    lists = [f"--{name}={tmp_path / name}.txt" for name in ("query", "train", "database")]
    assert main(["audit", *lists, "--groups", HMDB51]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "error group-split: 1 Geena_und_die_Radschl_ge___;-)_cartwheel (query 2, train 2)" in printed
    assert "Groups (re:^[^/]*/(.*)_[a-z]_(?:cm|nm)_np): 7 groups of 11 items." in printed


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("re:a_(", r"'re:a_\(' is not a regular expression"),
        ("re:a_", "'re:a_' has 0 groups. Put one pair of parentheses"),
        ("re:(a)(b)", r"'re:\(a\)\(b\)' has 2 groups"),
        ("re:(x)_", r"'re:\(x\)_' matches no id, such as 'a_1'"),
    ],
)
def test_a_wrong_regular_expression_is_refused(pattern, message):
    with pytest.raises(ProtocolError, match=message):
        audit(query=["a_1", "a_2"], database=["a_3", "b_4"], groups=pattern)


def test_a_regular_expression_needs_ids():
    with pytest.raises(ProtocolError, match=r"the lists contain row numbers\. A regular expression needs ids"):
        audit(**LISTS, groups="re:(.)")


def test_items_that_do_not_match_have_no_group():
    audited = audit(query=["a_1", "x"], train=["a_2", "y"], database=["a_3", "b_4"], groups="re:(.)_")
    assert sentence_about(audited).startswith("Groups (re:(.)_): 2 groups of 4 items; 2 of 6 items without a group")
