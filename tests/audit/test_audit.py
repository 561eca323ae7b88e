import csv

import numpy as np
import pytest

from protocol import registry, storage
from protocol.audit import LEARNING, audit_fit, audit_selection, audit_split, audit_truth, write_findings

SIZES = {"query": 20, "validation_query": 20, "validation_database": 20, "train": 20}
Y = np.arange(200) % 5


def clean(name):
    protocol = registry.get("split", name)
    return protocol, protocol.split(200, Y, sizes=SIZES, seed=0)


def names(protocol, parts):
    return {(finding.name, finding.severity) for finding in audit_split(parts, protocol, y=Y, sizes=SIZES)}


def test_a_clean_improved_split_has_no_finding():
    protocol, parts = clean("improved")
    assert audit_split(parts, protocol, y=Y, sizes=SIZES) == []


def test_the_standard_protocol_has_its_inherent_overlap_as_a_warning():
    assert names(*clean("standard")) == {
        ("train-in-database", "warning"),
        ("validation-query-in-database", "warning"),
        ("validation-database-in-database", "warning"),
    }


def replaced(parts, **changes):
    return parts | {name: np.sort(rows) for name, rows in changes.items()}


@pytest.mark.parametrize(
    ("finding", "change"),
    [
        ("query-in-database", lambda p: replaced(p, database=np.append(p["database"], p["query"][0]))),
        ("query-in-train", lambda p: replaced(p, train=np.append(p["train"][1:], p["query"][0]))),
        ("train-in-database", lambda p: replaced(p, database=np.append(p["database"], p["train"][0]))),
        (
            "validation-in-test",
            lambda p: replaced(p, validation_query=np.append(p["validation_query"][1:], p["query"][0])),
        ),
        ("size-mismatch", lambda p: replaced(p, train=p["train"][1:])),
        ("class-missing", lambda p: replaced(p, query=p["query"][Y[p["query"]] != 3])),
        (
            "class-imbalance",
            lambda p: replaced(p, train=np.concatenate([p["train"][Y[p["train"]] != 3], p["train"][:2]])),
        ),
    ],
)
def test_each_fault_is_found_as_an_error(finding, change):
    protocol, parts = clean("improved")
    assert (finding, "error") in names(protocol, change(parts))


def test_a_finding_counts_and_gives_examples():
    protocol, parts = clean("improved")
    leaked = replaced(parts, database=np.concatenate([parts["database"], parts["query"][:7]]))
    (finding,) = audit_split(leaked, protocol, y=Y, sizes=SIZES)
    assert finding.count == 7
    assert finding.examples == tuple(parts["query"][:5])


def test_a_fit_on_other_data_is_a_leak():
    training = np.arange(6.0).reshape(3, 2)
    passport = {"maker": "preprocessing", "fitted_on": storage.array_digest(training)}
    assert audit_fit(passport, training.copy()) == []
    (finding,) = audit_fit(passport, training[:2])
    assert (finding.name, finding.severity) == ("preprocessing-leak", "error")


def test_a_choice_on_other_data_is_a_leak_whichever_partition_it_is():
    parts = {name: np.full((2, 3), i) for i, name in enumerate(LEARNING)}
    read = {name: storage.array_digest(data) for name, data in parts.items()}
    assert audit_selection({"read": read}, parts) == []
    for name in LEARNING:
        (finding,) = audit_selection({"read": read | {name: "0" * 64}}, parts)
        assert (finding.name, finding.severity, finding.count) == ("selection-leak", "error", 1)
        assert finding.consequence.endswith(f"see {name}.")
        (finding,) = audit_selection({"read": {part: read[part] for part in LEARNING if part != name}}, parts)
        assert finding.consequence.endswith(f"see {name}.")
    (finding,) = audit_selection({"read": read | {"query": "0" * 64}}, parts)
    assert finding.consequence.endswith("see query.")


def test_queries_without_a_relevant_item_are_named():
    truths = {
        "epsilon_ball": {"indptr": np.array([0, 2, 2, 3]), "indices": np.array([0, 1, 1])},
        "class_label": {"query_labels": np.array([0, 9]), "database_labels": np.array([0, 1])},
        "multi": {"query_labels": np.eye(2, dtype=bool), "database_labels": np.array([[False, True]])},
    }
    findings = audit_truth(truths)
    assert [finding.examples for finding in findings] == [(1,), (1,), (0,)]
    assert {finding.severity for finding in findings} == {"warning"}


def test_findings_are_written_with_their_place(tmp_path):
    protocol, parts = clean("standard")
    write_findings(tmp_path / "audit.csv", {"a.h5": audit_split(parts, protocol, y=Y, sizes=SIZES), "b.h5": []})
    with open(tmp_path / "audit.csv") as file:
        written = list(csv.DictReader(file))
    assert {row["file"] for row in written} == {"a.h5"}
    assert written[0]["severity"] == "warning"
