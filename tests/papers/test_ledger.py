"""Every claim is judged by computation: the expected statuses, and a check that wrong metrics are detected."""

import importlib.util
import json
from types import SimpleNamespace

import pytest
from evidence import CASES, SUMMARY, judged, rows_of, write

from protocol import checks, papers, registry
from protocol.papers import Claim, Evidence
from protocol.papers.claim import (
    AS_PRINTED,
    NOT_DECIDED,
    NOT_REPLICATED,
    NOT_RUN,
    PROVED,
    REFUTED,
    REPLICATED,
    SO_FAR,
    SOME_FAIL,
    Difference,
    leaves,
)
from protocol.papers.claim import SUBSTITUTE_NOT_REPLICATED as NOT_ON_SUBSTITUTE
from protocol.papers.claim import SUBSTITUTE_REPLICATED as ON_SUBSTITUTE
from protocol.papers.ledger import totals
from protocol.provenance import storage

WITHOUT_DATA = {
    PROVED: "S0-01 S0-02 S0-03 S0-04 S0-05 S0-07 X-01 S1-01 S1-02 S1-03 S2-01 S2-03-LSH S2-03-LSH_SEs1 S2-03-LSH_SEs8 "
    "S2-03-LSH_DEs1 S2-04-ends S2-05 S2-06 S2-07 S2-09-lookups "
    "S3-01 S3-02 S3-03 S3-04 S3-07 S3-08 S3-09 S3-10 S3-11 S3-12 S3-13 "
    "S3-19 S3-21-counts X-21 X-22 X-23 S4-02 S4-04 S4-07 S4-08 S4-09 S4-10 S4-13",
    REFUTED: "S0-06 S3-05 S3-06 S4-03 S4-05 S4-06",
    NOT_RUN: "S0-08 S0-09 S0-10 S0-11 S0-12 S0-14 S0-15 X-02 X-03 X-04 S2-02 S2-04 X-05 X-06 S2-08-runs S2-09 "
    "S3-14 X-10 S3-15 X-13 X-15 S3-16 S3-17 S3-18 S3-20 X-12 X-14 S3-21 S4-01 "
    "S4-11 S4-12 X-25 X-17",
    SOME_FAIL: "S0-13 X-07 S2-08 S3-22 X-11 X-18 X-19 X-20 X-24",
}
WITH_REFERENCE_RESULTS: dict[str, str] = {
    "S0-08": ON_SUBSTITUTE,
    "S0-09": SOME_FAIL,
    "S0-10": SOME_FAIL,
    "S0-11": SOME_FAIL,
    "S0-12": SOME_FAIL,
    "S0-14": SO_FAR,
    "S0-15": SO_FAR,
    "S2-02": SO_FAR,
    "S2-04": SO_FAR,
    "S2-08-runs": SOME_FAIL,
    "S2-09": SOME_FAIL,
    "X-02": ON_SUBSTITUTE,
    "X-03": NOT_ON_SUBSTITUTE,
    "X-04": ON_SUBSTITUTE,
    "X-05": ON_SUBSTITUTE,
    "X-06": ON_SUBSTITUTE,
    "X-10": ON_SUBSTITUTE,
    "S3-14": SOME_FAIL,
    "S3-21": REPLICATED,
    "S4-01": SO_FAR,
    "S4-11": SO_FAR,
    "S4-12": SOME_FAIL,
    "X-25": ON_SUBSTITUTE,
    "X-12": NOT_DECIDED,
    "X-13": SOME_FAIL,
    "X-14": NOT_DECIDED,
    "X-15": NOT_ON_SUBSTITUTE,
    "X-17": SOME_FAIL,
}
BY_ID = {claim.id: claim for claim in papers.all_claims()}


def test_statuses_without_data(without_data):
    expected = {number: status for status, numbers in WITHOUT_DATA.items() for number in numbers.split()}
    assert {number: entry["status"] for number, entry in without_data.items()} == expected


@pytest.mark.parametrize("number", [claim.id for claim in papers.all_claims() if not claim.proof])
def test_a_claim_about_data_can_be_decided_both_ways(tmp_path, number):
    assert number in CASES, "add the evidence that would confirm it and that would refute it to evidence.py"
    case = CASES[number]
    assert judged(number, *write(tmp_path / "for", case.confirming)).status in (REPLICATED, ON_SUBSTITUTE)
    assert judged(number, *write(tmp_path / "against", case.refuting)).status in (NOT_REPLICATED, NOT_ON_SUBSTITUTE)


def moved(value, by):
    """Return a value with every number in it moved."""
    if isinstance(value, dict):
        return {name: moved(part, by) for name, part in value.items()}
    return [moved(part, by) for part in value] if isinstance(value, list | tuple) else value + by


@pytest.mark.parametrize("claim", [claim for claim in papers.all_claims() if claim.proof], ids=lambda claim: claim.id)
def test_a_proof_can_come_out_both_ways(claim, proofs):
    below = {name: moved(value, -1.0 if claim.relation == "<" else 0.0) for name, value in claim.expected.items()}
    assert claim.verdict(Evidence.as_printed(below)).status == PROVED
    off = {name: moved(value, claim.tolerance(name) + 1) for name, value in claim.expected.items()}
    assert claim.verdict(Evidence.as_printed(off)).status == REFUTED
    for values in proofs[claim.id].evidence.by_reading.values():
        assert set(claim.expected) <= set(values), "the check computes another name"


def test_every_expected_value_has_a_number():
    for claim in papers.all_claims():
        assert claim.expected, claim.id
        assert all(list(leaves(value)) for value in claim.expected.values()), claim.id


def test_statuses_with_the_reference_tables(with_reference_tables, without_data):
    entries = with_reference_tables
    changed = {n: entry["status"] for n, entry in entries.items() if entry["status"] != without_data[n]["status"]}
    assert changed == WITH_REFERENCE_RESULTS
    assert "dsh (0.165694)" in entries["S0-08"]["ours"]
    assert (
        "pairs of methods where the one with the higher mAP uses more codes: 13; pairs: 28" in entries["X-03"]["ours"]
    )
    assert "heads over GIST (learned), 24 bits: codes used, new divided by original: 3.02727" in entries["X-02"]["ours"]
    assert "combinations: 96; smallest and largest mAP@p over mAP: 1.13998 1.77218" in entries["X-04"]["ours"]
    assert "pairs of rows: 2112" in entries["X-06"]["ours"]
    assert "Wiki pairs: 2866" in entries["S4-11"]["ours"]


def test_every_claim_has_a_method_or_states_its_needs(without_data):
    for number, entry in without_data.items():
        assert list(entry) == list(papers.FIELDS)
        assert all(isinstance(value, str) for value in entry.values())
        assert entry["place"]
        assert entry["claim"].endswith("."), number
        if entry["status"] == NOT_RUN:
            assert "Needs: " in entry["note"], number
        else:
            assert entry["note"].startswith("How: "), number
            assert entry["expected"], number
            assert entry["ours"], number


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("S4-03", ["micro F1: 0.666667", "0.6 and 0.75"]),
        ("S4-06", ["AUPRC: 0.833333", "AUPRC: 0.791667", "two queries have one relevant item each"]),
        ("S4-05", ["as printed: AUPRC of the ideal ranking: 0", "Holds with: trapezoids from recall 0"]),
        ("S3-05", ["two items tied first, one relevant: inf", "Holds with: with limits moved by half an item"]),
        ("S3-06", ["two items tied first, one relevant: inf"]),
        (
            "S0-06",
            [
                "as printed: used: 1 | two classes",
                "used: 0.5",
                "Holds with: two",
                "The smallest counter-example has 3 bits",
                "E0-05",
            ],
        ),
    ],
)
def test_contradictions_are_written_up_with_the_smallest_example(without_data, number, words):
    text = papers.entry_text(without_data[number], width=4000)
    for word in words:
        assert word in text


WRONG = [
    ("mLGAP@rR", ["S0-01", "X-01"]),
    ("RAMAP@rR", ["S2-03-LSH", "S2-03-LSH_SEs8"]),
    ("mAP", ["S3-02", "S3-08"]),
    ("mAP[worst]", ["S0-04"]),
    ("mAP@K[all]", ["S3-03"]),
    ("mAP@K[retrieved]", ["S0-05", "S1-02"]),
    ("nDCG", ["S1-03", "S3-19"]),
    ("nDCG@K", ["S3-04"]),
    ("lookups@rR", ["S0-01", "S2-01"]),
    ("precision@rR", ["S2-06", "S4-04"]),
    ("recall@rR", ["S2-06"]),
    ("precision_micro@rR", ["S4-13"]),
    ("F_beta@rR", ["S4-04"]),
]


@pytest.fixture
def replace_metric(monkeypatch):
    def replace(name, function):
        right = registry.entry("metric", name)
        entry = right.describing(lambda counts, **options: function(right.plugin, counts, options))
        monkeypatch.setitem(registry.METRICS.records, right.name, entry)

    return replace


@pytest.mark.parametrize(("metric", "numbers"), WRONG, ids=[metric for metric, _ in WRONG])
def test_a_wrong_metric_is_detected(replace_metric, metric, numbers):
    replace_metric(metric, lambda right, counts, options: right(counts, **options) * 1.001 + 0.002)
    for number in numbers:
        assert BY_ID[number].judge(papers.Results()).status in (REFUTED, SOME_FAIL), number


def test_a_contradicted_claim_is_confirmed_by_a_metric_built_for_it(replace_metric):
    replace_metric("F1_micro@rR", lambda *_: [0.78])
    assert BY_ID["S4-03"].judge(papers.Results()).status == PROVED


def test_errors_of_a_check_are_not_caught():
    def check():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Claim("1", "paper", "place", "A claim.", {"a": 1}, check, proof=True).judge(papers.Results())


@pytest.mark.parametrize(
    ("ours", "proof", "replication"),
    [
        ({"a": 1.0, "b": [1, 2]}, PROVED, REPLICATED),
        ({"a": 1.05, "b": [1, 2]}, PROVED, REPLICATED),
        ({"a": 1.2, "b": [1, 2]}, SOME_FAIL, SOME_FAIL),
        ({"a": float("nan"), "b": [1, 2]}, SO_FAR, SO_FAR),
        ({"a": float("nan"), "b": [1, 3]}, SOME_FAIL, SOME_FAIL),
        ({"a": float("nan"), "b": [1, float("nan")]}, NOT_DECIDED, NOT_DECIDED),
        ({"a": float("nan")}, NOT_DECIDED, NOT_DECIDED),
        ({"a": "no difference shown at 2"}, NOT_DECIDED, NOT_DECIDED),
        ({"a": Difference(1.1, 0.05)}, NOT_DECIDED, NOT_DECIDED),
        ({"a": Difference(1.3, 0.5)}, NOT_DECIDED, NOT_DECIDED),
        ({"a": Difference(1.05, 0.04)}, SO_FAR, SO_FAR),
        ({"a": Difference(1.3, 0.1)}, SOME_FAIL, SOME_FAIL),
        ({"a": 1.0, "b": [1, 2, 3]}, SOME_FAIL, SOME_FAIL),
        ({"a": 1.2, "b": [1, 3]}, REFUTED, NOT_REPLICATED),
        ({"a": 1.0}, SO_FAR, SO_FAR),
        ({"a": 1.2}, SOME_FAIL, SOME_FAIL),
        ({"only shown": 1}, NOT_RUN, NOT_RUN),
        ({}, NOT_RUN, NOT_RUN),
        (Evidence({"first": {"a": 1, "b": [1, 2]}, "second": {"a": 9, "b": [1, 2]}}), PROVED, REPLICATED),
        (Evidence({"first": {"a": 8, "b": [1, 3]}, "second": {"a": 9, "b": [1, 3]}}), REFUTED, NOT_REPLICATED),
        (Evidence({AS_PRINTED: {"a": 8, "b": [1, 3]}, "x": {"a": 1, "b": [1, 2]}}), REFUTED, NOT_REPLICATED),
        (Evidence({AS_PRINTED: {"a": 1, "b": [1, 2]}, "x": {"a": 9, "b": [1, 2]}}), PROVED, REPLICATED),
        (Evidence.as_printed({"a": 1, "b": [1, 2]}, substitute="GIST"), PROVED, ON_SUBSTITUTE),
        (Evidence.as_printed({"a": 8, "b": [1, 3]}, substitute="GIST"), REFUTED, NOT_ON_SUBSTITUTE),
        (Evidence.as_printed({"a": 8, "b": [1, 2]}, substitute="GIST"), SOME_FAIL, SOME_FAIL),
    ],
)
def test_the_status_follows_from_the_parts(ours, proof, replication):
    for is_proof, status in ((True, proof), (False, replication)):
        claim = Claim("1", "p", "q", "A.", {"a": 1, "b": [1, 2]}, lambda *_: ours, is_proof, within={"a": 0.1})
        assert claim.judge(papers.Results()).status == status


def test_failing_parts_are_separate_from_parts_that_were_not_run():
    claim = Claim("1", "p", "q", "A.", {"a": 1, "b": 2, "c": 3}, lambda *_: {}, proof=False)
    for a, status in ((1, SO_FAR), (9, SOME_FAIL)):
        verdict = claim.verdict(Evidence.as_printed({"a": a, "b": 2}))
        assert (verdict.status, verdict.not_run) == (status, ["c"])
    assert verdict.summary == "1 of 3 parts hold, 1 not run"
    assert verdict.named(False) == ["a"]
    undecided = claim.verdict(Evidence.as_printed({"a": 1, "b": float("nan")}))
    assert undecided.summary == "1 of 3 parts hold, 1 not decided, 1 not run"
    assert (undecided.not_decided, undecided.not_run) == (["b"], ["c"])


def test_the_summary_names_the_reading_and_the_substitute():
    claim = Claim("1", "p", "q", "A.", {"a": 1, "b": 2}, lambda *_: {}, proof=False)
    verdict = claim.verdict(Evidence({"empty balls left out": {"a": 1, "b": 2}}, substitute="GIST for AlexNet"))
    assert verdict.summary == "2 of 2 parts hold; read as: empty balls left out; GIST for AlexNet"
    single = Claim("1", "p", "q", "A.", {"a": 1}, lambda *_: {}, proof=True)
    assert single.verdict(Evidence.as_printed({"a": 1})).summary == ""


@pytest.mark.parametrize(
    ("relation", "ours", "holds"),
    [
        ("<", 1, False),
        ("<=", 1, True),
        ("<=", 2, False),
        ("<", 0, True),
        ("<", Difference(0.5, 0.4), True),
        ("<", Difference(0.5, 0.6), None),
        ("<", Difference(2, 0.5), False),
    ],
)
def test_a_bound(relation, ours, holds):
    claim = Claim("1", "p", "q", "A.", {"a": 1}, lambda: {"a": ours}, proof=True, relation=relation)
    assert claim.judge(papers.Results()).status == {True: PROVED, False: REFUTED, None: NOT_DECIDED}[holds]


def test_the_same_ledger_twice_is_the_same_also_of_an_empty_folder(tmp_path, proved_once, without_data):
    again = papers.ledger(tmp_path)
    assert again == list(without_data.values())
    papers.write_ledger(tmp_path / "a.json", again)
    papers.write_ledger(tmp_path / "b.json", list(without_data.values()))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text()) == again


def test_a_missing_folder_is_one_clear_error(tmp_path):
    with pytest.raises(checks.ProtocolError, match="none: no such folder of results") as error:
        papers.ledger(tmp_path / "none")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "got an empty file"),
        ("a,b\n1,2\n", "expected the columns of a summary"),
        (",".join(SUMMARY) + "\ncifar10,gist,c,s,lsh,twelve,none,0,mAP,0.1,,10\n", "line 2 .mAP.: n_bits: expected an"),
        (",".join(SUMMARY) + "\ncifar10,gist,c\n", "line 2 ..: n_bits: expected an integer"),
        ("\xff\xfe", "expected a readable table"),
    ],
)
def test_a_broken_summary_is_one_clear_error(tmp_path, content, message):
    path = tmp_path / "digits" / "summary.csv"
    path.parent.mkdir()
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(checks.ProtocolError, match=message) as error:
        papers.ledger(tmp_path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_a_mean_that_is_undefined_is_no_row(tmp_path):
    table = rows_of(tmp_path / "a" / "summary.csv", [{"mean": ""}, {"hasher": "itq", "mean": 0.1}])
    assert [row.hasher for row in papers.Results([table]).rows()] == ["itq"]


def test_the_folder_of_one_experiment_is_accepted(tmp_path):
    rows_of(tmp_path / "cifar10" / "summary.csv", CASES["S0-08"].confirming)
    for folder in (tmp_path, tmp_path / "cifar10"):
        (entry,) = papers.ledger(folder, ["S0-08"])
        assert entry["status"] == ON_SUBSTITUTE


def test_tables_of_other_kinds_are_left_out(tmp_path):
    other = tmp_path / "reference" / "leak" / "leak.csv"
    other.parent.mkdir(parents=True)
    other.write_text("a,b\n1,2\n")
    assert papers.Results.in_folder(tmp_path).rows() == []


def test_a_combination_in_two_tables_counts_once(tmp_path):
    first = rows_of(tmp_path / "a" / "summary.csv", [{"mean": 0.123456789}])
    second = rows_of(tmp_path / "reference" / "b" / "summary.csv", [{"mean": 0.123457}])
    third = rows_of(tmp_path / "c" / "summary.csv", [{"mean": 0.2}])
    assert [row.mean for row in papers.Results([first, second, third]).rows(metric="mAP")] == [0.123456789, 0.2]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_respects_the_width(without_data, width):
    entries = list(without_data.values())
    for text in (
        papers.ledger_text(entries, width=width),
        *(papers.entry_text(entry, width=width) for entry in entries),
    ):
        assert max(map(len, text.splitlines())) <= width


def test_the_table_has_every_claim_once_and_the_totals(without_data):
    entries = list(without_data.values())
    text = papers.ledger_text(entries, width=100)
    for number in without_data:
        assert sum(line.strip().split("  ")[0] == number for line in text.splitlines()) == 1
    assert f"{len(entries)} claims: " in text
    assert papers.ledger_text(entries[:1], width=100).splitlines()[-1] == f"1 claim: 1 {entries[0]['status']}"
    for status, n in totals(entries).items():
        assert f"{n} {status}" in " ".join(text.split()) or n == 0
    assert sum(totals(entries).values()) == len(entries)


def test_an_empty_selection_is_reported():
    assert papers.ledger_text([]) == "no claims"


def test_the_folder_of_results_has_the_reference_tables(root, with_reference_tables):
    assert papers.ledger(root / "results", ["S0-14", "S4-11"]) == [with_reference_tables[n] for n in ("S0-14", "S4-11")]


def test_the_docs_have_the_totals_and_the_contradictions(root, with_reference_tables):
    page = (root / "docs" / "reference" / "claims.md").read_text()
    made = papers.ledger_markdown(list(with_reference_tables.values()))
    assert page.endswith(f"\n\n{made}\n"), "run python docs/generate.py"


def test_the_pipeline_writes_the_same(root, tmp_path, proved_once, reference_tables, with_reference_tables):
    spec = importlib.util.spec_from_file_location("claims_script", root / "workflow" / "scripts" / "claims.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    path_of_summary = rows_of(tmp_path / "digits" / "summary.csv", [{"dataset": "digits"}])
    content = path_of_summary.read_text()
    with storage.replacing(path_of_summary, checksum=True) as path:
        path.write_text(content)
    files = SimpleNamespace(summary=path_of_summary, reference=reference_tables)
    script.main(SimpleNamespace(input=files, output=SimpleNamespace(claims=tmp_path / "claims.json")))
    assert json.loads((tmp_path / "claims.json").read_text()) == list(with_reference_tables.values())
