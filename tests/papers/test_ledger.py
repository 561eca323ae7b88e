"""The ledger: the status of every claim, its texts, `protocol claims`, and a check that wrong metrics are detected."""

import importlib.util
import json
import math
import statistics
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from evidence import EVIDENCE, SUMMARY, rows_of, write_summary
from scipy import stats

from protocol import checks, papers, registry
from protocol.cli import main
from protocol.papers import Claim, Evidence
from protocol.papers.claim import (
    AS_PRINTED,
    NOT_RUN,
    PROVED,
    REFUTED,
    SO_FAR,
    SOME_FAIL,
    Difference,
    leaves,
)
from protocol.papers.claim import SUBSTITUTE_REPLICATED as ON_SUBSTITUTE
from protocol.papers.ledger import totals
from protocol.papers.results import Mean
from protocol.provenance import storage

TABLE = yaml.safe_load((Path(__file__).parent / "statuses.yaml").read_text())
STATUSES = {
    which: {number: status for status, numbers in by_status.items() for number in numbers}
    for which, by_status in TABLE["claims"].items()
}
BY_ID = {claim.id: claim for claim in papers.all_claims()}


def test_statuses(without_data, with_reference_tables):
    assert {number: entry["status"] for number, entry in without_data.items()} == STATUSES["without data"]
    statuses = {number: entry["status"] for number, entry in with_reference_tables.items()}
    assert statuses == STATUSES["without data"] | STATUSES["with the reference results"]


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


def test_every_claim_has_a_method_or_states_its_needs(without_data):
    for number, entry in without_data.items():
        assert list(entry) == list(papers.FIELDS)
        assert entry["place"]
        assert entry["claim"].endswith("."), number
        assert entry["note"].startswith("How: ") or entry["status"] == NOT_RUN, number
        assert ("Needs: " in entry["note"]) or entry["status"] != NOT_RUN, number
        assert entry["ours"] or entry["status"] == NOT_RUN, number
        assert entry["expected"], number
        assert all(list(leaves(value)) for value in BY_ID[number].expected.values()), number


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("S4-03", ["micro F1: 0.666667", "0.6 and 0.75"]),
        ("S4-06", ["AUPRC: 0.833333", "AUPRC: 0.791667", "two queries have one relevant item each"]),
        ("S4-05", ["as printed: AUPRC of the ideal ranking: 0", "Holds with: trapezoids from recall 0"]),
        ("S3-05", ["two items tied first, one relevant: inf", "Holds with: with limits moved by half an item"]),
        ("S3-06", ["two items tied first, one relevant: inf"]),
        ("S0-06", ["as printed: used: 1 | two classes", "used: 0.5", "Holds with: two", "E0-05"]),
        ("S0-08", ["dsh (0.165694)"]),
        ("X-03", ["pairs of methods where the one with the higher mAP uses more codes: 13; pairs: 28"]),
        ("X-02", ["heads over GIST (learned), 24 bits: codes used, new divided by original: 3.02727"]),
        ("X-04", ["combinations: 96; smallest and largest mAP@p over mAP: 1.13998 1.77218"]),
        ("X-06", ["pairs of rows: 2112"]),
        ("S4-11", ["Wiki pairs: 2866"]),
    ],
)
def test_the_numbers_of_a_claim_are_shown(with_reference_tables, number, words):
    text = papers.entry_text(with_reference_tables[number], width=9000)
    assert [word for word in words if word not in text] == []


WRONG = {
    "mLGAP@rR": ["S0-01", "X-01"],
    "RAMAP@rR": ["S2-03-LSH", "S2-03-LSH_SEs8"],
    "mAP": ["S3-02", "S3-08"],
    "mAP[worst]": ["S0-04"],
    "mAP@K[all]": ["S3-03"],
    "mAP@K[retrieved]": ["S0-05", "S1-02"],
    "nDCG": ["S1-03", "S3-19"],
    "nDCG@K": ["S3-04"],
    "lookups@rR": ["S0-01", "S2-01"],
    "precision@rR": ["S2-06", "S4-04"],
    "recall@rR": ["S2-06"],
    "precision_micro@rR": ["S4-13"],
    "F_beta@rR": ["S4-04"],
}


def replace_metric(monkeypatch, name, function):
    right = registry.entry("metric", name)
    entry = right.describing(lambda counts, **options: function(right.plugin, counts, options))
    monkeypatch.setitem(registry.METRICS.records, right.name, entry)


@pytest.mark.parametrize("metric", WRONG)
def test_a_wrong_metric_is_detected(monkeypatch, metric):
    replace_metric(monkeypatch, metric, lambda right, counts, options: right(counts, **options) * 1.001 + 0.002)
    for number in WRONG[metric]:
        assert BY_ID[number].judge(papers.Results()).status in (REFUTED, SOME_FAIL), number


def test_a_contradicted_claim_is_confirmed_by_a_metric_built_for_it(monkeypatch):
    replace_metric(monkeypatch, "F1_micro@rR", lambda *_: [0.78])
    assert BY_ID["S4-03"].judge(papers.Results()).status == PROVED


def claim_of(expected, ours=None, *, proof=False, **more):
    def check(*_):
        if isinstance(ours, type):
            raise ours
        return ours

    return Claim("1", "p", "q", "A.", expected, check, proof, **more)


def test_errors_of_a_check_are_not_caught():
    with pytest.raises(ZeroDivisionError):
        claim_of({"a": 1}, ZeroDivisionError, proof=True).judge(papers.Results())


NAN = float("nan")


@pytest.mark.parametrize("case", TABLE["parts"], ids=str)
def test_the_status_follows_from_the_parts(case):
    """`ours` has the values, or values by reading; the expected ones are 1 (± 0.1) and the list 1, 2."""
    ours = case["ours"]
    if case.keys() & {"substitute", "readings"}:
        ours = Evidence(ours if case.get("readings") else {AS_PRINTED: ours}, case.get("substitute", ""))
    elif isinstance(ours.get("a"), dict):
        ours = {"a": Difference(**ours["a"])}
    for is_proof, status in ((True, case["proof"]), (False, case["replication"])):
        claim = claim_of({"a": 1, "b": [1, 2]}, ours, proof=is_proof, within={"a": 0.1})
        assert claim.judge(papers.Results()).status == status


@pytest.mark.parametrize(
    ("evidence", "status", "summary", "undecided", "not_run"),
    [
        (Evidence.as_printed({"a": 1, "b": 2}), SO_FAR, "2 of 3 parts hold, 1 not run", [], ["c"]),
        (Evidence.as_printed({"a": 9, "b": 2}), SOME_FAIL, "1 of 3 parts hold, 1 not run", [], ["c"]),
        (Evidence.as_printed({"a": 1, "b": NAN}), SO_FAR, "1 of 3 parts hold, 1 not decided, 1 not run", ["b"], ["c"]),
        (
            Evidence({"empty balls left out": {"a": 1, "b": 2, "c": 3}}, substitute="GIST for AlexNet"),
            ON_SUBSTITUTE,
            "3 of 3 parts hold; read as: empty balls left out; GIST for AlexNet",
            [],
            [],
        ),
    ],
)
def test_the_summary_counts_the_parts_and_names_the_reading(evidence, status, summary, undecided, not_run):
    verdict = claim_of({"a": 1, "b": 2, "c": 3}).verdict(evidence)
    assert (verdict.status, verdict.summary) == (status, summary)
    assert (verdict.not_decided, verdict.not_run) == (undecided, not_run)
    assert claim_of({"a": 1}).verdict(Evidence.as_printed({"a": 1})).summary == ""


def test_the_interval_of_two_means_contains_the_variance_that_runs_share():
    """Welch's interval of independent runs, as scipy has it; with a shared variance of 0.4, by hand."""
    one, other = [0.5, 0.6, 0.55, 0.52], [0.3, 0.35, 0.31]

    def mean_of(values, shared):
        return Mean(statistics.mean(values), statistics.stdev(values), len(values), shared)

    alone = Difference.of_means(mean_of(one, 0.0), mean_of(other, 0.0))
    welch = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert (alone.low, alone.high) == pytest.approx((welch.low, welch.high))
    variances = [statistics.variance(values) * (1 / len(values) + 0.4) for values in (one, other)]
    degrees = sum(variances) ** 2 / (variances[0] ** 2 / 3 + variances[1] ** 2 / 2)
    shared = Difference.of_means(mean_of(one, 0.4), mean_of(other, 0.4))
    assert shared.half_width == pytest.approx(stats.t.ppf(0.975, degrees) * sum(variances) ** 0.5)
    assert Difference.of_means(mean_of(one, math.nan), Mean(0.3, math.nan, 1)).half_width == 0  # a single run


@pytest.mark.parametrize("unknown", [math.nan, math.inf])
def test_a_difference_without_a_shared_variance_decides_nothing(unknown):
    found = Difference.of_means(Mean(0.5, 0.01, 3, unknown), Mean(0.3, 0.01, 3, unknown))
    assert found.exceeds(0) is found.exceeds(0.1) is found.exceeds(0.3) is None
    assert str(found) == "0.2; not tested: n_queries is unknown, or not below n_database"
    assert claim_of({"a": 0.1}, {"a": found}, relation="<").judge(papers.Results()).status == "not decided"


@pytest.mark.parametrize("case", TABLE["bounds"], ids=str)
def test_a_bound(case):
    ours = Difference(**case["ours"]) if isinstance(case["ours"], dict) else case["ours"]
    claim = claim_of({"a": 1}, {"a": ours}, proof=True, relation=case["relation"])
    assert claim.judge(papers.Results()).status == case["status"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"the file is empty\.$"),
        ("a,b\n1,2\n", r"not a summary\.csv: it lacks dataset, feature, .* mean, n_runs\."),
        (
            ",".join(SUMMARY) + "\ncifar10,gist,c,s,lsh,twelve,none,0,mAP,0.1,,10\n",
            r"line 2 \(mAP\): n_bits must be an integer >= 1, got twelve\.$",
        ),
        (
            ",".join(SUMMARY) + "\ncifar10,gist,c\n",
            r"line 2 \(\): n_bits must be an integer >= 1, got an empty cell\.$",
        ),
        ("\xff\xfe", r"can't be read as a table \(.*\)\.$"),
    ],
)
def test_a_broken_summary_is_one_clear_error(tmp_path, content, message):
    path = tmp_path / "digits" / "summary.csv"
    path.parent.mkdir()
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(checks.ProtocolError, match=message) as error:
        papers.ledger(tmp_path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(f"claim S0-08: {path}: ")


def test_the_rows_of_a_folder(tmp_path):
    """An undefined mean is no row, a combination counts once, and tables of other kinds are left out."""
    write_summary(tmp_path / "a" / "summary.csv", [{"mean": ""}, {"hasher": "itq", "mean": 0.123456789}])
    write_summary(tmp_path / "reference" / "b" / "summary.csv", [{"hasher": "itq", "mean": 0.123457}])
    write_summary(tmp_path / "c" / "summary.csv", [{"hasher": "itq", "mean": 0.2}])
    (tmp_path / "reference" / "b" / "leak.csv").write_text("a,b\n1,2\n")
    rows = papers.Results.in_folder(tmp_path).frame(metric="mAP")
    assert [*zip(rows["hasher"], rows["mean"], strict=True)] == [("itq", 0.123456789), ("itq", 0.2)]


def test_the_folder_of_one_experiment_is_accepted(tmp_path):
    write_summary(tmp_path / "cifar10" / "summary.csv", rows_of(EVIDENCE["decided"]["S0-08"]["confirming"]))
    for folder in (tmp_path, tmp_path / "cifar10"):
        (entry,) = papers.ledger(folder, ["S0-08"])
        assert entry["status"] == ON_SUBSTITUTE


def test_the_text_has_every_claim_once_and_the_totals_within_the_width(without_data):
    entries = list(without_data.values())
    for width in (60, 120):
        texts = [papers.ledger_text(entries, width=width), *(papers.entry_text(one, width=width) for one in entries)]
        assert max(len(line) for text in texts for line in text.splitlines()) <= width
        listed = [line.strip().split("  ")[0] for line in texts[0].splitlines()]
        assert all(listed.count(number) == 1 for number in without_data)
    assert f"{len(entries)} claims: " in texts[0]
    assert papers.ledger_text(entries[:1], width=100).splitlines()[-1] == f"1 claim: 1 {entries[0]['status']}"
    assert all(f"{n} {status}" in " ".join(texts[0].split()) or n == 0 for status, n in totals(entries).items())
    assert sum(totals(entries).values()) == len(entries)
    assert papers.ledger_text([]) == "no claims"


def test_the_docs_have_the_totals_and_the_contradictions(root, with_reference_tables):
    page = (root / "docs" / "reference" / "claims.md").read_text()
    table = papers.ledger_markdown(list(with_reference_tables.values()))
    assert page.endswith(f"\n\n{table}\n"), "run python docs/generate.py"


def test_the_pipeline_reads_the_stored_tables_that_the_folder_of_results_has(root):
    stored = {str(path.relative_to(root)): path for path in (root / "results" / "reference").glob("*/*.csv")}
    counted = {name for name, path in stored.items() if path.read_text().startswith("dataset,statistic,value\n")}
    used = counted | {name for name, path in stored.items() if len(papers.Results([path]).frame())}
    rules = (root / "workflow" / "rules" / "claims.smk").read_text()
    assert {name for name in stored if f'"{name}"' in rules} == used
    assert rules.count("results/reference/") == len(used) > 10


def test_the_pipeline_and_the_folder_of_results_give_the_same(
    root, tmp_path, proved_once, reference_tables, with_reference_tables
):
    assert papers.ledger(root / "results", ["S0-14", "S4-11"]) == [with_reference_tables[n] for n in ("S0-14", "S4-11")]
    spec = importlib.util.spec_from_file_location("claims_script", root / "workflow" / "scripts" / "claims.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    summary = write_summary(tmp_path / "digits" / "summary.csv", [{"dataset": "digits"}])
    content = summary.read_text()
    with storage.replacing(summary, checksum=True) as path:
        path.write_text(content)
    files = SimpleNamespace(summary=summary, reference=reference_tables)
    script.main(SimpleNamespace(input=files, output=SimpleNamespace(claims=tmp_path / "claims.json")))
    assert json.loads((tmp_path / "claims.json").read_text()) == list(with_reference_tables.values())


def test_the_command_prints_and_writes_the_ledger(tmp_path, capsys, proved_once, without_data):
    arguments, path = ["claims", "--results", str(tmp_path)], tmp_path / "claims.json"
    assert main([*arguments, "--json", str(path)]) == 0
    assert papers.ledger_text(list(without_data.values())) in capsys.readouterr().out
    assert json.loads(path.read_text()) == list(without_data.values())
    assert main([*arguments, "S4-03", "S0-06"]) == 0
    assert capsys.readouterr().out.strip() == "\n\n".join(
        map(papers.entry_text, map(without_data.get, ("S0-06", "S4-03")))
    )
    assert main([*arguments, "--status", "refuted", "--json", str(path)]) == 0
    assert {entry["status"] for entry in json.loads(path.read_text())} == {"refuted"}
    assert "not run" not in capsys.readouterr().out
    assert main([*arguments, "--markdown"]) == 0
    totals_by_paper, listed = capsys.readouterr().out.split("\n\n")
    assert totals_by_paper.startswith("| paper | proved | refuted |")
    assert "| `S4-03` | refuted |" in listed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["S4-3"], "Unknown claim 'S4-3'. Did you mean 'S4-13'? `protocol claims` lists all "),
        (["--status", "refute"], "got 'refute'. Did you mean 'refuted'?"),
        (
            ["--results", "no/such/folder"],
            "no/such/folder: no such folder. Run an experiment first, or pass --results DIR.",
        ),
    ],
)
def test_invalid_arguments_are_refused_in_one_line(capsys, tmp_path, arguments, words):
    assert main(["claims", "--results", str(tmp_path), *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert (captured.err.count("\n"), captured.out) == (1, "")


@pytest.mark.parametrize(
    ("option", "words"), [("--help", ("examples:", "--json")), ("--help-all", (*papers.STATUSES, "summary.csv"))]
)
def test_help_shows_examples_and_the_complete_help_the_statuses(capsys, option, words):
    with pytest.raises(SystemExit):
        main(["claims", option])
    out = capsys.readouterr().out
    assert [word for word in words if word not in out] == []
