"""The sentence about a clean split lists exactly the checks that were not possible, for all options."""

import itertools

import numpy as np
import pytest
from audited import audit

from protocol.auditing.findings import NOT_CHECKED

N = 60_000
# Splits with a problem: the argument that the check requires, and the words that are printed if it is missing.
FAULTS = {
    "query-in-train": ({"train"}, "overlaps with missing partitions"),
    "size-mismatch": ({"protocol"}, "size-mismatch (needs"),
    "class-missing": ({"labels"}, "classes and relevance"),
    "query-without-relevant": ({"labels"}, "classes and relevance"),
    "near-duplicate": ({"features"}, "near-duplicate (needs features)"),
    "pair-split": ({"pairs"}, "pair-split"),
    "unused-items": ({"labels"}, "unused-items"),
}
GIVEN = {
    "train": np.array([0, 200]),
    "protocol": "cifar10_s1",
    "labels": np.where(np.arange(N) == 1, 1, 0),  # query 1 is alone in its class
    "features": np.repeat(np.arange(N // 2.0), 2)[:, None],  # 2 and 3 are equal, 2 is a query
    "pairs": np.array([[2, 100]]),
}
OPTIONS = [chosen for size in range(len(GIVEN) + 1) for chosen in itertools.combinations(GIVEN, size)]


@pytest.mark.parametrize("chosen", OPTIONS, ids="+".join)
def test_a_problem_is_found_or_its_check_is_listed_as_not_possible(chosen):
    audited = audit(query=[0, 1, 2], database=[3, *range(100, 2_000)], **{name: GIVEN[name] for name in chosen})
    (made,), ((_, *_, not_checked),) = audited.findings.values(), audited.about.values()
    assert not_checked.startswith(NOT_CHECKED)
    names = {one.name for one in made}
    for name, (needed, words) in FAULTS.items():
        possible = needed <= set(chosen)
        if name == "unused-items":  # under a protocol with a training set, only with all partitions
            possible = possible and ("protocol" not in chosen or "train" in chosen)
        if name == "query-in-train":
            words = "(train" if possible else "train"
        assert (name in names) == possible
        assert (words in not_checked) == (not possible)


def test_labels_of_some_lists_are_named_with_those_that_lack_them(tmp_path):
    (tmp_path / "q.txt").write_text("a 1 0\nb 0 1\n")
    audited = audit(query=tmp_path / "q.txt", database=["c", "d"])
    assert "classes and relevance for database (needs labels)" in audited.to_text(why=True)


def test_clean_and_not_checked_are_one_statement():
    audited = audit(query=["a", "c"], database=["b", "d"])
    for text in (audited.to_markdown(), audited._repr_html_()):
        assert text.count("clean; not checked: overlaps with") == 1
        assert NOT_CHECKED not in text
    found = audit(query=["a"], database=["a", "b"])
    for text in (found.to_markdown(), found._repr_html_()):
        assert "clean" not in text.replace("cleaned", "")
        assert text.count(NOT_CHECKED) == 1


def test_findings_are_first_and_the_number_of_missing_checks_is_last():
    found = audit(query=["a"], database=["a", "b"])
    lines = found.to_text().splitlines()
    assert lines[:2] == ["query database", "  error    query-in-database: 1"]
    assert lines.index("  query 1, database 2; no protocol declared") > 1
    (checks,) = (line.removeprefix(NOT_CHECKED).split("; ") for line in found.about["query database"][-1:])
    assert lines[-1] == f"{len(checks)} checks need more data: --why lists them (in Python, `about`)"
    assert found.to_text(why=True).splitlines()[-len(checks) - 1 :] == [
        f"{len(checks)} checks need more data:",
        *(f"  {check}" for check in checks),
    ]
    assert found.to_markdown().splitlines()[2].startswith("| severity |")
    several = audit({"query": [0], "database": [0, 1]}, {"query": [1], "database": [0, 2]})
    assert several.to_text().count("more data") == 1


def test_errors_precede_warnings(tmp_path):
    text = str(audit(query=[0, 1], database=[1, 2, 3], labels=[0, 1, 1, 0, 1, 2]))
    assert 0 < text.index("  error ") < text.index("  warning ")


def test_an_empty_partition_counts_as_missing():
    lists = {"query": ["a"], "database": ["b"]}
    assert str(audit(**lists, train=[])) == str(audit(**lists)).replace("query database", "query database train")


def test_only_runs_of_a_declared_protocol_are_compared_as_runs():
    splits = {"query": [0], "database": [1, 2]}, {"query": [2], "database": [0, 1]}
    for protocol, is_possible in (("improved", True), (None, False)):
        sentences = audit(*splits, protocol=protocol).about.values()
        assert all(("runs-not-independent" in lines[-1]) != is_possible for lines in sentences)
