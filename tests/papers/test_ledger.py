"""The ledger: the status of every claim, the tests that it names, its texts, and `protocol papers`."""

import json
import math
import re
import statistics
from pathlib import Path

import pytest
from encoded import message_of, yaml_of
from evidence import write_summary
from scipy import stats

from protocol import papers
from protocol.cli import main
from protocol.papers.claims import Claim, leaves
from protocol.papers.comparisons import AS_PRINTED, Difference, Mean

TABLE = yaml_of("papers/statuses.yaml")
STATUSES = {
    which: {number: status for status, numbers in by_status.items() for number in numbers}
    for which, by_status in TABLE["claims"].items()
}
CLAIMS = {claim.id: claim for claim in papers.all_claims()}


def test_statuses(without_data, with_reference_tables):
    assert {number: entry["status"] for number, entry in without_data.items()} == STATUSES["without data"]
    statuses = {number: entry["status"] for number, entry in with_reference_tables.items()}
    assert statuses == STATUSES["without data"] | STATUSES["with the reference results"]


def test_every_claim_has_one_check_and_a_claim_about_results_says_how_and_what_it_needs():
    for number, claim in CLAIMS.items():
        assert [bool(claim.test), bool(claim.compare), bool(claim.statistics)].count(True) == 1, number
        assert claim.test or (claim.how and claim.needs), number
        assert claim.place, number
        assert claim.statement.endswith("."), number
        assert all(list(leaves(value)) for value in claim.expected.values()), number
        assert set(claim.ours) <= set(claim.expected), number


def test_the_tests_that_claims_name_exist_and_compare_what_the_ledger_states(root):
    """A test in this folder compares its values by `agrees`, with the claim's number; the others show the formula."""
    for number, claim in CLAIMS.items():
        if claim.test:
            path, name = claim.test.split("::")
            body = (root / path).read_text().partition(f"def {name}(")[2].partition("\n\n\n")[0]
            assert number in body or "agrees(number" in body or (body and not path.startswith("tests/papers/")), number
    for path in Path(__file__).parent.glob("test_*.py"):
        for number in re.findall(r'agrees\(\s*"([^"]+)"', path.read_text()):
            assert CLAIMS[number].test.startswith(f"tests/papers/{path.name}"), number


def test_the_full_text_says_how_to_reproduce_a_claim(root, capsys):
    """By a test, by commands whose config files exist, or by what is needed instead."""
    for claim in CLAIMS.values():
        files = [word for command in claim.commands for word in command.split() if word.endswith((".yaml", ".py"))]
        assert len(files) == len(claim.commands), claim.id
        assert all((root / file).is_file() for file in files), claim.id
        assert not (claim.test and claim.commands), claim.id
    assert main(["papers", "S0-04", "X-03", "S0-14"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "reproduce pytest tests/papers/test_mlgap_and_ramap.py::test_hand_made_rankings note" in out
    full = "results/reference/cifar10/cifar10_full.yaml"
    assert f"reproduce snakemake --configfile {full} -- metrics note" in out
    assert "reproduce no command: this needs the files of the datasets, counted in results/reference/claims/" in out


def claim_of(expected, *, test="", **more):
    return Claim("1", "p", "q", "A.", expected, test=test, **more)


def value_of(ours):
    return Difference(**ours) if isinstance(ours, dict) else ours


@pytest.mark.parametrize("case", TABLE["parts"], ids=str)
def test_the_status_follows_from_the_parts(case):
    """`ours` has the values, or values by reading; the expected ones are 1 (± 0.1) and the list 1, 2."""
    ours = case["ours"] if case.get("readings") else {AS_PRINTED: case["ours"]} if case["ours"] else {}
    ours = {reading: {name: value_of(value) for name, value in values.items()} for reading, values in ours.items()}
    claim = claim_of({"a": 1, "b": [1, 2]}, within={"a": 0.1})
    assert claim.verdict(ours, case.get("substitute", "")).status == case["status"]


@pytest.mark.parametrize(("ours", "status"), [(1.05, "proved"), (1.2, "refuted")])
def test_the_status_of_a_claim_with_a_test(ours, status):
    assert claim_of({"a": 1}, test="t", ours={"a": ours}, within=0.1).judge(papers.Results()).status == status


def test_the_interval_of_two_means_contains_the_variance_that_runs_share():
    """Welch's interval of independent runs, as scipy has it; with a shared variance of 0.4, by hand."""
    one, other = [0.5, 0.6, 0.55, 0.52], [0.3, 0.35, 0.31]

    def mean_of(values, shared):
        return Mean(statistics.mean(values), statistics.stdev(values), len(values), shared)

    alone = Difference.of_means(mean_of(one, 0.0), mean_of(other, 0.0))
    welch = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert alone.ends == pytest.approx((welch.low, welch.high))
    variances = [statistics.variance(values) * (1 / len(values) + 0.4) for values in (one, other)]
    degrees = sum(variances) ** 2 / (variances[0] ** 2 / 3 + variances[1] ** 2 / 2)
    shared = Difference.of_means(mean_of(one, 0.4), mean_of(other, 0.4))
    assert shared.half_width == pytest.approx(stats.t.ppf(0.975, degrees) * sum(variances) ** 0.5)
    assert Difference.of_means(mean_of(one, math.nan), Mean(0.3, math.nan, 1)).half_width == 0  # a single run
    of_one, fixed = Difference.of_means(Mean(0.5, 0.05, 10, 0.0)), Mean(0.4, 0.0, 10, math.nan)
    assert Difference.of_means(Mean(0.5, 0.05, 10, 0.0), fixed).half_width == of_one.half_width > 0
    assert Difference.of_means(fixed, fixed).half_width == 0


@pytest.mark.parametrize("unknown", [math.nan, math.inf])
def test_a_difference_without_a_shared_variance_decides_nothing(unknown):
    found = Difference.of_means(Mean(0.5, 0.01, 3, unknown), Mean(0.3, 0.01, 3, unknown))
    assert found.exceeds(0) is found.exceeds(0.1) is found.exceeds(0.3) is None
    assert str(found) == "0.2; not tested: n_queries is unknown, or not below n_database"
    assert claim_of({"a": 0.1}, relation="<").verdict({AS_PRINTED: {"a": found}}).status == "not decided"


@pytest.mark.parametrize("case", TABLE["bounds"], ids=str)
def test_a_bound(case):
    claim = claim_of({"a": 1}, relation=case["relation"])
    assert claim.verdict({AS_PRINTED: {"a": value_of(case["ours"])}}).status == case["status"]


def test_a_broken_summary_is_named(tmp_path):
    write_summary(path := tmp_path / "digits" / "summary.csv", [{"n_bits": "twelve"}])
    assert message_of(papers.ledger, tmp_path).startswith(f"{path}, line 2 (mAP): n_bits must be an integer >= 1")


def test_the_rows_of_a_folder(tmp_path):
    """An undefined mean is no row, a combination counts once, and tables of other kinds are left out."""
    write_summary(tmp_path / "a" / "summary.csv", [{"mean": ""}, {"hasher": "itq", "mean": 0.123456789}])
    write_summary(tmp_path / "reference" / "b" / "summary.csv", [{"hasher": "itq", "mean": 0.123457}])
    write_summary(tmp_path / "c" / "summary.csv", [{"hasher": "itq", "mean": 0.2}])
    (tmp_path / "reference" / "b" / "leak.csv").write_text("a,b\n1,2\n")
    rows = papers.Results.in_folder(tmp_path).frame(metric="mAP")
    assert [*zip(rows["hasher"], rows["mean"], strict=True)] == [("itq", 0.123456789), ("itq", 0.2)]


def test_the_docs_have_the_totals_and_the_contradictions(root, with_reference_tables):
    page, of_status = (root / "docs" / "reference" / "claims.md").read_text(), {}
    for number, entry in with_reference_tables.items():
        of_status.setdefault(entry["status"], []).append(number)
    assert all(f" {len(numbers)} {status}" in page for status, numbers in of_status.items())
    fail = [status for status in of_status if status.startswith(("refuted", "not replicated", "some parts"))]
    listed = set(re.findall(r"^- `(\S+)`:", page, re.M))
    assert listed == {number for status in fail for number in of_status[status]}, "run python docs/generate.py"


def test_the_pipeline_reads_the_stored_tables_that_the_folder_of_results_has(root):
    stored = {str(path.relative_to(root)): path for path in (root / "results" / "reference").glob("*/*.csv")}
    counted = {name for name, path in stored.items() if path.read_text().startswith("dataset,statistic,value")}
    used = counted | {name for name, path in stored.items() if len(papers.Results([path]).frame())}
    rules = (root / "workflow" / "rules" / "report.smk").read_text()
    listed = rules.partition('REFERENCE_TABLES = """')[2].partition('"""')[0].split()
    assert {f"results/reference/{name}.csv" for name in listed} == used
    assert len(used) > 10


def test_claims_are_found_by_words_and_the_lack_of_results_is_said(here, capsys):
    assert main(["papers", "Table", "MIHash"]) == 0
    of_words = capsys.readouterr().out
    assert main(["papers", "MIHash Table"]) == 0
    assert capsys.readouterr().out == of_words
    assert main(["papers", "Table 1", "MIHash"]) == 0
    printed = capsys.readouterr().out
    assert re.findall(r"^  ([SX]\S+)", printed, re.M) == ["S3-15", "X-13", "X-19"]
    assert " ".join(printed.split()).endswith(f"Tables of results that were read in {here}/results: none.")
    write_summary(here / "results" / "digits" / "summary.csv", [{}])
    assert main(["papers", "S3-15", "S0-04"]) == 0
    assert " ".join(capsys.readouterr().out.split()).endswith(f"read in {here}/results: digits/summary.csv.")
    assert main(["papers", "S0-04"]) == 0
    assert "Tables of results" not in capsys.readouterr().out


def test_scores_of_methods_are_found_by_words_and_words_without_any_are_counted(here, capsys):
    assert main(["papers", "cifar-10 GIST", "itq", "32"]) == 0
    ours, *_, other = capsys.readouterr().out.splitlines()[1:6]
    assert ours.split()[1:7] == ["gist", "cifar10_54k", "itq", "mAP", "32", "bits"]
    assert ["0.1711  ours, docs/leaderboard.md" in ours, "0.1632  TreezzZ/ITQ_PyTorch" in other] == [True, True]
    assert main(["papers", "standard", "bre"]) == 2
    assert re.search(r"has all of these words: standard \([0-9]+\), bre \([0-9]+\)\.", capsys.readouterr().err)
    assert main(["papers", "gist", "itq"]) == 0
    assert "scores of methods also have these words: add a hasher or a code length." in capsys.readouterr().out
    assert not papers.matching([{"value": "0.1732"}], ["32"])


TABLES = papers.all_tables()


@pytest.mark.parametrize(("words", "found"), TABLE["printed tables"].items())
def test_printed_tables_are_found_in_any_spelling(words, found):
    assert [table["dataset"] for table in papers.matching(TABLES, [words])] == found


def test_every_printed_table_says_what_it_divides_by_and_its_source(capsys):
    for table in TABLES:
        assert {"printed", "paper", "dataset", "split", "ties", "undefined", "methods", "source"} < set(table)
        assert "; denominator: " in table["metric"]
        assert {table.get("numbers", "claim S3-15").removeprefix("claim ")} < set(CLAIMS)
    for words in (["AP@1000", "talr"], [".6306"], ["S3-16"]):
        assert main(["papers", *words]) == 0
        text = capsys.readouterr().out
        assert text.startswith("AP@1000  TALR (He et al. 2018), table 2\n  dataset    ImageNet-100\n  split ")
        assert "S3-16  " in text


def test_the_command_prints_and_writes_the_ledger(tmp_path, capsys, without_data):
    arguments, path = ["papers", "--results", str(tmp_path)], tmp_path / "claims.json"
    assert main([*arguments, "--json", str(path)]) == 0
    assert papers.ledger_text(list(without_data.values())) in capsys.readouterr().out
    assert json.loads(path.read_text()) == list(without_data.values())
    assert main([*arguments, "S4-03", "S0-06"]) == 0
    in_full = map(papers.entry_text, map(without_data.get, ("S0-06", "S4-03")))
    assert capsys.readouterr().out.strip() == "\n\n".join(in_full)
    assert main([*arguments, "AP@1000", "talr", "--json", str(path)]) == 0
    found = {row.get("printed") or row["id"] for row in json.loads(path.read_text())}
    assert found >= {"AP@1000", "S3-16"}  # a table and a claim
