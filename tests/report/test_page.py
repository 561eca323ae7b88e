"""The page: what its sections state, and what a browser shows."""

import dataclasses
import itertools
import re
import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from browser import ALL_DRAWN, DRAWN, opened, select
from scipy import stats

from protocol.auditing.checks.codes import audit_truth
from protocol.auditing.findings import write_findings
from protocol.report import page
from protocol.report.figure import in_words
from protocol.report.results import with_display_names
from protocol.report.sections import ORDER, sections
from protocol.report.sections.answer import experiment_line
from protocol.report.sections.curves import top_rows
from protocol.report.sections.data import status
from protocol.scores.statistics import FIXED_SPLIT, NO_TEST, ONE_DATASET, TWO_RUNS, mean_of
from protocol.scores.summary import at
from protocol.scores.tables import read_table

pytestmark = pytest.mark.ci  # the browser takes a third of a minute

FIGURES = {"by-length", "rescoring", "precision-at-n", "recall-at-n", "pr-curves", "ties", "split-differences"}
FIGURES |= {"empty-balls"}
# Drawn, but hidden until the reader opens them.
FOLDED = {"one-number"}
UNFOLD = "for (const box of document.querySelectorAll('details')) box.open = true"


@pytest.fixture(scope="session")
def path(html, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html)
    return path


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the static pictures out of every page of a test."""
    monkeypatch.setattr(
        sys.modules[page.__module__], "pictures", lambda charts: [{"svg": b"<svg></svg>"}] * len(charts)
    )


def first(results):
    return sections(results)[0]


def of(results, name):
    (section,) = [section for section in first(results) if section.name == name]
    return section


def table_of(section, name):
    (table,) = [table for table in section.tables if table.name == name]
    return table


def changed(results, *, config=None, examples=None, **fields):
    """Return the results with other fields, and other entries of their configuration and their tables of examples."""
    config, tables = results.config | (config or {}), results.examples | (examples or {})
    return dataclasses.replace(results, config=config, examples=tables, **fields)


def named(results, **more):
    """Return a configuration's key `names` with more names, by the kind in the plural."""
    names = results.config["names"]
    return {"names": names | {kind: names[kind] | own for kind, own in more.items()}}


def scored(results, values, **columns):
    """Return the results with these scores of the main metric, by hasher and code length, in every run or in some."""
    scores = at(results.run_scores, metric="mAP", **columns)
    value = [values.get(key) for key in zip(scores["hasher"], scores["n_bits"], strict=True)]
    return changed(results, run_scores=scores.assign(value=value).dropna(subset="value"))


VALUES = {("lsh", 4): 0.3, ("itq", 4): 0.2, ("lsh", 8): 0.4, ("itq", 8): 0.5}


def test_the_answer_follows_the_data(results):
    assert re.fullmatch(
        r"itq has the best mean at every code length: mAP 0\.\d{3} at 8 bits, \+0\.\d{3} \[0\.\d{3}, 0\.\d{3}\] "
        r"over lsh \(paired over 2 runs\)\.",
        of(results, "answer").text[0],
    )
    turned = results.run_scores.assign(hasher=results.run_scores["hasher"].map({"itq": "lsh", "lsh": "itq"}))
    assert of(changed(results, run_scores=turned), "answer").text[0].startswith("lsh has the best mean at every")
    table = of(results, "answer").tables[0]
    for down, across in table.strong:
        column = [float(row[across].split()[0]) for row in table.rows]
        assert column[down] == max(column)
    assert {across for _, across in table.strong} == {1, 2}


def test_the_answer_claims_best_only_if_it_is_significant_at_every_code_length(results):
    scores = results.run_scores
    assert of(results, "answer").text[0].startswith("itq has the best mean at")  # significant at 8 bits, not at 4
    of_itq = (scores["metric"] == "mAP") & (scores["hasher"] == "itq")
    value = scores["value"].mask(of_itq, 0.99 + 0.001 * scores["run"]).mask(scores["hasher"] == "lsh", 0.1)
    text = of(changed(results, run_scores=scores.assign(value=value)), "answer").text[0]
    assert text.startswith("itq is best at every code length: mAP")


EQUAL = dict.fromkeys(VALUES, 0.5)
ITQ = {key: value for key, value in VALUES.items() if key[0] == "itq"}


@pytest.mark.parametrize(
    ("values", "runs", "statement"),
    [
        (VALUES, {}, "+0.100 over lsh (the same difference in all 2 runs, which are too few for a test)."),
        (EQUAL, {}, "+0.000 [0.000, 0.000] over lsh (paired over 2 runs), which is not significant."),
        (VALUES, {"run": 0}, "+0.100 over lsh (one run, so there is no interval)."),
        (ITQ, {}, "itq: mAP 0.200 at 4 bits and mAP 0.500 at 8 bits (mean over 2 runs)."),
        ({}, {}, "mAP is undefined for every hasher (gist, class_label, standard split)."),
    ],
)
def test_the_answer_tells_code_lengths_runs_and_hashers_apart(results, values, runs, statement):
    text = of(scored(results, values, **runs), "answer").text[0]
    assert text.endswith(statement)
    assert "is best" not in text  # a claim that only an interval without 0 allows


@pytest.mark.parametrize(
    ("changes", "items"),
    [
        ([{}, {"file": "b/splits.h5"}], "30 in each of 2 files, the first of which is `a/splits.h5` (such as 1, 2)."),
        ([{"count": 1, "examples": "1"}], "1 in `a/splits.h5` (1)."),
        ([{}, {"count": 1, "examples": "1"}], "1 to 30 in `a/splits.h5` (such as 1, 2)."),
    ],
)
def test_a_finding_of_many_files_is_counted_once(results, changes, items):
    made = changed(results, findings=pd.concat([results.findings.assign(**own) for own in changes], ignore_index=True))
    (paragraph,) = of(made, "partitions").context["findings"]
    assert paragraph["items"] == f"Affected: {items}"
    grouped = " (2 rows of audit.csv)" * (len(changes) > 1)
    assert status(made) == [(f"Audit: 1 warning{grouped}", "findings", "warning")]


def test_errors_come_first_and_without_findings_all_is_fine(results):
    error = results.findings.assign(severity="error", finding="worse", count=0, examples="")
    both = changed(results, findings=pd.concat([results.findings, error], ignore_index=True))
    assert [line.text for line in status(both)] == ["Audit: 1 error", "Audit: 1 warning"]
    assert of(both, "partitions").context["findings"][0]["items"] == "In `a/splits.h5`."
    fine = changed(results, findings=results.findings[:0])
    assert [line.text for line in status(fine)] == ["The audit found no errors or warnings"]
    assert of(fine, "partitions").text == ["The audit of the splits and models found no problems."]


def test_the_first_line_names_the_features_that_differ_in_runs(results):
    both = pd.concat([results.summary, results.summary.assign(feature="cnn", n_runs=1)])
    made = changed(results, summary=both, config=named(results, features={"cnn": "cnn"}))
    assert experiment_line(results).endswith(" · 2 runs")
    assert experiment_line(made).endswith(" · 1 to 2 runs (gist 2, cnn 1)")


def test_the_sizes_of_partitions_tell_where_training_items_are(results):
    """The training set has the items 0 to 29; the databases begin at 10 and at 30, and the queries are 0 to 9."""
    (table,) = of(results, "partitions").tables
    rows = [["standard", "10", "80", "30", "20", "0", "0", "0"], ["improved", "10", "60", "30", "0", "0", "0", "0"]]
    assert table.rows == rows


def with_queries_without_relevant(results, path, numbers, **values):
    """Return the results with scores by hasher, and the audit's findings of that many queries in each run."""
    found, names = {}, np.arange(10).astype(str)
    for run, n in enumerate(numbers):
        truths = {"class_label": {"indptr": np.maximum(0, np.arange(11) - n)}}
        found[f"results/made/gist/random/run{run}/ground_truth.h5"] = audit_truth(truths, names, split="standard")
    write_findings(path / "audit.csv", found)
    return changed(with_runs(results, **values), findings=read_table(path / "audit.csv"))


@pytest.mark.parametrize(
    ("numbers", "start"),
    [
        ((1, 0, 0), "In 1 of 3 runs, 1 of the 10 queries has no relevant item"),
        ((2, 0, 1), "In 2 of 3 runs, 1 to 2 of the 10 queries have no relevant item"),
        ((2,), "In 1 of 1 run, 2 of the 10 queries have no relevant item"),
    ],
)
def test_queries_without_relevant_items_are_counted_by_run(results, tmp_path, numbers, start):
    """The order of the hashers stays, so the sentence is not at the top of the page."""
    runs = len(numbers)
    values = {"lsh": (0.3, 0.4, 0.2)[:runs], "itq": (0.5, 0.7, 0.5)[:runs]}
    made = with_queries_without_relevant(results, tmp_path, numbers, **values)
    place = "(gist, class_label, standard split)"
    end = "; without them, no ranking by mAP would change."
    assert of(made, "partitions").text == [f"{start} {place}{end}"]
    assert all("relevant" not in line.text for line in status(made))
    dropped = of(changed(made, config={"undefined": "drop"}), "partitions").text[0]
    assert "; if they counted as 0, no ranking" in dropped


def test_queries_without_relevant_items_are_at_the_top_if_they_change_a_ranking(results, tmp_path):
    """Without half of the queries of run 1, lsh has 0.4 instead of 0.2 there, and itq 0.66 instead of 0.33."""
    made = with_queries_without_relevant(results, tmp_path, (0, 5), lsh=(0.4, 0.2), itq=(0.25, 0.33))
    text = "In 1 of 2 runs, 5 of the 10 queries have no relevant item (gist, class_label, standard split); "
    text += "without them, the ranking of the hashers would differ"
    lines = [text, "Audit: 1 warning"]
    assert [(line.text, line.section) for line in status(made)] == [(line, "findings") for line in lines]
    assert of(made, "partitions").text == []


def test_the_status_line_states_the_largest_share_of_other_training_labels(results):
    kind = {"finding": "other-training-labels", "severity": "information"}
    found = [kind | {"count": n, "consequence": f"{n} differ"} for n in (9, 10, 2)]
    findings = pd.DataFrame(found, columns=results.findings.columns)
    assert [line.text for line in status(changed(results, findings=findings)) if "differ" in line.text] == ["10 differ"]
    assert all("differ" not in line.text for line in status(changed(results, findings=findings[:0].astype(object))))


def test_every_link_leads_to_a_part_of_the_page(html):
    targets = set(re.findall(r'href="#([^"]+)"', html))
    assert targets
    assert targets <= set(re.findall(r'\bid="([^"]+)"', html))


def test_the_answer_states_what_the_hashers_learned_from(results):
    config = {"hasher_bases": {"itq": "ksh"}, "affinities": "nearest_neighbours"}
    supervised = of(changed(results, config=config), "answer").figures[0].shows
    assert supervised.endswith(" Trained on distances of gist (nearest_neighbours): itq.")
    assert "Trained" not in of(results, "answer").figures[0].shows


def test_few_queries_are_said_once_next_to_the_interval(results):
    few = [line for line in of(results, "answer").text if line.startswith("Each run has only 10 queries, so one ")]
    assert few[0].endswith(
        "With fewer than 30, intervals and tests over runs are rough, because they assume nearly normal means."
    )
    splits = {split: dict(parts) | {"query": np.arange(30)} for split, parts in results.splits.items()}
    assert of(changed(results, splits=splits), "answer").text == [of(results, "answer").text[0]]


def with_runs(results, **values):
    """Return the results with scores of the main metric by hasher, one for each run, the same everywhere."""
    one = at(results.run_scores, metric="mAP", hasher="lsh", run=0)
    cells = [(hasher, run, value) for hasher, own in values.items() for run, value in enumerate(own)]
    scores = [one.assign(hasher=hasher, run=run, value=value) for hasher, run, value in cells]
    config = named(results, hashers={name: name for name in values})
    return changed(results, config=config, run_scores=pd.concat(scores, ignore_index=True))


def test_the_differences_of_all_hashers_are_column_minus_row(results):
    """The differences are 0.2 and 0.3 (itq - lsh), 0.4 and 0.5 (itq - sh), and twice 0.2, too few for an interval."""
    made = with_runs(results, lsh=(0.3, 0.4), itq=(0.5, 0.7), sh=(0.1, 0.2))
    table = table_of(of(made, "answer"), "differences")
    assert (table.header, table.strong) == (["hasher", "itq", "lsh"], frozenset())
    assert table.rows == [["lsh", "+0.250"], ["sh", "+0.450", "+0.200"]]  # the intervals of two runs leave -1 to 1
    assert TWO_RUNS in table.caption
    made = with_runs(results, lsh=(0.3, 0.4, 0.2), itq=(0.5, 0.7, 0.5), sh=(0.1, 0.2, 0.0))
    error = 0.1 / 3**0.5 * (1 / 3 + results.shared["standard"]) ** 0.5
    halves = {mean: error * stats.t.ppf(1 - 0.05 / n / 2, 2) for mean, n in ((0.8 / 3, 2), (1.4 / 3, 3))}  # Holm's
    cells = [f"+{mean:.2f}\n[{mean - half:.2f}, {mean + half:.2f}]" for mean, half in halves.items()]
    table = table_of(of(made, "answer"), "differences")
    assert table.rows == [["lsh", cells[0]], ["sh", cells[1], "+0.20"]]
    assert TWO_RUNS not in table.caption


def test_the_losses_are_paired_differences_from_the_vectors_themselves_at_each_code_length(results):
    made = with_runs(results, lsh=(0.3, 0.4, 0.2), itq=(0.5, 0.7, 0.5))
    assert "unhashed" not in {table.name for table in of(made, "answer").tables}
    rows = at(made.run_scores, hasher="lsh").assign(hasher="unhashed", n_bits=512)
    vectors = pd.concat([rows[rows["run"] == run][:1].assign(value=value) for run, value in enumerate((0.7, 0.9, 0.8))])
    made = changed(made, unhashed=vectors, config={"unhashed": "cosine"})
    error = (1 / 3 + results.shared["standard"]) ** 0.5 * stats.t.ppf(1 - 0.05 / 2 / 2, 2)
    halves = {-0.5: 0.1 * error, -0.7 / 3: 3**-0.5 / 10 * error}
    cells = [f"{mean:+.2f}\n[{mean - half:.2f}, {mean + half:.2f}]" for mean, half in halves.items()]
    table = table_of(of(made, "answer"), "unhashed")
    texts = {"unhashed (cosine)": "0.80 ± 0.10", "itq": cells[1], "lsh": cells[0]}
    assert table.rows == [[name, text, text] for name, text in texts.items()]
    assert (table.header, table.strong) == (["hasher", "4 bits", "8 bits"], frozenset())
    assert table.caption.startswith("mAP: the vectors before the preprocessing (unhashed), and ")
    loss = cells[1].replace("\n", " ")
    assert f"itq at 8 bits: mAP {loss} against the vectors themselves, unhashed (cosine)." in of(made, "answer").text
    assert of(made, "answer").figures[0].data["unhashed"].dropna().unique() == pytest.approx([0.8])
    config = {"hasher_bases": {"itq": "ksh"}, "affinities": "nearest_neighbours"}
    both = f", unhashed (cosine); of the unsupervised ones, lsh: {cells[0]}."
    assert any(text.endswith(both.replace("\n", " ")) for text in of(changed(made, config=config), "answer").text)


def test_the_answer_names_scores_at_the_level_of_chance(results):
    chance = at(top_rows(results, "precision"), **results.selections[0].setting)["chance"].mean()
    means = [results.summary.assign(mean=chance * factor) for factor in (1.05, 1.5)]
    texts = [of(changed(results, summary=summary), "answer").text for summary in means]
    near = f"a random order, {chance:.3f}: do the items and the ground truth belong together, in the same order?"
    assert [any(text.endswith(near) for text in of_factor) for of_factor in texts] == [True, False]


def test_the_answer_says_why_it_has_no_interval(results):
    two = with_runs(results, lsh=(0.3, 0.4), itq=(0.5, 0.7))
    statement = of(two, "answer").text[0]
    assert f"+0.250 over lsh (paired over 2 runs), which is not significant. {TWO_RUNS}" in statement
    even = with_runs(results, lsh=(0.3, 0.4, 0.3), itq=(0.5, 0.7, 0.6))
    even = dataclasses.replace(even, summary=even.summary.assign(n_queries=100, n_database="100 to 120"))
    section = of(even, "answer")
    assert f"over lsh (paired over 3 runs). {NO_TEST}" in section.text[0]
    assert NO_TEST in table_of(section, "differences").caption


def test_runs_of_a_fixed_split_differ_only_by_random_seeds(results):
    """Without randomness, a method has one value; between such methods, the difference is the same in every run."""
    splits = {"splits": {"from_lists": "standard", "improved": "improved"}}
    fixed = changed(results, config={"names": results.config["names"] | splits})
    summary = fixed.summary.assign(std=fixed.summary["std"].mask(fixed.summary["hasher"] == "itq", 0.0))
    fixed, why = changed(fixed, summary=summary), " of the same split with other seeds"
    answer, tested = of(fixed, "answer"), of(fixed, "meanings").text[1]
    assert f"over lsh (paired over 2 runs{why})" in answer.text[0]
    assert f"mean ± standard deviation over 2 runs{why}. Bold" in answer.tables[0].caption
    assert {row[0]: "±" in row[1] for row in answer.tables[0].rows} == {"itq": False, "lsh": True}
    assert f" {ONE_DATASET} {FIXED_SPLIT.format('standard')} " in tested  # of both splits, improved and standard
    for n_runs in (2, 8):
        same = of(with_runs(fixed, lsh=[0.4] * n_runs, itq=[0.5] * n_runs), "answer")
        assert f"(the same difference in all {n_runs} runs of the same split)" in same.text[0]
        assert table_of(same, "differences").strong == frozenset()


def test_display_names_are_shown_and_files_keep_the_names_of_the_config_file(results, undrawn):
    names = {"features": {"gist": "GIST"}, "hashers": {"lsh": "LSH", "itq": "ITQ"}, "splits": {"standard": "Standard"}}
    config = results.config | named(results, **names, ground_truths={"class_label": "class labels"})
    altered = changed(
        results,
        config=config,
        summary=with_display_names(results.summary, config),
        run_scores=with_display_names(results.run_scores, config),
        examples={name: with_display_names(table, config) for name, table in results.examples.items()},
        splits={config["names"]["splits"][name]: parts for name, parts in results.splits.items()},
    )
    answer, plain = of(altered, "answer"), of(results, "answer")
    assert answer.text[0].startswith("ITQ has the best mean at every code length")
    assert answer.figures[0].choice == "mAP, GIST, class labels, Standard split"
    assert {table.name for table in answer.tables} == {table.name for table in plain.tables}
    scales = [own.figures[0].spec["layer"][0]["encoding"]["color"]["scale"] for own in (answer, plain)]
    assert [scale["domain"] for scale in scales] == [["LSH", "ITQ"], ["lsh", "itq"]]
    assert scales[0]["range"] == scales[1]["range"]
    assert "<h1>Our codes</h1>" in page(changed(altered, config={"title": "Our codes"}))


def test_the_differences_of_splits_are_paired_and_have_the_intervals_of_comparisons(results):
    section = of(results, "splits-compared")
    (figure,), (_, text) = section.figures, section.text
    place = {"feature": "gist", "ground_truth": "class_label", "n_bits": 8, "hasher": "itq", "metric": "mAP"}
    standard, improved = (
        at(results.run_scores, **place, split=split).sort_values("run")["value"].to_numpy()
        for split in ("standard", "improved")
    )
    (row,) = at(figure.data, **place).itertuples()
    pairs = mean_of(standard - improved, shared=max(map(results.shared.get, results.splits)))
    assert (row.difference, row.low, row.high) == pytest.approx((pairs.mean, *pairs.interval()))
    assert (row.value, row.value_versus) == pytest.approx((standard.mean(), improved.mean()))
    assert row.versus == "improved"
    others = results.splits["improved"] | {"query": results.splits["improved"]["query"] + 1}
    unpaired = of(changed(results, splits=results.splits | {"improved": others}), "splits-compared")
    assert unpaired.figures[0].data["low"].isna().all()
    assert TWO_RUNS in text
    assert "interval" not in unpaired.text[1]


def test_the_first_split_is_compared_with_each_other_one(results):
    def more(table):
        return pd.concat([table, at(table, split="improved").assign(split="long_tail")], ignore_index=True)

    made = changed(
        results,
        config=named(results, splits={"long_tail": "long_tail"}),
        splits=results.splits | {"long_tail": results.splits["improved"]},
        **{name: more(getattr(results, name)) for name in ("summary", "run_scores")},
    )
    section = of(made, "splits-compared")
    starts = [f"mAP on the standard split minus that on the {other} one: " for other in ("improved", "long_tail")]
    assert [text.startswith(start) for text, start in zip(section.text[1:], starts, strict=True)] == [True, True]
    assert set(section.figures[0].data["versus"]) == {"improved", "long_tail"}


def test_the_best_hasher_under_each_convention_is_compared_by_setting(results, bare):
    """Under one of the named conventions, the order of the two hashers is turned."""
    rows = results.examples["conventions"]
    one = rows[rows["reported_as_map_by"].fillna("") != ""]["metric"].iloc[0]
    same = rows["hasher"].map({"itq": 0.2, "lsh": 0.1})
    for value, n in ((same, 0), (same.where(rows["metric"] != one, 0.3 - same), 4)):
        made = changed(results, examples={"conventions": rows.assign(value=value)})
        sentence = f"The best hasher by mAP depends on the convention in {n} of 4 settings."
        assert of(made, "conventions").text == [sentence]
    is_other = rows["hasher"] == "lsh"  # the other hasher alone has undefined values, whose treatments are two rows
    treated = [rows[is_other].assign(value=0.1, undefined=way) for way in ("0", "left out")]
    rows = pd.concat([rows[~is_other].assign(value=0.2, undefined="no difference"), *treated])
    assert " in 0 of 4 settings." in of(changed(results, examples={"conventions": rows}), "conventions").text[0]
    assert of(bare, "conventions").text == []


def test_every_section_has_something_to_show(results, bare, undrawn):
    for made in (results, bare):
        for section in first(made):
            assert section.figures or section.tables or section.template, section.name
    names = [section.name for section in first(results)]
    assert len(names) == len(set(names)) == len(ORDER) - 2  # no options searched, claims, judged pairs
    expected = ["answer", "curves", "conventions", "partitions", "meanings", "provenance"]
    assert [section.name for section in first(bare)] == expected
    assert "\N{PLUS-MINUS SIGN} nan" not in page(bare)
    assert not of(bare, "answer").tables[1:]


def test_claims_that_do_not_hold_come_first_and_open(results, undrawn):
    claim = {"paper": "TALR", "place": "eq. 6", "claim": "<b>", "expected": "mAP: 0.5"}
    claim |= dict.fromkeys(("ours", "parts", "reproduce"), "")
    proved = claim | {"id": "c1", "status": "proved", "note": "How: so.\nThus."}
    made = changed(results, claims=[proved, claim | {"id": "c2", "status": "refuted", "note": ""}])
    assert of(made, "claims").text[0].startswith("2 claims: 1 refuted, 1 proved. ")
    html = page(made)
    parts = ("<details open><summary>c2", "<details><summary>c1 · &lt;b&gt;", "<dd>Thus.</dd>")
    positions = [html.index(part) for part in parts]
    assert positions == sorted(positions)


def test_the_configuration_on_the_page_is_yaml_that_can_be_read_again(results):
    text = of(results, "provenance").context["config"]
    assert yaml.safe_load(text) | {"names": results.config["names"]} == results.config
    assert text.startswith("codes: {}\nhasher_bases: {}\n")  # not JSON


def test_the_page_is_escaped_complete_and_the_same_each_time(results, html):
    """The test of the default workflow counts the words and sections."""
    assert "&lt;made&gt; &amp; small" in html
    assert "<made> & small" in of(results, "provenance").text
    assert "<made>" not in html
    assert not re.search(r'(?:src|href)="(?!data:|#)', html[: html.index("<script>")])
    assert re.search(r"<small>\d+: \d+/\d+</small>", html)
    assert page(results) == html


@pytest.mark.parametrize(("theme", "width"), [("light", 1100), ("dark", 400)])
def test_every_figure_is_drawn_in_both_themes_and_on_a_phone(browser, path, theme, width):
    size = "[...document.querySelectorAll('.chart svg.marks')].map((svg) => svg.getBoundingClientRect().{})"
    with opened(browser, path, theme=theme, width=width) as (tab, wrong):
        for action in ("0", UNFOLD):
            tab.evaluate(action)
            tab.wait_for_function(ALL_DRAWN)
            assert {name for name, marks in tab.evaluate(DRAWN).items() if marks > 2} == FIGURES | FOLDED
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert min(tab.evaluate(size.format("width"))) > min(width, 800) / 2
        assert min(tab.evaluate(size.format("height"))) > 50
        assert max(tab.evaluate(size.format("height"))) < 600  # long intervals are cut off
        background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 31)"}[theme]
        texts = tab.evaluate(
            """[...document.querySelectorAll("[data-figure] svg.marks")].map((chart) => [
                chart.getBoundingClientRect().right,
                [...chart.querySelectorAll("text")].map((text) => [
                    text.textContent, text.getBoundingClientRect().right])])"""
        )
        cut = [text for edge, own in texts for text, right in own if "…" in text or right > edge + 0.5]
        assert cut == []
        tab.evaluate("for (const box of document.querySelectorAll('main details')) box.open = false")
        tab.click(".status a[href='#findings']")
        tab.locator("#findings p").first.wait_for(state="visible")  # the link opens it in an event of its own
        assert wrong == []


def test_the_script_shows_the_cells_that_python_formats_for_every_metric(browser, path, results):
    answer = of(results, "answer")
    tables = answer.tables
    with opened(browser, path) as (tab, wrong):
        with tab.expect_download() as download:
            tab.click("#by-length a.data")
        assert download.value.path().read_text() == answer.figures[0].csv
        offered = tab.locator("#by-length select[name=metric]")
        assert offered.locator("option").all_inner_texts() == results.metrics
        assert offered.locator("> option").count() == 8  # the others are under "more"
        tab.evaluate(UNFOLD)
        for metric in results.metrics:
            tab.select_option("#by-length select[name=metric]", metric)
            drawn = "(metric) => document.querySelector('#by-length').dataset.drawn.startsWith(metric)"
            tab.wait_for_function(drawn, arg=metric)
            for table, shown in zip(tables, tab.locator("[data-follows]:not([hidden])").all(), strict=True):
                if metric not in table.by_metric:
                    assert shown.inner_text().strip() == "No paired differences for this metric."
                    continue
                cells = [text.replace("\n", "") for text in shown.locator("td").all_inner_texts()]
                rows = [[text.replace("\n", "") for text in row] for _, *row in table.by_metric[metric].rows]
                assert cells == [cell for row in rows for cell in row], metric
                bold = shown.locator("td:has(b)").all_inner_texts()
                _, rows, strong = table.by_metric[metric]
                own = [row[across] for row, columns in zip(rows, strong, strict=True) for across in columns]
                assert sorted(bold) == sorted(own), metric
        assert wrong == []


def test_a_hasher_without_values_leaves_the_differences_of_the_others(results):
    made = with_runs(results, lsh=(0.3, 0.4), itq=(0.5, 0.7), sh=(np.nan, np.nan))
    assert table_of(of(made, "answer"), "differences").rows == [["lsh", "+0.250"]]


def test_a_page_for_one_hasher_ranks_nothing(bare):
    words = " ".join(figure.shows for section in first(bare) for figure in section.figures)
    words += " ".join(table.caption for section in first(bare) for table in section.tables)
    assert not re.search("highest|most on|Bold", words)


def test_print_has_the_findings_the_definitions_and_the_provenance_but_no_controls(browser, path):
    with opened(browser, path) as (tab, wrong):
        tab.emulate_media(media="print")
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        for name in ("#findings p", "#meanings dl", "#provenance p", "#one-number"):
            assert tab.locator(name).first.is_visible(), name
        for name in ("pre", "nav", ".choices", "a.data"):
            assert not tab.locator(name).first.is_visible(), name
        levels = tab.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((one) => Number(one.tagName[1]))")
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        assert wrong == []


@pytest.fixture(scope="module")
def partial(results, tmp_path_factory):
    """Return results with a second feature that lacks a hasher and a code length, and the path of their page."""

    def more(table):
        own = table[(table["hasher"] == "lsh") & (table["n_bits"] == 8)]
        return pd.concat([table, own.assign(feature="bow")], ignore_index=True)

    made = changed(
        results,
        config=named(results, features={"bow": "bow"}),
        summary=more(results.summary),
        run_scores=more(results.run_scores),
        examples={name: more(table) for name, table in results.examples.items()},
    )
    path = tmp_path_factory.mktemp("partial") / "report.html"
    path.write_text(page(made))
    return made, path


_TEXTS = """() => [...document.querySelectorAll("main p")].filter((text) => text.checkVisibility()).map((text) =>
    text.textContent)"""
_CELLS = """() => [...document.querySelectorAll("[data-follows]:not([hidden])")].slice(1).map((table) =>
    [...table.querySelectorAll("tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent)))"""
_NAMES = """() => Object.fromEntries([...document.querySelectorAll("[data-figure]")].map((figure) =>
    [figure.id, [...figure.querySelectorAll(".mark-text text")].map((text) => text.textContent)]))"""


def test_everything_on_the_page_describes_the_selection(browser, partial):
    results, path = partial
    pages = sections(results)
    assert len(pages) == 8 + 4
    with opened(browser, path) as (tab, wrong):
        tab.evaluate(UNFOLD)
        for selection, shown in list(zip(results.selections, pages, strict=True))[::3]:
            select(tab, selection.combination)
            texts, names = tab.evaluate(_TEXTS), tab.evaluate(_NAMES)
            for part in shown:
                own_texts = (*part.text, *(table.caption for table in part.tables))
                assert {re.sub(r"`|\[(\w.*?)\]\(#.*?\)", r"\1", text) for text in own_texts} <= set(texts), selection
            figures = {figure.name: figure for part in shown for figure in part.figures}
            for name in ("by-length", "pr-curves", "precision-at-n", "empty-balls"):
                choices = figures[name].choices
                choices = {column: selection.combination.get(column, value) for column, value in choices.items()}
                drawn = set(at(figures[name].data, **choices)["hasher"])
                assert set(names[name]) & {*results.hashers} == drawn, (name, selection)
                assert tab.inner_text(f"#{name} .shows span") == in_words(choices)
            differences = [table.rows for table in shown[0].tables if table.name == "differences"]
            assert tab.evaluate(_CELLS) == [[[*map(str, row)] for row in rows] for rows in differences], selection
            others = {text for page in pages if page is not shown for part in page for text in part.text}
            assert not (others - {text for part in shown for text in part.text}) & set(texts), selection
        assert wrong == []


def test_an_impossible_choice_is_disabled_and_replaced(browser, partial):
    with opened(browser, partial[1]) as (tab, wrong):
        tab.select_option("#shared select[name=n_bits]", "4")
        tab.select_option("#shared select[name=feature]", "bow")
        length = tab.locator("#shared select[name=n_bits]")
        assert length.input_value() == "8"
        assert length.locator("option:disabled").all_inner_texts() == ["4"]
        answer = tab.locator("#answer .answer:visible").inner_text()
        assert re.fullmatch(r"lsh: mAP 0\.\d{3} at 8 bits \(mean over 2 runs\)\.", answer)
        tab.select_option("#shared select[name=feature]", "gist")
        assert length.locator("option:disabled").count() == 0
        assert wrong == []


def test_without_script_the_figures_stand_as_they_are_drawn_first(browser, path):
    with opened(browser, path, script=False) as (tab, wrong):
        for name in FIGURES:
            box = tab.locator(f"#{name} .chart svg").bounding_box()
            assert box["width"] > 300, name
            assert box["height"] > 50, name
        assert tab.locator("form.choices").first.is_hidden()
        assert wrong == []
