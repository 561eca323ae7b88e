"""The grammar of lists and labels: the content decides the form, everywhere alike, and two readings are refused."""

import logging
from functools import partial
from itertools import chain
from pathlib import Path

import h5py
import numpy as np
import pytest
from encoded import message_of, refuses, yaml_of
from scipy.io import savemat

from protocol.auditing.items import lists_from
from protocol.checks import ProtocolError
from protocol.inputs.labels import label_pair, labels_from
from protocol.inputs.lists import ids_from, read_listings
from protocol.registry import get

CASES = yaml_of("inputs/lists.yaml")


def of_matrix(labels):
    """Return the classes of each item, or one class for each."""
    return [np.flatnonzero(row).tolist() for row in labels] if labels.dtype == bool else labels.tolist()


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.get("ids") or case["labels"])[1:-1])
def test_the_form_of_a_list_is_that_of_its_content(here, case, caplog):
    files = case.get("ids") or case["labels"]
    for name, text in files.items():
        Path(name.partition(":")[0]).write_text(text, encoding="utf-8", newline="")
    sources = {name: name for name in files}
    caplog.set_level(logging.INFO, logger="protocol.inputs")
    read = partial(read_listings, sources, has_ids="ids" in case, sizes=case.get("sizes"))
    if "error" in case:
        assert message_of(read) == case["error"]
        return
    found = list(read().values())
    said = [record.getMessage() for record in caplog.records]
    if expected := case.get("said"):
        names = [name for name in files for _ in range(len(expected) // len(files))]
        assert said == [f"{name}: {words}" for name, words in zip(names, expected, strict=True)]
    assert len(said) == len(expected or files)
    for listing, ids in zip(found, case.get("items", []), strict=False):
        assert listing.ids.tolist() == ids
    for listing, y in zip(found, case.get("y", []), strict=False):
        assert (None if listing.labels is None else of_matrix(listing.labels)) == y


IDS, CLASSES = ["a.png", "b.png", "c.png"], ["owl", "fox", "owl"]
FORMS_OF_IDS = {
    "text": lambda file: file.with_suffix(".txt").write_text("\n".join(IDS)),
    "csv": lambda file: file.with_suffix(".csv").write_text("\n".join(["image", *IDS])),
    "npy": lambda file: np.save(file.with_suffix(".npy"), IDS),
    "npy of bytes": lambda file: np.save(file.with_suffix(".npy"), np.array(IDS, dtype="S")),
    "row of MATLAB": lambda file: savemat(file.with_suffix(".mat"), {"x": np.array([IDS], dtype=object)}),
    "column of MATLAB": lambda file: savemat(file.with_suffix(".mat"), {"x": np.array(IDS, dtype=object)[:, None]}),
    "HDF5": lambda file: h5py.File(file.with_suffix(".h5"), "w").create_dataset("x", data=IDS).file.close(),
}


@pytest.mark.parametrize("write", FORMS_OF_IDS.values(), ids=FORMS_OF_IDS)
def test_ids_of_every_format_are_the_same_for_every_reader(tmp_path, write):
    write(tmp_path / "list")
    (file,) = tmp_path.iterdir()
    assert lists_from({"query": file})["query"].ids.tolist() == IDS


LABELS = yaml_of("inputs/labels.yaml")["texts"]


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_the_same_for_the_dataset_the_audit_and_the_evaluation(tmp_path, name):
    """Labels with ids are matched with those of the items, rather than taken in their order."""
    (tmp_path / name).write_text(LABELS[name])
    (tmp_path / "ids.txt").write_text("\n".join(IDS))
    np.save(tmp_path / "x.npy", np.eye(3, dtype=np.float32))
    files = {"features": "x.npy", "labels": name, "ids": "ids.txt"}
    data = get("dataset", "arrays")({}, **{option: str(tmp_path / file) for option, file in files.items()})
    assert [data.class_names[label] for label in data.labels] == CLASSES
    known = labels_from(tmp_path / name, "labels", 3, ids=np.array(IDS))
    assert [known.class_names[label] for label in known.labels] == CLASSES
    if name != "other_order.tsv":
        query, database, lacking, _ = label_pair(tmp_path / name, CLASSES, 3, 3)
        assert (query.tolist(), lacking) == (database.tolist(), ())


def test_the_order_of_labels_with_ids_is_that_of_the_codes(here, caplog):
    Path("y.csv").write_text("id,label\nc,owl\na,owl\nb,fox\n")
    matched = {"id,b0,b1\nb,0,1\nc,1,1\na,0,0\n": [0, 1, 1], "id,code\nc,01\nb,11\n": [1, 0]}
    matched |= {
        f"{header}c.png,01,x\nb.png,11,y\n": [1, 0] for header in ("item_id,code,y\n", ",code,y\n", "of,code,y\n", "")
    }
    for codes, labels in matched.items():
        Path("c.csv").write_text(codes)
        assert label_pair("y.csv", CLASSES, len(labels), 3, {"query_codes": {"file": "c.csv"}})[0].tolist() == labels
    Path("c.csv").write_text("id,b0\nb,0,1\nc,1,1\n")  # too few names
    refuses("do not ascend", label_pair, "y.csv", CLASSES, 2, 3, {"query_codes": {"file": "c.csv"}})
    for ids, lacking in (("xb", "1 item, the first 'x'"), ("52", "2 items, the first '5'")):
        Path("c.csv").write_text(f"item_id,code\n{ids[0]},01\n{ids[1]},11\n")
        with pytest.raises(ProtocolError, match=rf"y\.csv: no label for {lacking}"):
            label_pair("y.csv", CLASSES, 2, 3, {"query_codes": {"file": "c.csv"}})
    with pytest.raises(
        ProtocolError, match=r"is 'c'\), so .* order of the codes\. Pass the ids.*, or y\.csv:label, if its rows are"
    ):
        label_pair("y.csv", CLASSES, 3, 3)
    assert label_pair("y.csv", CLASSES, 3, 3, {"query_ids": ["b", "c.png", "a"]})[0].tolist() == [0, 1, 1]
    assert label_pair("y.csv:label", CLASSES, 3, 3)[0].tolist() == [1, 1, 0]
    Path("c.csv").write_text("sku,code\nb,01\nc,11\na,10\n")
    for ids, message in (
        ("bca", ""),
        ("cba", r"^the ids: the ids in c\.csv are in another order\. Sort the rows of c"),
    ):
        given = {"query_codes": {"file": "c.csv"}, "query_ids": list(ids)}
        if message:
            refuses(message, label_pair, "y.csv", CLASSES, 3, 3, given)
        else:
            assert label_pair("y.csv", CLASSES, 3, 3, given)[0].tolist() == [0, 1, 1]
    Path("z.txt").write_text("owl\nowl\nfox\n")
    given = {"query_codes": {"file": "c.csv"}}
    refuses(r"^c\.csv: its ids do not ascend .* labels in z\.txt\. Write", label_pair, "z.txt", CLASSES, 3, 3, given)
    caplog.set_level(logging.INFO, logger="protocol.inputs")
    label_pair("y.csv", CLASSES, 2, 3, {"query_ids": ["b", "c"]})
    assert "y.csv: its rows are put in the order of the ids, by id; 1 row for no item" in caplog.messages


OF_CODES = yaml_of("inputs/ids_of_codes.yaml")


@pytest.mark.parametrize(("header", "codes", "expected"), OF_CODES.values(), ids=OF_CODES)
def test_the_ids_next_to_codes_need_no_known_name(here, header, codes, expected):
    ids = ("1f", "2e", "30") if "1f" in codes else ("10", "20", "30")
    Path("y.csv").write_text("\n".join([header, *map(",".join, zip(ids, ("fox", "fox", "owl"), strict=True))]))
    Path("c.csv").write_text(codes)
    files = {"query_codes": {"file": "c.csv"}}
    if isinstance(expected, str):
        refuses(expected, label_pair, "y.csv", CLASSES, 3, 3, files)
        return
    assert label_pair("y.csv", CLASSES, len(expected), 3, files)[0].tolist() == expected


def test_a_label_that_is_missing_for_an_id_is_named(tmp_path):
    (tmp_path / "y.csv").write_text("id,label\na,owl\nb,fox\n")
    with pytest.raises(
        ProtocolError, match=r"y\.csv: no label for 1 item, the first 'c\.png'\. The first id in the file is 'a'; add"
    ):
        labels_from(tmp_path / "y.csv", "labels", ids=np.array(IDS))


@pytest.mark.parametrize(("labels", "said"), yaml_of("inputs/labels.yaml")["said"])
def test_a_label_that_may_mark_unlabelled_items_is_said_to_be_a_class(caplog, labels, said):
    caplog.set_level(logging.INFO, logger="protocol.inputs")
    labels_from(labels, "y")
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(said)


def test_an_item_without_an_id_is_refused():
    refuses(r"^q: item 2 is empty\. ", read_listings, {"q": [["a.png"], []]}, has_ids=True)


SEVERAL = {
    "lists": [["owl"], ["fox", "elk"]],
    "tuples of numbers": [(7,), (3, 5)],
    "sets": [{"owl"}, {"fox", "elk"}],
    "strings": ["owl", "fox;elk"],
    "array of strings": np.array(["owl", "fox|elk"]),
}


@pytest.mark.parametrize("labels", SEVERAL.values(), ids=SEVERAL)
def test_several_labels_in_memory(labels):
    query, database, lacking, _ = label_pair(labels, labels, 2, 2)
    assert query.sum(axis=1).tolist() == [1, 2]
    np.testing.assert_array_equal(query, database)
    assert lacking == ()


@pytest.mark.parametrize(("kind", "names"), [(list, "ab"), (set, [1, 2]), (tuple, "ab")])
def test_an_empty_list_is_an_item_without_labels(kind, names):
    some = [kind(names[:1]), kind(), kind(names[1:])]
    assert [of_matrix(side) for side in label_pair(some, some[::-1], 3, 3)[:2]] == [[[0], [], [1]], [[1], [], [0]]]


def test_columns_are_named_by_their_header(here):
    Path("q.csv").write_text("id,owl,fox,elk\na,1,0,1\nb,0,1,0\n")
    Path("d.csv").write_text("id,owl,fox,elk\nc,0,1,0\nd,0,1,1\ne,1,1,0\n")
    assert [labels_from(f"{name}.csv", "y").class_names for name in "qd"] == [("owl", "fox", "elk")] * 2
    for database in ("d.csv", np.array([[0, 1, 0]] * 3)):
        assert label_pair("q.csv", database, 2, 3)[2] == (() if isinstance(database, str) else ("owl", "elk"))
    Path("d.csv").write_text("id,fox,owl,elk\nc,0,1,0\nd,0,1,1\ne,1,1,0\n")
    refuses(
        r"^d\.csv: its columns are fox, owl, elk, but owl, fox, elk in q\.csv\. Write both",
        label_pair,
        "q.csv",
        "d.csv",
        2,
        3,
    )


def test_named_classes_are_not_matched_with_columns_without_names():
    """Which column is the owl's can't be known, even if there are as many columns as names."""
    for sides in (([["owl"], ["fox", "elk"]], np.eye(3)), (np.eye(3), [["owl"], ["fox", "elk"], ["owl"]])):
        with pytest.raises(
            ProtocolError, match="one side names its classes, and the columns of the other have no names"
        ):
            label_pair(*sides, len(sides[0]), len(sides[1]))


def test_random_tables_are_read_as_they_were_written(tmp_path):
    """Lists of random sizes, classes and separators, written by this test, have one reading."""
    rng = np.random.default_rng(0)
    for number in range(300):
        n_items, n_classes = rng.integers(4, 30), rng.integers(2, 6)
        mark, suffix = [(" ", "txt"), ("\t", "txt"), (",", "csv"), (";", "txt"), (",", "txt")][rng.integers(5)]
        ids = [f"set {n}/{n:03d}.jpg" if rng.random() < 0.5 else f"x/{n}.png" for n in range(n_items)]
        y, matrix = rng.integers(0, n_classes, n_items), rng.random((n_items, n_classes)) < 0.5
        y[:2] = 0, 1
        several = [[f"c{c}" for c in np.flatnonzero(row)] or ["none"] for row in matrix]
        kind = ["number", "name", "columns", "several"][rng.integers(4)]
        fields = {
            "number": [[str(label)] for label in y],
            "name": [[f"sea{label} lion{label}"] if mark != " " else [f"class_{label}"] for label in y],
            "columns": matrix.astype(int).astype(str).tolist(),
            "several": [["|".join(row)] for row in several],
        }[kind]
        file = tmp_path / f"{number}.{suffix}"
        file.write_text("".join(mark.join([name, *row]) + "\n" for name, row in zip(ids, fields, strict=True)))
        listing = read_listings({"list": file}, has_ids=True)["list"]
        assert listing.ids.tolist() == ids, file.read_text()
        labels = listing.labels.tolist()
        if kind == "several":
            names = np.array(listing.classes)
            labels = [names[row].tolist() for row in labels] if listing.classes else [[name] for name in labels]
        expected = {"number": y.tolist(), "name": [*chain(*fields)], "columns": matrix.tolist()}
        assert labels == expected.get(kind, several)


def test_a_row_and_a_column_of_matlab_are_row_numbers(tmp_path):
    savemat(tmp_path / "a.mat", {"row": [[4.0, 0, 2]], "column": [[4.0], [0], [2]]})
    assert [ids_from(f"{tmp_path}/a.mat:{key}", "ids").tolist() for key in ("row", "column")] == [[4, 0, 2]] * 2
