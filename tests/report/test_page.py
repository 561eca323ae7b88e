"""The page: what it says, and what a browser makes of it."""

import dataclasses
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from browser import ALL_DRAWN, DRAWN, opened, select

from protocol.report import page
from protocol.report.sections import ORDER, experiment_line, of_selections, sections
from protocol.report.styles import COLOURS
from protocol.scores.summary import at

FIGURES = {
    "by-length",
    "rescoring",
    "precision-at-n",
    "recall-at-n",
    "pr-curves",
    "precision-in-ball",
    "ties",
    "splits-compared",
    "extensions",
    "empty-balls",
    "bucket-sizes",
    "layout-improved",
    "layout-standard",
}
FOLDED = {"one-number", "lookup-times", "time"}  # drawn, but hidden until the reader opens them
UNFOLD = "for (const box of document.querySelectorAll('details')) box.open = true"
DEFAULT_THEMES = ("light", "dark")


@pytest.fixture(scope="session")
def html(results):
    return page(results)


@pytest.fixture(scope="session")
def path(html, tmp_path_factory):
    made = tmp_path_factory.mktemp("page") / "report.html"
    made.write_text(html)
    return made


def of(results, name):
    (section,) = [section for section in sections(results) if section.name == name]
    return section


def words_of(html):
    """Return the words that a reader of the opened page can see, without the folded parts."""
    body = html[html.index("<body>") :].partition("<script>window")[0]
    for hidden in (r"<script.*?</script>", r"<svg.*?</svg>", r"<form.*?</form>", r"<(p|div) [^>]* hidden[ >].*?</\1>"):
        body = re.sub(hidden, " ", body, flags=re.DOTALL)
    inside = r"(?:(?!<details).)*?"
    innermost = rf"<details[^>]*>(<summary>{inside}</summary>){inside}</details>"
    while "<details" in body:
        body = re.sub(innermost, r"\1", body, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", body).split()


def test_the_page_is_short(results, html):
    """As it opens; the test of the default workflow counts the words and sections of the whole default experiment."""
    assert len(words_of(html)) < 2500
    shown = [section for section in sections(results) if not section.folded]
    assert len(shown) <= 12


def test_no_section_is_empty(results, bare):
    for made in (results, bare):
        for section in sections(made):
            assert section.figures or section.tables or section.template, section.name
    names = [section.name for section in sections(results)]
    assert len(names) == len(set(names)) == len(ORDER) - 3  # no options searched, claims, judged pairs
    assert names[0] == "answer"


def test_the_answer_follows_the_data(results):
    answer = of(results, "answer").text[0]
    assert re.fullmatch(
        r"itq is best at every code length: mAP 0\.\d{3} at 8 bits, \+0\.\d{3} \[0\.\d{3}, 0\.\d{3}\] over lsh "
        r"\(paired over 2 runs\)\.",
        answer,
    )
    turned = results.run_scores.assign(hasher=results.run_scores["hasher"].map({"itq": "lsh", "lsh": "itq"}))
    assert of(dataclasses.replace(results, run_scores=turned), "answer").text[0].startswith("lsh is best at every")


def scored(results, values, metric="mAP"):
    """Return the results with these scores of the main metric, by hasher and code length, in every run."""
    scores = results.run_scores[results.run_scores["metric"] == metric]
    found = [values.get((hasher, n_bits)) for hasher, n_bits in zip(scores["hasher"], scores["n_bits"], strict=True)]
    return dataclasses.replace(results, run_scores=scores.assign(value=found).dropna(subset="value"))


def test_the_answer_tells_code_lengths_runs_and_hashers_apart(results, bare):
    values = {("lsh", 4): 0.3, ("itq", 4): 0.2, ("lsh", 8): 0.4, ("itq", 8): 0.5}
    differ = of(scored(results, values), "answer").text[0]
    assert differ == (
        "The best hasher depends on the code length: lsh at 4 bits, itq at 8 bits. itq has mAP 0.500 at 8 bits, "
        "+0.100 over lsh (equal in all 2 runs, too few for a test)."
    )
    same = of(scored(results, dict.fromkeys(values, 0.5)), "answer").text[0]
    assert same.endswith("+0.000 [0.000, 0.000] over lsh (paired over 2 runs), which is not significant.")
    one_run = scored(results, values)
    one_run = dataclasses.replace(one_run, run_scores=one_run.run_scores[one_run.run_scores["run"] == 0])
    assert of(one_run, "answer").text[0].endswith("+0.100 over lsh (one run, so there is no interval).")
    alone = {key: value for key, value in values.items() if key[0] == "itq"}
    assert of(scored(results, alone), "answer").text[0] == (
        "itq: mAP 0.200 at 4 bits and mAP 0.500 at 8 bits (mean over 2 runs)."
    )
    assert of(scored(results, {}), "answer").text == [
        "mAP is undefined for every hasher (gist, class_label, standard split)."
    ]


def test_the_answer_counts_the_other_places(results):
    values = {("lsh", 4): 0.3, ("itq", 4): 0.2, ("lsh", 8): 0.4, ("itq", 8): 0.5}
    assert of(scored(results, values), "answer").text[1] == (
        "This result is for gist, class_label, standard split. In the other 6 combinations of ground truth, split and "
        "code length with the same hashers and runs, itq is best in 3, lsh in 3."
    )
    assert of(scored(results, values | {("itq", 4): 0.35}), "answer").text[1] == (
        "This result is for gist, class_label, standard split. itq is also best in the other 6 combinations of ground "
        "truth, split and code length with the same hashers and runs."
    )


def test_the_answer_counts_other_hashers_and_runs_apart(results):
    """Three hashers in the headline; two of them, in one run, on another feature."""
    values = {("lsh", 4): 0.3, ("itq", 4): 0.35, ("lsh", 8): 0.4, ("itq", 8): 0.5}
    scores = scored(results, values).run_scores
    scores = pd.concat([scores, scores[scores["hasher"] == "lsh"].assign(hasher="sh", value=0.1)])
    fewer = scores[(scores["hasher"] != "sh") & (scores["run"] == 0)].assign(feature="bow")
    config = results.config | {"hashers": ["lsh", "itq", "sh"]}
    config |= {"features": dict.fromkeys(("gist", "bow"), results.config["features"]["gist"])}
    made = dataclasses.replace(results, config=config, run_scores=pd.concat([scores, fewer], ignore_index=True))
    assert of(made, "answer").text[1] == (
        "This result is for gist, class_label, standard split. itq is also best in the other 6 combinations of ground "
        "truth, split and code length with the same hashers and runs. itq is also best in 8 combinations with other "
        "hashers or runs (lsh and itq, 1 run)."
    )


def test_queries_without_a_relevant_item_are_stated_with_the_scores(results):
    assert not any("no relevant item" in text for text in of(results, "answer").text)
    curves = results.displayed["curves"]
    lowered = curves["value"].mask(curves["metric"] == "without_relevant", 0.2)
    altered = dataclasses.replace(results, displayed=results.displayed | {"curves": curves.assign(value=lowered)})
    assert "2 of the 10 queries have no relevant item and lower every mean: they count 0." in of(altered, "answer").text


def test_definitions_list_the_options_of_plugins(results):
    (truths,) = [table for table in of(results, "meanings").tables if table.name == "ground_truths"]
    assert truths.header[-1] == "options"
    assert [row[-1] for row in truths.rows] == ["", "n_neighbours = 5"]


def test_display_names_are_shown_and_files_keep_the_names_of_the_config_file(results):
    names = {"dataset": "Digits", "features": {"gist": "GIST"}, "hashers": {"lsh": "LSH", "itq": "ITQ"}}
    names |= {"splits": {"standard": "Standard"}, "ground_truths": {"class_label": "class labels"}}
    altered = dataclasses.replace(results, config=results.config | {"names": names})
    answer = of(altered, "answer")
    assert answer.text[0].startswith("ITQ is best at every code length")
    assert "GIST, class labels, Standard split" in answer.text[1]
    assert {table.name for table in answer.tables} == {table.name for table in of(results, "answer").tables}
    (hashers,) = [table for table in of(altered, "meanings").tables if table.name == "hashers"]
    assert [row[0] for row in hashers.rows] == ["LSH (lsh)", "ITQ (itq)"]
    scales = [
        of(made, "answer").figures[0].spec["layer"][0]["encoding"]["color"]["scale"] for made in (altered, results)
    ]
    assert [scale["domain"] for scale in scales] == [["LSH", "ITQ"], ["lsh", "itq"]]
    assert scales[0]["range"] == scales[1]["range"]
    assert "<h1>Digits: retrieval with binary codes</h1>" in page(altered)
    titled = dataclasses.replace(altered, config=altered.config | {"title": "Our codes"})
    assert "<h1>Our codes</h1>" in page(titled)


@pytest.fixture
def uneven(results):
    """Return the results with another feature of one hasher and three runs, together with ten runs of the first."""
    summary = results.summary.assign(n_runs=10)
    radii = results.displayed["radii"].assign(n_runs=10)
    features = results.config["features"]
    bow = {"feature": "bow", "n_runs": 3}
    return dataclasses.replace(
        results,
        config=results.config | {"features": features | {"bow": features["gist"] | {"hashers": ["lsh"]}}},
        summary=pd.concat([summary, at(summary, hasher="lsh").assign(**bow)], ignore_index=True),
        displayed=results.displayed
        | {"radii": pd.concat([radii, at(radii, hasher="lsh").assign(**bow)], ignore_index=True)},
    )


def test_the_answer_states_what_the_hashers_learned_from(results):
    plain, config = of(results, "answer"), results.config | {"hasher_uses": {"itq": "ksh"}}
    for affinities, learned in (
        ("class_label", "labels"),
        ("nearest_neighbours", "distances of gist (nearest_neighbours)"),
    ):
        supervised = of(dataclasses.replace(results, config=config | {"affinities": affinities}), "answer")
        texts = [figure.shows for figure in supervised.figures] + [table.caption for table in supervised.tables]
        assert all(text.endswith(f" Trained on {learned}: itq.") for text in texts)
    assert not any("Trained" in table.caption for table in plain.tables)


def test_features_of_other_hashers_and_runs_are_told_apart(results, uneven):
    assert (
        "The features differ in their numbers of hashers and runs: gist: 2 hashers, 10 runs; bow: 1 hasher, 3 runs."
        in (of(uneven, "partitions").text)
    )
    assert not any("differ in their numbers" in text for text in of(results, "partitions").text)
    assert "over 3 to 10 runs. Bold" in of(uneven, "answer").tables[1].caption
    assert "gist and bow · 2 hashers · 4 to 8 bits · 10 queries · database of 60 · 3 to 10 runs" in experiment_line(
        uneven
    )


@pytest.fixture(params=[4, 8], ids=lambda n_bits: f"{n_bits} bits")
def finished(results, request):
    """Return the results of lsh, and of finished codes of one code length for the improved split alone."""

    def kept(table):
        table = table.assign(hasher=table["hasher"].map({"lsh": "lsh", "itq": "mine"}))
        partial = (table["split"] == "improved") & (table["n_bits"] == request.param)
        return table[(table["hasher"] == "lsh") | partial].reset_index(drop=True)

    keys = {"query": "q{run}.npy", "database": "d{run}.npy", "feature": "gist"}
    own = keys | {"splits": ["improved"], "n_bits": [request.param], "bit_order": "little"}
    return dataclasses.replace(
        results,
        config=results.config | {"hashers": ["lsh"], "codes": {"mine": own}},
        summary=kept(results.summary),
        displayed={name: kept(table) for name, table in results.displayed.items()},
    )


def test_finished_codes_are_one_more_method_and_the_page_identifies_them(finished, results):
    assert list(finished.hashers) == ["lsh", "mine"]
    assert "2 hashers" in experiment_line(finished)
    statement = "The codes of mine were made outside this pipeline. The audit can't check how they were learned."
    assert statement in of(finished, "answer").text
    assert statement not in of(results, "answer").text
    improved = next(table for table in of(finished, "answer").tables if "improved" in table.name)
    assert [row[0] for row in improved.rows] == ["lsh", "mine"]
    hashers = next(table for table in of(finished, "meanings").tables if table.name == "hashers")
    assert hashers.rows[1][:2] == [
        "mine",
        "Finished codes, made outside this pipeline; how they were learned is not recorded.",
    ]
    assert "queries: q{run}.npy; database: d{run}.npy" in hashers.rows[1]
    (compared,) = of(finished, "splits-compared").figures
    assert ", for lsh. " in compared.shows
    assert "the same order" in compared.shows  # of lsh alone, as mine has one split
    assert "made outside this pipeline" in page(finished)


def test_splits_of_other_numbers_of_queries_are_told_apart(results):
    fewer = {name: rows[:7] if name == "query" else rows for name, rows in results.splits["improved"].items()}
    altered = dataclasses.replace(results, splits=results.splits | {"improved": fewer})
    assert "· 7 to 10 queries ·" in experiment_line(altered)
    assert "· 10 queries ·" in experiment_line(results)


def test_the_databases_of_two_splits_are_compared_and_the_leak_study_is_named(results):
    improved = results.splits["improved"]
    n_outside, n_trained = len(improved["database"]), len(improved["train"])
    standard = improved | {"database": np.concatenate([improved["train"], improved["database"]])}
    altered = dataclasses.replace(results, splits={"standard": standard, "improved": improved})
    (text,) = of(altered, "splits-compared").text
    assert f"standard ranks {n_outside + n_trained:,} items, including {n_trained:,} training items; " in text
    assert f"improved ranks {n_outside:,} items, including 0 training items (run 0)." in text
    assert "differ in size and composition" in text
    assert "not the effect of training items alone" in text


def test_official_parts_are_told_and_not_who_takes_them(results):
    """A split may take them as they are, or draw its own: the layout of each shows which."""
    parts = {"partitions/train": np.arange(2000), "partitions/test": np.arange(3)}
    altered = dataclasses.replace(results, items=results.items | parts)
    assert "Official parts of the dataset: train 2,000, test 3." in of(altered, "partitions").text


def test_the_fewest_empty_balls_are_those_of_their_hasher(results):
    """Here lsh's, though itq is the best by mAP."""
    radii = results.displayed["radii"]
    empty = (radii["metric"] == "empty") & (radii["radius"] == 2)
    altered = radii.assign(value=radii["value"].mask(empty, radii["hasher"].map({"lsh": 0.25, "itq": 0.5})))
    figure = of(dataclasses.replace(results, displayed=results.displayed | {"radii": altered}), "lookups").figures[0]
    assert "from 25.0% of the queries (lsh) to 50.0% (itq) find nothing (gist, standard split, 8 bits;" in figure.shows


def test_items_at_a_distance_are_said_to_be_shown(html):
    assert re.search(r"<small>distance \d+: \d+ of \d+ shown</small>", html)


def test_the_answer_marks_the_best_of_each_length(results):
    table = of(results, "answer").tables[0]
    for down, across in table.strong:
        column = [float(row[across].split()[0]) for row in table.rows]
        assert column[down] == max(column)
    assert {across for _, across in table.strong} == {1, 2}


def test_folded_tables_have_every_feature(results, uneven):
    tables = of(uneven, "answer").tables
    assert [table.name for table in tables] == [table.name for table in of(results, "answer").tables]
    for table, alone in zip(tables[1:], of(results, "answer").tables[1:], strict=True):
        assert table.folded
        assert table.header == ["feature", *alone.header]
        assert [row[:2] for row in table.rows] == [["gist", "lsh"], ["gist", "itq"], ["bow", "lsh"]]
        assert [row[2:] for row in table.rows] == [row[1:] for row in (*alone.rows, alone.rows[0])]
        of_bow = {(2, across) for across in (2, 3)}  # alone, and so the best
        assert table.strong == {(down, across + 1) for down, across in alone.strong} | of_bow
        assert table.n_labels == 2
        assert "gist" not in table.caption
        assert "gist" in alone.caption


def test_the_extension_tables_have_the_shape_of_ramap(results):
    by_cut, by_radius, _ = of(results, "extensions").tables
    assert [row[:2] for row in by_cut.rows] == [
        [metric, codes] for metric in ("mAP@K", "RAMAP@R") for codes in ("plain", "same +1", "different +1")
    ]
    cut = [row[2:] for row in by_cut.rows[:3]]
    assert cut[0] == cut[1] == cut[2]
    assert by_radius.header[2:] == [f"R = {radius}" for radius in range(6)]
    assert by_radius.rows[0][-1] == "\N{EN DASH}"  # plain codes of 4 bits have no radius 5
    assert by_radius.rows[1][-1] != "\N{EN DASH}"


def test_a_bare_experiment_has_no_section_that_it_lacks(bare):
    assert [section.name for section in sections(bare)] == [
        "answer",
        "curves",
        "conventions",
        "lookups",
        "partitions",
        "meanings",
        "provenance",
    ]
    text = page(bare)
    assert "The audit of the splits and models found nothing." in text
    assert "\N{PLUS-MINUS SIGN} nan" not in text
    assert not of(bare, "answer").tables[1:]


def test_the_papers_are_part_of_a_reproduction_alone(results):
    alone = dataclasses.replace(results, config=results.config | {"reproduction": False}, published=None, claims=[])
    alone = dataclasses.replace(alone, published_losses=None)
    assert not {"published", "claims", "figures-of-papers"} & {section.name for section in sections(alone)}
    assert "loss-published" not in {table.name for table in of(alone, "loss").tables}
    assert "loss-published" in {table.name for table in of(results, "loss").tables}


def test_claims_that_do_not_hold_come_first_and_open(results):
    claim = {"id": "c1", "paper": "TALR", "place": "eq. 6", "claim": "<b>", "expected": "mAP: 0.5", "ours": "mAP: 0.5"}
    claim["parts"] = "2 of 2 parts hold"
    claims = [
        claim | {"status": "proved", "note": "How: so.\nThus."},
        claim | {"id": "c2", "status": "refuted", "ours": "mAP: 0.1", "note": ""},
        claim | {"id": "c3", "status": "not run", "ours": "", "note": "Needs: data."},
    ]
    made = dataclasses.replace(results, claims=claims)
    text = (
        "3 claims: 1 refuted, 1 proved, 1 not run. They were checked against this experiment's scores where these "
        "suffice, and otherwise against the stored reference results."
    )
    assert of(made, "claims").text == [text]
    html = page(made)
    places = [
        html.index(text)
        for text in ("<details open><summary>c2", "<details><summary>c1", "<dd>Thus.</dd>", "<summary>c3")
    ]
    assert places == sorted(places)
    assert "c1 · &lt;b&gt;" in html


def test_the_same_results_give_the_same_page(results, html):
    assert page(results) == html


def test_what_data_say_is_escaped(html):
    assert "&lt;made&gt; &amp; small" in html
    assert "<made>" not in html


def test_the_page_names_no_address_to_fetch(html):
    body = html[: html.index("<script>")]
    assert not re.search(r'(?:src|href)="(?!data:|#)', body)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def variables(html, theme):
    """The colours that the style sheet names, of one theme."""
    light, dark = re.findall(r":root \{ (--page[^}]*)\}", html)[:2]
    found = dict(re.findall(r"--(\w+): (#\w+);", light if theme == "light" else dark))
    return {
        name: colour if len(colour) == 7 else "#" + "".join(c * 2 for c in colour[1:]) for name, colour in found.items()
    }


@pytest.mark.parametrize("theme", DEFAULT_THEMES)
def test_text_and_marks_stand_out(html, theme):
    named = variables(html, theme)
    for ink in ("ink", "soft", "accent", "right", "wrong"):
        for ground in ("page", "wash"):
            assert contrast(named[ink], named[ground]) >= 4.5, (ink, ground)
    for colour in COLOURS:
        assert contrast(colour, named["page"]) >= 3, colour


@pytest.mark.parametrize("theme", DEFAULT_THEMES)
@pytest.mark.parametrize("width", [1100, 400])
def test_every_figure_is_drawn_in_both_themes_and_on_a_phone(browser, path, theme, width):
    with opened(browser, path, theme=theme, width=width) as (tab, wrong):
        assert {name for name, marks in tab.evaluate(DRAWN).items() if marks > 2} == FIGURES | FOLDED
        tab.evaluate(UNFOLD)
        tab.wait_for_function(ALL_DRAWN)
        assert {name for name, marks in tab.evaluate(DRAWN).items() if marks > 2} == FIGURES | FOLDED | FOLDED
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        widths = tab.evaluate(
            "[...document.querySelectorAll('.chart svg.marks')].map((svg) => svg.getBoundingClientRect().width)"
        )
        assert min(widths) > min(width, 800) / 2
        heights = tab.evaluate(
            "[...document.querySelectorAll('.chart svg.marks')].map((svg) => svg.getBoundingClientRect().height)"
        )
        assert min(heights) > 50
        background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 31)"}[theme]
        assert wrong == []


def test_the_legends_of_layouts_are_whole_on_a_phone(browser, path):
    with opened(browser, path, width=400) as (tab, _):
        legends = tab.evaluate(
            """[...document.querySelectorAll("[id^=layout-]")].map((figure) => ({
                edge: figure.querySelector("svg.marks").getBoundingClientRect().right,
                labels: [...figure.querySelectorAll(".role-legend-label text")].map(
                    (text) => [text.textContent, text.getBoundingClientRect().right])}))"""
        )
    assert len(legends) == 2
    for legend in legends:
        assert legend["labels"]
        for text, right in legend["labels"]:
            assert "…" not in text
            assert right <= legend["edge"], text


def test_choosing_something_else_draws_something_else(browser, path):
    with opened(browser, path) as (tab, wrong):
        chart, table = tab.locator("#by-length .chart"), tab.locator("[data-follows=by-length]:not([hidden])")
        before, numbers = chart.inner_html(), table.inner_text()
        tab.select_option("#by-length select[name=metric]", "recall@r2")
        tab.wait_for_function("document.querySelector('#by-length svg').textContent.includes('recall@r2')")
        assert chart.inner_html() != before
        assert "recall@r2" in table.inner_text()
        assert table.inner_text() != numbers
        drawn = tab.locator("#ties .drawn")
        assert drawn.inner_text() == "gist, class_label, standard split, 8 bits"
        tab.focus("#shared select[name=n_bits]")
        tab.keyboard.press("ArrowUp")
        tab.wait_for_function("document.querySelector('#ties .drawn').textContent.includes(' 4 bits')")
        assert wrong == []


@pytest.fixture
def partial(results, tmp_path):
    """Return results with a second feature that lacks a hasher and a code length, and the path of their page."""

    def more(table):
        own = table[(table["hasher"] == "lsh") & (table["n_bits"] == 8)]
        return pd.concat([table, own.assign(feature="bow")], ignore_index=True)

    made = dataclasses.replace(
        results,
        config=results.config | {"features": dict.fromkeys(("gist", "bow"), results.config["features"]["gist"])},
        summary=more(results.summary),
        run_scores=more(results.run_scores),
        displayed={name: more(table) for name, table in results.displayed.items()},
    )
    path = tmp_path / "report.html"
    path.write_text(page(made))
    return made, path


_TEXTS = """() => [...document.querySelectorAll("main p")].filter((text) => text.checkVisibility()).map((text) =>
    text.textContent)"""
_LEGENDS = """() => Object.fromEntries([...document.querySelectorAll("[data-figure]")].map((figure) =>
    [figure.id, [...figure.querySelectorAll(".role-legend-label text")].map((text) => text.textContent)]))"""


def test_everything_on_the_page_describes_the_selection(browser, partial):
    results, path = partial
    pages = of_selections(results)
    assert len(pages) == 8 + 4
    with opened(browser, path) as (tab, wrong):
        tab.evaluate(UNFOLD)
        for selection, shown in zip(results.selections, pages, strict=True):
            select(tab, selection)
            texts, legends, own = tab.evaluate(_TEXTS), tab.evaluate(_LEGENDS), results.select(selection)
            for part in shown:
                assert set(part.text) <= set(texts), selection
                assert {table.caption for table in part.tables} <= set(texts), selection
                for figure in part.figures:
                    assert {figure.shows, *figure.sentences.values()} & set(texts), (selection, figure.name)
            here = at(results.plain, **own.place)
            for name in ("by-length", "pr-curves", "precision-at-n", "empty-balls", "bucket-sizes"):
                assert legends[name] == list(dict.fromkeys(here["hasher"])), (name, selection)
            others = {text for page in pages if page is not shown for part in page for text in part.text}
            assert not (others - {text for part in shown for text in part.text}) & set(texts), selection
            assert f"{own.place['feature']}, " in tab.locator("[data-follows] .caption:visible").inner_text()
        assert wrong == []


def test_an_impossible_choice_is_disabled_and_replaced(browser, partial):
    _, path = partial
    with opened(browser, path) as (tab, wrong):
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


def test_print_shows_the_selection_in_the_folded_figures_as_well(browser, path, results):
    selection = results.selections[-1]
    with opened(browser, path) as (tab, _):
        select(tab, selection)
        tab.emulate_media(media="print")
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        folded = tab.locator("#lookup-times")
        assert (
            f"{selection['split']} split, {selection['n_bits']} bits" in folded.locator("p.shows:visible").inner_text()
        )
        drawn = folded.locator(".drawn").text_content()
        assert drawn == f"gist, {selection['split']} split, {selection['n_bits']} bits"


def test_the_table_that_follows_shows_the_summary(browser, path, results):
    with opened(browser, path) as (tab, _):
        tab.select_option("#shared select[name=split]", "improved")
        tab.wait_for_function(
            "document.querySelector('[data-follows]:not([hidden]) .caption').textContent.includes('improved')"
        )
        shown = tab.locator("[data-follows=by-length]:not([hidden]) tbody tr").nth(1).inner_text().split("\t")
    rows = at(results.plain, metric="mAP", ground_truth="class_label", split="improved", hasher="itq")
    assert shown == ["itq", *(f"{row.mean:.4f} \N{PLUS-MINUS SIGN} {row.std:.4f}" for row in rows.itertuples())]


def test_the_data_of_a_figure_are_downloaded_whole(browser, path, results):
    (figure,) = of(results, "answer").figures
    with opened(browser, path) as (tab, _), tab.expect_download() as download:
        tab.click("#by-length a.data")
        assert download.value.path().read_text() == figure.csv
        assert download.value.suggested_filename == "by-length.csv"


def test_without_script_the_figures_stand_as_they_are_drawn_first(browser, path):
    with opened(browser, path, script=False) as (tab, wrong):
        for name in FIGURES:
            box = tab.locator(f"#{name} .chart svg").bounding_box()
            assert box["width"] > 300, name
            assert box["height"] > 50, name
        assert tab.locator("form.choices").first.is_hidden()
        assert wrong == []


def test_on_paper_there_are_no_controls(browser, path):
    with opened(browser, path, width=700) as (tab, wrong):
        tab.emulate_media(media="print", color_scheme="dark")
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not tab.locator("#by-length form.choices").is_visible()
        assert tab.locator("#by-length .chart svg.marks").is_visible()
        assert not tab.locator("#meanings").is_visible()
        assert len(tab.pdf()) > 20000
        assert wrong == []


def test_headings_nest_and_every_picture_has_words(browser, path):
    with opened(browser, path) as (tab, _):
        levels = tab.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => Number(h.tagName[1]))")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
        assert tab.evaluate("[...document.querySelectorAll('img')].every((image) => image.alt)")
        assert tab.evaluate("[...document.querySelectorAll('[role=img]')].every((chart) => chart.ariaLabel)")
        assert tab.evaluate("[...document.querySelectorAll('select')].every((select) => select.labels.length)")
        ids = tab.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
        links = tab.evaluate("[...document.querySelectorAll('nav a, .run a')].map((link) => link.hash.slice(1))")
        assert set(links) <= set(ids)
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.className") == "skip"
