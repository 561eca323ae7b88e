"""Runs of a small experiment by Snakemake: determinism, its report, lost files, and errors."""

import itertools
import json
import re
from pathlib import Path

import pytest
from encoded import message_of
from project import RESULTS, SMALL, planned
from snakemake.settings.types import MaxJobsPerTimespan, SchedulingSettings

from protocol.papers import FIELDS
from protocol.provenance.checksums import verified, verify_sealed

pytestmark = pytest.mark.ci


def test_it_makes_the_same_bytes_as_the_stages_in_one_process(small, elsewhere):
    shown = sorted((small.folder / RESULTS).glob("gist/examples/*/*.csv"))
    assert len(shown) == 5  # tables of one feature and split
    tables = [str(path.relative_to(small.folder)) for path in shown]
    for name in ("metrics", "summary", "audit", "selection"):
        tables.append(f"{RESULTS}/{name}.csv")
    for table in tables:
        assert (elsewhere.folder / table).read_bytes() == (small.folder / table).read_bytes(), table


def test_a_run_does_not_depend_on_other_combinations(small, tiny):
    ours, all_rows = ((made.folder / RESULTS / "metrics.csv").read_text().splitlines() for made in (small, tiny))
    of_lsh = {line for line in ours if ",lsh," in line}
    assert len(of_lsh) == 2 * 3 * 2 * len(SMALL["metrics"])  # lengths, extensions, ground truths
    assert of_lsh <= set(all_rows)


def test_the_claims_are_checked_against_the_experiment(small):
    """A copy of the project has no stored results."""
    entries = {entry["id"]: entry for entry in json.loads((small.folder / RESULTS / "claims.json").read_text())}
    assert all(list(entry) == list(FIELDS) for entry in entries.values())
    assert entries["X-06"]["status"] == "replicated on a substitute"
    # hashers, lengths, ground truths; two pairs of mAP, two of others at a radius twice, two of RAMAP
    assert f"pairs of rows: {2 * 2 * 2 * 8}" in entries["X-06"]["ours"]
    assert entries["S0-08"]["status"] == "not run"  # these are no rows of CIFAR-10


TARGETS = [(["all"], True), (["metrics"], False), (["all", "--quiet", "all"], False)]


@pytest.mark.parametrize(("arguments", "names_it"), TARGETS)
def test_the_last_line_names_the_report_if_the_target_includes_it(small, arguments, names_it):
    done = small.run(*arguments)
    assert done.stderr.endswith(f"\nReport: {RESULTS}/report.html\n") == names_it


@pytest.mark.parametrize(("asked", "kept"), [("100/1s", None), ("5/1s", 5)])
def test_ready_jobs_are_not_evaluated_again_each_second_without_a_limit_of_the_user(tiny, asked, kept):
    with planned(tiny.folder, SMALL, "metrics") as workflow:
        workflow.scheduling_settings = SchedulingSettings(max_jobs_per_timespan=MaxJobsPerTimespan.parse_choice(asked))
        workflow.execute(run=lambda: None)
        limit = workflow.scheduling_settings.max_jobs_per_timespan
    assert (limit and limit.max_jobs) == kept


def test_snakemake_s_own_report_has_the_figures(small):
    small.run("report", "paper", "--report", "provenance.html")
    text = (small.folder / "provenance.html").read_text()
    assert "scores-mAP-gist-class-label-improved.svg" in text
    assert "The report of the experiment" in text  # of the caption


CODES = f"{RESULTS}/gist/random/run0/itq/codes.h5"
WRITTEN = [CODES, *(f"{RESULTS}/{name}" for name in ("samples/random/run1.h5", "gist/scores/itq.csv", "runs.csv"))]


def test_the_command_of_the_message_writes_every_deleted_file_again(tiny, ran, monkeypatch):
    monkeypatch.chdir(ran.folder)
    commands = []
    for name in WRITTEN:
        Path(name).unlink()
        message = message_of(verify_sealed if name.endswith(".h5") else verified, name)
        commands.append(re.search("snakemake (--force) (.*), with the --configfile", message).groups())
    ran.run(*dict.fromkeys(itertools.chain(*commands)))
    for name in WRITTEN:
        assert Path(name).read_bytes() == (tiny.folder / name).read_bytes(), name


@pytest.mark.parametrize(
    ("changes", "target", "message"),
    [
        ({"mirror": "https:/me:secret@host"}, "all", "mirror: 'https://***@host' is neither a URL nor a folder"),
        ({}, "leak", "No rule to produce leak"),  # without the key `leak`
    ],
)
def test_a_wrong_configuration_stops_in_one_line_before_any_job(project, changes, target, message):
    project.write(SMALL | changes)
    done = project.run(target, "-n", fails=True)
    printed = done.stdout + done.stderr  # a dry run prints its errors on standard output
    assert done.returncode == 1
    assert sum(message in line for line in printed.splitlines()) == 1
    assert not any(word in printed for word in ("secret", "Job stats"))
    assert "Traceback" not in printed or not changes  # a target without its key is found when the jobs are planned
    assert not any(path.is_file() for path in (project.folder / "results").rglob("*"))
