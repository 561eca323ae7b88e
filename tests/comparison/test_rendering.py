"""A comparison as text and as a page."""

import html
import itertools
import re
import sys

import numpy as np
import pytest
from browser import DRAWN, opened

from protocol import evaluate
from protocol.cli import main
from protocol.comparison import compare
from protocol.scores.statistics import family


@pytest.fixture
def files(experiment):
    rows = ({"values": [0.5, 0.6, 0.55]}, {"metric": "nDCG", "values": [0.5, 0.6, 0.55]})
    others = [row | {"hasher": "<lsh>", "values": [0.4, 0.45, 0.47]} for row in rows]
    return experiment("a", *rows), experiment("b", *(row | {"relevance": ""} for row in others))


def test_the_command_prints_the_result_of_the_function(files, capsys):
    options = {"metric": "mAP", "assume": "relevance=class labels", "against": "<lsh>, gist"}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    assert main(["compare", *map(str, files), *words]) == 0
    text = repr(compare(*files, metrics="mAP", assume="relevance=class labels", against="<lsh>, gist"))
    assert capsys.readouterr().out == f"{text}\n"
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("method ") and "difference" in line)
    assert re.split("  +", lines[at]) == ["method", "bits", "difference", "interval", "p", "pairs"]
    cells = re.split("  +", lines[at + 1])
    assert cells[:3] == ["itq, gist", "16", "+0.1100"]
    assert cells[5:] == ["3 runs"]


def test_a_notebook_shows_the_same_words_in_tables_of_html(files, monkeypatch):
    compared = compare(*files, metrics="mAP", assume="relevance=class labels")
    for result, n_tables in ((compared, 2), (evaluate([[0], [1]], [[1]], query_labels=[0, 1], database_labels=[1]), 1)):
        shown = result._repr_html_()
        words = html.unescape(re.sub("<[^>]+>", " ", shown)).replace("( ", "(").replace(" )", ")").split()
        assert sorted(words) == sorted(str(result).replace("`", "").split())
        assert shown.count("<table>") == n_tables
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert result._repr_html_() is None  # a notebook then shows the text


def test_the_verdict_stands_first_and_the_family_of_tests_last(files):
    lines = repr(compare(*files, metrics="mAP", assume="relevance=class labels")).splitlines()
    assert lines[2].startswith("<lsh>, gist does not differ significantly from itq, gist: -0.110 [-")
    assert " ".join(lines[-3:]) == family()


def test_the_verdict_holds_for_all_methods_and_code_lengths(experiment):
    """The methods differ from `a` by these numbers with 8, 16 and 32 bits, plus and minus 0, 0.01, 0.02 or 0.03."""
    of_method = {"a": (0, 0, 0), "b": (-0.2, -0.2, 0.1), "c": (-0.3, -0.1, -0.2), "d": (-0.3, 0.01, -0.2)}
    rows = [
        {"hasher": name, "n_bits": (8, 16, 32)[n], "values": 0.5 + of[n] + np.resize([at, -at], 10) / 100}
        for (at, (name, of)), n in itertools.product(enumerate(of_method.items()), range(3))
    ]
    comparison = compare(experiment("x", *rows), against="a")
    assert " ".join(str(comparison).split()).endswith(family("all pairs with the reference"))
    *won, lost, same = comparison.sections[0].text
    three = "0.300 [0.266, 0.334], 0.100 [0.066, 0.134] and 0.200 [0.163, 0.237]"
    assert won == [
        "a, gist beats b, gist by 0.200 [0.181, 0.219] and 0.200 [0.181, 0.219] (mAP, 8 and 16 bits, 10 runs).",
        f"a, gist beats c, gist by {three} (mAP, 8, 16 and 32 bits, 10 runs).",
        "a, gist beats d, gist by 0.300 [0.257, 0.343] and 0.200 [0.157, 0.243] (mAP, 8 and 32 bits, 10 runs).",
    ]
    assert re.fullmatch(r"b, gist beats a, gist by 0.100 \[0.0.*\] \(mAP, 32 bits, 10 runs\)\.", lost)
    assert re.fullmatch(r"d, gist does not differ significantly from a, gist: \+0.010 \[-0.* \(mAP, 16 bits, .*", same)


def test_a_sentence_about_many_methods_has_the_signs_of_their_differences_where_neither_is_better(experiment):
    sizes = {"a": 0, "b": 0.002, "c": -0.03, "d": 0.001, "e": -0.06}
    rows = [{"hasher": name, "values": 0.5 + size + np.resize([0.2, -0.2], 10)} for name, size in sizes.items()]
    rows[0]["values"] = np.full(10, 0.5)
    (text,) = compare(experiment("x", *rows), against="a").sections[0].text
    assert text.startswith("all 4 others do not differ significantly from a, gist: -0.060 to +0.002 (mAP, 16 bits, ")


def test_the_tables_of_a_paper_state_their_protocol(files, tmp_path, capsys):
    command = ["compare", *map(str, files), "--metrics", "mAP", "--assume", "relevance=class labels"]
    assert main([*command, "--latex", str(tmp_path / "t.tex"), "--why"]) == 0
    scores, differences = (tmp_path / "t.tex").read_text().split("\n\n")
    sizes = "split ``standard'': 100 queries, 1,697 database items"
    for text in (scores, differences):
        assert rf"\caption{{digits, {sizes}; ground truth ``class\_label'', relevance by class labels. mAP: " in text
    assert r"Assumed, because b/summary.csv does not record them: relevance = class labels.}" in scores
    assert r"method & runs & 16 bits \\" in scores
    assert r"itq, gist & 3 & \textbf{0.55 $\pm$ 0.05} \\" in scores
    assert r"\ensuremath{<}lsh\ensuremath{>}, gist & 16 & $-$0.1100 & " in differences
    printed = " ".join(capsys.readouterr().out.split())
    assert "b/summary.csv: 1 table. All scores in a table share dataset, split, ground truth, queries, " in printed
    assert "so all pairs of methods count as tests." in printed


def test_files_with_data_from_a_mirror_are_compared_and_named(experiment):
    official, mirrored = experiment("official", {"hasher": "lsh"}), experiment("mine", {"options": "mirror=4d20e9db"})
    text = " ".join(str(compare(official, mirrored)).split())
    assert "mine/summary.csv has data from a mirror, not the official files." in text
    assert "mirror" not in str(compare(official, experiment("other")))


def test_errors_of_the_audit_are_named(experiment, capsys):
    paths = [experiment(name) for name in ("a", "b")]
    paths[0].with_name("audit.csv").write_text("file,severity\nx,warning\ny,error\nz,error\n")
    assert main(["compare", *map(str, paths)]) == 0
    assert capsys.readouterr().err == "a/summary.csv: its splits have 2 errors, see audit.csv\n"


def test_of_many_tables_only_that_of_the_headline_is_printed(experiment):
    metrics = ["nDCG", "mAP", "precision@r2", "recall@r2"]
    rows = [{"metric": metric, "split": split} for split in ("improved", "standard") for metric in metrics]
    files = experiment("a", *rows), experiment("b", *rows)
    frames = {metrics: compare(*files, metrics=metrics).to_frame() for metrics in ((), "nDCG", "all")}
    shown = {metrics: (set(frame["metric"]), set(frame["split"])) for metrics, frame in frames.items()}
    assert shown[()] == ({"mAP"}, {"improved"})
    assert shown["nDCG"] == ({"nDCG"}, {"improved", "standard"})
    assert shown["all"] == (set(metrics), {"improved", "standard"})
    further = "7 further tables (nDCG, precision@r2, recall@r2, mAP) not shown: use --metrics NAME"
    assert further in " ".join(repr(compare(*files)).split())
    few = compare(*(experiment(name, *rows[:4]) for name in "cd"))
    assert set(few.to_frame()["metric"]) == set(metrics)
    assert "further" not in repr(few)


def test_bounds_are_compared_on_request_and_without_verdict(experiment):
    files = [
        experiment(name, *({"metric": metric, "values": values} for metric in ("mAP", "mAP[best]")))
        for name, values in {"a": [0.1, 0.2, 0.3], "b": [0.4, 0.6, 0.5]}.items()
    ]
    assert set(compare(*files).to_frame()["metric"]) == {"mAP"}
    text = repr(compare(*files, metrics="all"))
    assert ("mAP[best]: mean" in text, "(mAP, 16" in text, "(mAP[best], 16" in text) == (True, True, False)


def test_the_page_opens_with_a_figure_that_has_the_complete_names(browser, experiment, tmp_path):
    name = "a_long_name_of_a_supervised_hasher_with_options"
    files = experiment("a", {"hasher": name}), experiment("b", {"hasher": "<lsh>"})
    (tmp_path / "c.html").write_text(compare(*files).to_html())
    with opened(browser, tmp_path / "c.html", width=400) as (tab, wrong):
        (marks,) = tab.evaluate(DRAWN).values()
        assert marks > 1
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        assert wrong == []
    with opened(browser, tmp_path / "c.html", width=1280) as (tab, _):
        texts = tab.locator("figure svg text").all_text_contents()
    assert name in "".join(texts)
