"""The places of a leaderboard, by hand and against a slow reference; its page, with and without script."""

import html
import itertools
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from browser import opened
from encoded import refuses
from plainly import rejected_by_steps
from scipy import stats

from protocol.cli import main
from protocol.comparison import leaderboard
from protocol.comparison.places import RULE, Places
from protocol.scores.statistics import NO_TEST, REPEATED, shared_variance

RUNS = np.linspace(0.5, 0.6, 10)
SIGNS = np.resize([1.0, -1.0], 10)
SIZES = {"n_queries": 100, "n_database": 100}


def places(experiment, values, name="a", **fields):
    """Return the places of methods with these values, best first."""
    board = leaderboard(experiment(name, *({"hasher": key, "values": x, **fields} for key, x in values.items())))
    return dict(zip(board.to_frame()["method"], board.to_frame()["place"], strict=True)), board


def test_the_best_method_opens_a_place_and_the_next_that_differs_opens_another(experiment):
    """Ten equal differences have p = 2 / 2^10, three times that after Holm's correction of three tests.

    c differs from a by 0.1 with a standard deviation of 0.053: t = 0.1 / (0.053 (1/10 + 0.266)^(1/2)) = 3.1, p = 0.013,
    and 0.025 corrected; from b, by 0.001.
    """
    of, board = places(experiment, {"c": RUNS - 0.099 + 0.05 * SIGNS, "b": RUNS - 0.1, "a": RUNS})
    assert of == {"a": 1, "c": 2, "b": 2}
    assert [*board.places] == [Places((1, 2, 2), ("",) * 3, n_adjacent=2, n_separable=1, n_within=0)]
    text = "3 methods hold 2 places under a protocol with one code length: of 2 pairs of neighbours in the order of mAP"
    rule = f"1 can be told apart. {RULE} (here, 0 pairs do)."
    assert " ".join(str(board).split()) == f"{text}, {rule} Place 1 with 16 bits: a under standard."


def test_methods_within_a_place_may_differ(experiment):
    """e is 0.01 below d in every run, but neither can be told apart from a."""
    of, board = places(experiment, {"e": RUNS - 0.011, "d": RUNS - 0.001, "a": RUNS + 0.05 * SIGNS})
    assert (of, board.places[0].n_within) == ({"a": 1, "d": 1, "e": 1}, 1)
    number, rule, single = board.sentences
    assert (rule, single) == (f"{RULE} (here, 1 pair does).", "All methods share place 1 under standard (10 runs).")
    assert [number[:28], "3 methods, 1 place; of 2 pairs" in board.to_html()] == ["3 methods hold 1 place under", True]


def test_protocols_with_a_single_place_and_those_with_few_runs_are_named(experiment):
    values = {"1": (RUNS, RUNS - 0.1, RUNS - 0.2), "2": (RUNS, RUNS - 0.2, RUNS - 0.1), "few": (RUNS[:3],) * 3}
    rows = [{"hasher": "abc"[i], "split": one, "values": x} for one in values for i, x in enumerate(values[one])]
    *_, first, single, few = leaderboard(experiment("x", *rows)).sentences
    assert (first[-16:], single) == ("a under 1 and 2.", "All methods share place 1 under few (3 runs).")
    assert few == "Few runs separate few methods; add more under few (3 runs)."


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value")  # std of one run, in the fixture
def test_methods_with_a_single_run_are_tested_by_groups_of_queries(experiment):
    """The means of ten groups of queries differ by 0.1 in each."""
    path = experiment("a", *({"hasher": name, "values": [RUNS.mean() - less]} for name, less in (("x", 0), ("y", 0.1))))
    groups = pd.DataFrame([RUNS, RUNS - 0.1]).set_axis([*map(str, range(10))], axis=1)
    about = pd.read_csv(path)[["feature", "ground_truth", "split", "hasher", "n_bits", "metric"]]
    pd.concat([about, groups], axis=1).to_csv(path.with_name("query_groups.csv"), index=False)
    assert leaderboard(path).to_frame()["place"].tolist() == [1, 2]
    groups.iloc[1] += 0.05
    pd.concat([about, groups], axis=1).to_csv(path.with_name("query_groups.csv"), index=False)
    refuses("values per query group have the mean", leaderboard, path)


def slow_places(values):
    """Return the places by a loop over all pairs."""
    names, p = sorted(values, key=lambda name: -values[name].mean()), {}
    for one, other in itertools.combinations(names, 2):
        difference, n = values[one] - values[other], values[one].size
        t = difference.mean() / (difference.std(ddof=1) * (1 / n + shared_variance(100, 1697)) ** 0.5)
        p[one, other] = 2 * stats.t.sf(abs(t), n - 1)
    rejected = {[*p][at] for at in rejected_by_steps([*p.values()], 0.05)}
    of, opener = {}, None
    for name in names:
        if opener is None or (opener, name) in rejected:
            opener = name
        of[name] = 1 + (of[opener] - 1 if opener in of else max(of.values(), default=0))
    return of


@pytest.mark.parametrize("seed", range(5))
def test_the_places_are_those_of_the_slow_reference(experiment, seed):
    rng = np.random.default_rng(seed)
    values = {f"m{i}": RUNS + 0.01 * rng.integers(6) + rng.normal(0, 0.002, 10) for i in range(9)}
    of, _ = places(experiment, values)
    assert of == slow_places(values)
    assert 1 < max(of.values()) < 9


@pytest.mark.parametrize(
    ("values", "fields", "reason"),
    [
        ({"a": RUNS[:1], "b": RUNS[:1] - 0.1}, {"std": 0}, "1 run"),
        ({"a": RUNS[:2], "b": RUNS[:2] - 0.1}, {}, "2 runs"),
        ({"a": RUNS, "b": RUNS - 0.1}, SIZES, NO_TEST),
        ({"a": np.full(10, 0.6), "b": np.full(10, 0.5)}, {}, REPEATED),
        ({"a": RUNS}, {}, "no other method with this protocol and code length"),
        ({"a": None, "b": None}, {}, "a/summary.csv has no metrics.csv and no runs.csv next to it"),
    ],
)
@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value")  # std of one run, in the fixture
def test_what_is_not_tested_has_no_place(experiment, values, fields, reason):
    of, board = places(experiment, values, **fields)
    assert list(of) == [*values]
    assert board.to_frame()["place"].isna().all()
    assert set(board.to_frame()["not_tested"]) == {reason}
    names, (first, why) = ", ".join(f"{name} (16 bits under standard)" for name in values), board.sentences
    assert first == "The methods have no places, because they were not tested."
    assert why == f"No place for {names}: {reason.rstrip('.')}."
    assert '<span class="order">(1)</span>' in board.to_html()


def test_a_record_without_values_has_no_place_among_others(experiment, codes):
    path = experiment("a", *({"hasher": name, "values": x} for name, x in {"x": RUNS, "y": RUNS - 0.1}.items()))
    other = codes("other.json", name="other", n_queries=99)
    board = leaderboard(path, codes("mine.json", name="mine"), other, codes("old.json", names=False))
    of_mine, of_other = board.sentences[-2:]
    assert of_mine.startswith("No place for mine (16 bits under standard (n_queries = 100)): a file does not refer")
    assert of_other.startswith("No place for other (16 bits under standard (n_queries = 99)): no other method with ")
    assert "Left out of old.json: 1 score (mAP): old.json does not record dataset" in " ".join(str(board).split())
    frame = board.to_frame().set_index("method").drop("other")
    assert frame["place"].astype(object).where(frame["place"].notna(), None).to_dict() == {"mine": None, "x": 1, "y": 2}
    assert frame["trained_on"].to_dict() == {"mine": "not recorded", "x": "training set", "y": "training set"}
    assert frame.loc["mine", "check"].startswith("protocol verify ")


def test_records_of_one_name_are_told_apart_by_folder_and_equal_codes_count_once(codes, tmp_path):
    per_query = {"mAP": RUNS}
    codes("other.json", name="other", per_query={"mAP": RUNS - 0.1})
    written = codes("itq.json", name="itq", per_query=per_query, codes_sha256={"query": "1", "database": "2"})
    for folder in "abc":
        (tmp_path / folder).mkdir()
        shutil.copy(tmp_path / "itq.json.csv", tmp_path / folder)
        text = written.read_text()
        (tmp_path / folder / "itq.json").write_text(text.replace('"2"', '"3"' if folder == "c" else '"2"'))
    files = [tmp_path / name for name in ("a/itq.json", "b/itq.json", "c/itq.json", "other.json")]
    board = leaderboard(*files)
    assert board.to_frame()["method"].tolist() == ["itq (a/itq.json)", "itq (c/itq.json)", "other"]
    assert board.sentences[0].startswith("3 methods hold 2 places")
    assert board.places[0].n_adjacent == 2
    left_out = "b/itq.json: its codes are those of a/itq.json, which are counted once."
    assert [f"Left out of {left_out}" in " ".join(str(board).split()), left_out in board.to_html()] == [True, True]
    assert leaderboard(files[0], files[1], files[3]).to_frame()["method"].tolist() == ["itq", "other"]


def test_code_lengths_that_a_method_lacks_are_named(experiment):
    rows = [{"hasher": name, "n_bits": n, "values": RUNS} for name, n in (("a", 16), ("b", 16), ("a", 32))]
    board, text = leaderboard(experiment("x", *rows)), "No score with 32 bits under standard: b."
    assert [text in board.sentences, text in board.to_html()] == [True, True]


def test_the_page_names_refused_records_and_has_no_empty_columns(codes, tmp_path, capsys):
    files = [codes(f"{name}.json", name=name, per_query={"mAP": x}) for name, x in (("a", RUNS), ("b", RUNS - 0.1))]
    page = tmp_path / "board.html"
    assert main(["compare", *map(str, files), "--verify", str(tmp_path), "--leaderboard", str(page)]) == 1
    refused = capsys.readouterr().out.partition("== Refused\n")[2].splitlines()
    text = page.read_text()
    assert len(refused) == 2
    assert all(f"<p>{html.escape(line, quote=False)}</p>" in html.unescape(text) for line in refused)
    heads = re.findall('<th scope="col"[^>]*>([^<]*)</th>', text)
    assert heads == ["place", "method", "mAP", "95% interval", "supervision"]


def test_metrics_that_are_not_shown_are_named_and_supervision_is_read_from_records(codes):
    files = [
        codes(f"{name}.json", name=name, per_query={"mAP": x, "nDCG": x}, supervision="labels")
        for name, x in {"a": RUNS, "b": RUNS - 0.1}.items()
    ]
    board = leaderboard(*files)
    assert board.sentences[-1].startswith("Places are by mAP alone; for nDCG, use `protocol compare` without --leader")
    assert board.to_frame()["supervision"].tolist() == ["labels"] * 2
    assert not leaderboard(*(codes(f"{n}.json", name=n, per_query={"mAP": RUNS}) for n in "cd")).dropped


def test_sources_without_map_or_protocol_are_refused(experiment):
    message = "no source has a score of the metric mAP, which determines the places"
    refuses(message, leaderboard, experiment("a", {"metric": "nDCG"}))
    message = r"old/summary.csv does not record relevance, .* assume=\['relevance=VALUE'"
    refuses(message, leaderboard, experiment("old", old=True))


@pytest.fixture
def page(experiment, tmp_path):
    """The page of two protocols, with metrics, supervision and times."""
    rows = [
        {"hasher": name, "split": split, "metric": metric, "values": x, "supervision": kind}
        for split, sign in {"standard": 1, "improved": -1}.items()
        for metric in ("mAP", "mAP[best]", "mAP[worst]")
        for name, kind, x in (("a", "labels", RUNS), ("b", "none", RUNS - 0.1 * sign))
    ]
    path = experiment("x", *rows)
    times = [("gist", "standard", run, "a", 16, seconds, 1) for run, seconds in ((0, 20), (1, 40), (2, None))]
    times.append(("gist", "improved", 0, "a", 16, None, 1))
    names = ["feature", "split", "run", "hasher", "n_bits", "training_seconds", "encoding_seconds"]
    pd.DataFrame(times, columns=names).to_csv(path.with_name("times.csv"), index=False)
    assert main(["compare", str(path), "--leaderboard", str(tmp_path / "board.html")]) == 0
    return tmp_path / "board.html"


def test_the_rows_are_stored_next_to_the_page(page):
    frame = pd.read_csv(page.with_suffix(".csv"), dtype=str, keep_default_na=False)
    rows = json.loads(page.with_suffix(".json").read_text())
    stored = frame[["split", "method", "place", "training_seconds"]].to_numpy()
    assert [*map(" ".join, stored)] == ["standard a 1 30", "standard b 2 ", "improved b 1 ", "improved a 2 "]
    assert rows[0]["runs"][9] == {"run": 9, "items": "digest 9", "mAP": 0.6, "mAP[best]": 0.6, "mAP[worst]": 0.6}
    assert rows[0]["lines"] == {"mAP": 2, "mAP[best]": 4, "mAP[worst]": 6}
    assert rows[0]["check"] == f"protocol verify {rows[0]['file'].removesuffix('/summary.csv')}"


def test_a_number_opens_its_record_and_the_filters_hide_rows(page, browser):
    with opened(browser, page, width=390) as (tab, wrong):
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        assert tab.locator("section h3:visible").count() == 1  # that of the first protocol
        tab.locator("td.mean a:visible").first.click()
        assert re.match("a, 16 bits.*lines 2, 4, 6.*protocol verify", tab.locator(".record:visible").inner_text(), re.S)
        tab.locator("td.mean a:visible").first.click()
        assert tab.locator(".record:visible").count() == 0
        tab.select_option("select[name=supervision]", "none")
        assert tab.locator("tbody th.words:visible").all_inner_texts() == ["b"]
        assert wrong == []


def test_the_page_is_complete_without_script(page, browser):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(page.as_uri())
    assert tab.locator("td.place:visible").all_inner_texts() == ["1", "2"] * 2
    tab.locator("td.mean a").nth(1).click()
    assert tab.locator(".record:visible").inner_text().startswith("b, 16 bits.")
    context.close()
