"""Lists, labels and codes in the forms of real files: each small input gives the value that plain NumPy gave for it."""

import numpy as np
import pytest
from encoded import yaml_of

from protocol import audit, evaluate
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.evaluation import Codes
from protocol.registry import get


def mean_ap(query, database, query_labels, database_labels, **options):
    labels = {"query_labels": query_labels, "database_labels": database_labels}
    return evaluate(query, database, **labels, metrics=["mAP"], **options).metrics["mAP"]


def findings(**lists):
    (found,) = audit(**lists).findings.values()
    return {finding.name: finding.count for finding in found}


def scored(case, *files, expected=None):
    codes = [Codes(*file) if isinstance(file, list) else file for file in files]
    name = " ".join(file[0] if isinstance(file, list) else file for file in files)
    return pytest.param(*codes, expected, marks=pytest.mark.case(case), id=name)


SCORES = [scored(*files, expected=value) for *files, value in yaml_of("cases/values.yaml")["scores"]]


@pytest.mark.usefixtures("case")
@pytest.mark.parametrize(("query", "database", "query_labels", "database_labels", "expected"), SCORES)
def test_codes_and_labels_of_every_form_have_the_value_of_the_case(
    query, database, query_labels, database_labels, expected
):
    expected = expected or mean_ap("bits.npy", "bits.npy", "labels.npy", "labels.npy")
    assert mean_ap(query, database, query_labels, database_labels) == pytest.approx(expected, abs=5e-5)


@pytest.mark.case("01-class-number-lists")
@pytest.mark.usefixtures("case")
@pytest.mark.parametrize("name", ["two_{}.txt", "ten_{}.txt", "zero_{}.txt", "name_{}.csv"])
def test_a_single_column_is_one_class_for_each_item(name):
    found = findings(query=name.format("query"), database=name.format("database"))
    assert not {"query-without-relevant", "label-conflict"} & set(found)
    assert ("class-missing" in found) == name.startswith(("ten", "name"))  # class 7, and the class fox, have no query
    assert "class-missing" not in found or found["class-missing"] == 1


@pytest.mark.case("04-signed-packed-codes")
@pytest.mark.usefixtures("case")
def test_the_advice_for_signed_packed_codes_leads_to_their_value():
    with pytest.raises(ProtocolError, match=r'n_bits=\d+\), with bit_order="big-128"') as error:
        mean_ap("q.npy", "d.npy", "ql.npy", "dl.npy")
    assert "binarize" not in str(error.value)


@pytest.mark.case("08-header-read-as-an-item")
@pytest.mark.usefixtures("case")
def test_a_header_of_any_words_is_no_item():
    assert findings(query="query.csv", database="database.csv", train="train.csv") == {"train-in-database": 1}
    (run,) = audit(query="query.csv", database="database.csv", train="train.csv").runs
    assert [len(run.split[part]) for part in ("query", "database", "train")] == [2, 2, 1]
    assert not findings(query="query_labels.csv", database="database_labels.csv")


@pytest.mark.case("09-named-classes-in-the-pipeline")
@pytest.mark.usefixtures("case")
@pytest.mark.parametrize("labels", ["names.csv", "names.npy"])
def test_named_classes_are_those_of_their_numbers(labels, capsys):
    data = get("dataset", "arrays")({}, features="X.npy", labels=labels)
    assert data.class_names == ("elk", "fox", "owl")
    words, numbers = np.load("names.npy"), np.unique(np.load("names.npy"), return_inverse=True)[1]
    assert [data.class_names[label] for label in data.labels] == words.tolist()
    lists = {"query": "qi.npy", "database": "di.npy"}
    assert findings(**lists, labels=labels) == findings(**lists, labels=numbers)
    assert main(["init", "--features", "X.npy", "--labels", labels]) == 0
    assert "300 items, 3 classes" in capsys.readouterr().out


@pytest.mark.case("10-items-in-columns")
@pytest.mark.usefixtures("case")
def test_items_in_columns_are_transposed_by_an_apostrophe():
    with pytest.raises(ProtocolError, match=r"If items are in columns, .* \"codes\.mat:Bq'\" and \"codes\.mat:Bd'\""):
        mean_ap("codes.mat:Bq", "codes.mat:Bd", "ql.npy", "dl.npy")
    result = evaluate("codes.mat:Bq'", "codes.mat:Bd'", query_labels="ql.npy", database_labels="dl.npy")
    assert (result.n_queries, result.n_database, result.n_bits) == (10, 50, 12)
    with pytest.raises(ProtocolError, match=r"Its columns fit: transpose it, or write \"labels\.mat:Lq'\""):
        mean_ap("codes.mat:Bq'", "codes.mat:Bd'", "labels.mat:Lq", "dl.npy")


@pytest.mark.case("12-blanks-in-names")
@pytest.mark.usefixtures("case")
@pytest.mark.parametrize("name", ["{}.txt", "{}_tab.txt", "{}_names.txt"])
def test_names_may_contain_blanks(name):
    assert not findings(query=name.format("query"), database=name.format("database"))


@pytest.mark.case("23-text-labels")
@pytest.mark.usefixtures("case")
def test_a_column_is_looked_up_by_a_name_that_exists():
    np.save("x.npy", np.eye(59, dtype=np.float32))
    load = get("dataset", "arrays")
    with pytest.raises(ProtocolError, match=r"^texts\.csv: no column 'label'\. Its columns are category, text\.$"):
        load({}, features="x.npy", labels="texts.csv:label")
    data = load({}, features="x.npy", labels="texts.csv:category")
    assert {"sport", "tech"} < set(data.class_names)
