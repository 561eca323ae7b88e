"""The default experiment, run end to end with the first command of the README."""

import itertools
import math
import re
import subprocess
import sys

import pandas as pd
import pytest
import yaml
from browser import opened
from page_blocks import DOCS, script
from project import Project, planned

from protocol.scores.summary import at

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def default(tmp_path_factory, root):
    if (root / "results" / "digits" / "report.html").exists():  # as in .ci/run, after the first command of the README
        done = subprocess.run([sys.executable, "-m", "snakemake", "-n"], cwd=root, capture_output=True, text=True)
        if "Nothing to be done" in done.stdout + done.stderr:
            return root
    project = Project(tmp_path_factory.mktemp("default"))
    (project.folder / "profiles").symlink_to("workflow/profiles")
    done = project.run(config=None)
    assert "profiles/default" in done.stdout + done.stderr
    assert re.search(r"of \d+ steps \(\d+%\) done", done.stdout + done.stderr), "no progress was shown"
    assert done.stderr.endswith("\nReport: results/digits/report.html\n")
    return project.folder


@pytest.fixture(scope="module")
def metrics(default):
    return pd.read_csv(default / "results" / "digits" / "metrics.csv")


def test_every_combination_has_one_row(default, metrics):
    """GIST has the complete grid, the other features a smaller one."""
    config = yaml.safe_load((default / "config" / "config.yaml").read_text())
    grids = {"gist": (10, config["hashers"]), "bow": (3, ["lsh", "itq"]), "sift": (3, ["lsh", "itq"])}
    lists = {"ground_truth": "ground_truths", "split": "splits", "n_bits": "n_bits", "metric": "metrics"}
    for name, (runs, hashers) in grids.items():
        own, rows = config | config["features"][name], metrics[metrics["feature"] == name]
        values = {"run": range(runs), "hasher": hashers} | {column: own[key] for column, key in lists.items()}
        pairs = itertools.product(own["extensions"], own["extension_bits"])
        extensions = {("none", 0) if extension == "none" else (extension, bits) for extension, bits in pairs}
        assert {column: set(rows[column]) for column in values} == {column: set(of) for column, of in values.items()}
        assert set(rows[["extension", "extension_bits"]].itertuples(index=False, name=None)) == extensions
        assert len(rows) == math.prod(map(len, values.values())) * len(extensions)
    assert not metrics.drop(columns="value").duplicated().any()
    assert metrics["value"].between(0, 1).all()


def test_scores_are_well_above_chance(metrics):
    """Chance is 0.1 on ten classes; the margins are many standard deviations of the runs wide."""
    chosen = at(metrics, metric="mAP", ground_truth="class_label", feature="gist", extension="none")
    mean = chosen.groupby(["hasher", "n_bits"])["value"].mean()
    assert 0.60 < mean["itq", 32] < 0.72
    assert mean["itq", 32] > mean["pca_rr", 32] > mean["lsh", 32] > mean["sklsh", 32] > 0.2
    assert mean["pcah", 64] < mean["pcah", 8]


def test_the_audit_has_no_error(default):
    findings = pd.read_csv(default / "results" / "digits" / "audit.csv")
    assert set(findings["severity"]) == {"warning"}
    inherent = findings[findings["finding"].str.endswith("-in-database")]
    assert inherent["file"].str.contains("/standard/").all()


def test_no_job_takes_more_than_its_rule_declares(default):
    """By Snakemake's benchmark files. A rule without resources requests the defaults of a profile for clusters."""
    config = yaml.safe_load((default / "config" / "config.yaml").read_text())
    declared, measured = set(), set()
    with planned(default, config, "all") as workflow:
        jobs = [job for job in workflow.dag.jobs if job.benchmark]
        for job in jobs:
            (seen,) = pd.read_csv(job.benchmark, sep="\t").to_dict("records")
            assert seen["max_rss"] <= job.resources.get("mem_mb", 2000), job
            assert seen["s"] <= 60 * job.resources.get("runtime", 60), job
            measured.add(job.rule.name)
            declared |= {job.rule.name} if "mem_mb" in job.resources.keys() else set()  # noqa: SIM118
    assert declared > {"dataset", "sample", "split", "ground_truth", "model", "count", "score", "examples"}
    assert measured == declared | {"audit"}


def test_the_report_answers_first_and_is_short(default, browser):
    """At most 900 words, 4,000 pixels and 10 sections as the page opens, and 8 pages in print."""
    path = default / "results" / "digits" / "report.html"
    page = path.read_text()
    for feature in ("GIST", "BoW", "SIFT"):
        assert f"<option>{feature}</option>" in page or f"<option selected>{feature}</option>" in page
    assert len(page) < 3e6
    assert "In 3 of 10 runs, 1 of the 100 queries has no relevant item (GIST, epsilon ball, standard split)" in page
    with opened(browser, path, width=1280) as (tab, wrong):
        assert len(re.findall(r"\S*\w\S*", tab.locator("body").inner_text())) <= 900
        assert tab.evaluate("document.documentElement.scrollHeight") <= 4000
        names = tab.evaluate("[...document.querySelectorAll('main > section')].map((section) => section.id)")
        answer = tab.locator("#answer .answer:visible").inner_text()
        assert "pixel values" not in tab.locator("main").inner_text()
        for paper in ("A4", "Letter"):
            assert len(re.findall(rb"/Type\s*/Page\b", tab.pdf(format=paper))) <= 8
        assert wrong == []
    with opened(browser, path, width=390) as (tab, wrong):
        box = tab.locator("#by-length .chart svg.marks").bounding_box()
        assert box["y"] + box["height"] <= 844
        assert wrong == []
    assert names[0] == "answer"
    assert len(names) <= 10
    assert not {"claims", "published"} & set(names)
    assert re.match(r"ITQ (is best|has the best mean) at |The best hasher depends on the code length: ", answer)


def test_the_page_on_file_formats_describes_the_files(default, root):
    page = (root / "docs" / "reference" / "files.md").read_text()
    assert page == script("files").page(default / "results" / "digits"), "run the default experiment and docs/files.py"


def test_the_picture_of_the_readme_has_the_texts_of_the_report(default, root):
    report = (default / "results" / "digits" / "report.html").read_text()
    stored, made = (
        re.findall(">([^<>]+)<", svg)
        for svg in (DOCS.joinpath("report.svg").read_text(), script("figures").of_report(report))
    )
    assert stored == made, "python docs/figures.py results/digits/report.html"
