"""Runs of the small experiment by Snakemake: determinism, what is run again, and errors before any job."""

import itertools
import json
import re
from pathlib import Path

import pytest
from project import METHODS, SMALL, Results, export

from protocol.checks import ProtocolError
from protocol.papers import FIELDS
from protocol.provenance.checksums import verified, verify_sealed

pytestmark = pytest.mark.ci
RESULTS = "results/small"


def read(project, name="metrics.csv"):
    return (project.folder / RESULTS / name).read_bytes()


def edit(project, file):
    with open(project.folder / "protocol" / file, "a") as source:
        source.write("edited = 1\n")


def test_it_makes_the_same_bytes_as_the_stages_in_one_process(small, tiny):
    shown = sorted((small.folder / RESULTS).glob("gist/examples/*/*.csv"))
    assert len(shown) == 12
    tables = [str(path.relative_to(small.folder)) for path in shown]
    for table in (f"{RESULTS}/metrics.csv", f"{RESULTS}/summary.csv", f"{RESULTS}/audit.csv", *tables):
        assert (tiny.folder / table).read_bytes() == (small.folder / table).read_bytes(), table


def test_the_claims_are_checked_against_the_experiment(small):
    """A copy of the project has no stored results."""
    entries = {entry["id"]: entry for entry in json.loads(read(small, "claims.json"))}
    assert all(list(entry) == list(FIELDS) for entry in entries.values())
    assert entries["X-06"]["status"] == "replicated on a substitute"
    # hashers, lengths, splits, ground truths; two pairs of mAP, two of others at a radius twice, two of RAMAP
    assert f"pairs of rows: {2 * 2 * 2 * 2 * 8}" in entries["X-06"]["ours"]
    assert entries["S0-08"]["status"] == "not run"  # these are no rows of CIFAR-10


def test_snakemake_s_own_report_has_the_figures(ran):
    done = ran.run("report", "paper", "--report", "provenance.html")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (ran.folder / "provenance.html").read_text()
    assert "scores-mAP-gist-class-label-standard.svg" in text
    assert "The report of the experiment" in text  # of the caption


def test_what_is_run_again(ran, tmp_path):
    """Only what depends on a change, in another folder; the source of files is not one, and neither is another run."""
    assert ran.jobs() == {}
    assert ran.jobs("--config", f"mirror={tmp_path}", "offline=true") == {}
    ran.write(SMALL | {"runs": 3}, "three.yaml")
    assert ran.jobs("splits", config="three.yaml") == {"sample": 1, "split": 2, "splits": 1}
    ran.write(SMALL | {"experiment": "other"}, "other.yaml")
    jobs = ran.jobs(config="other.yaml")
    assert {rule: jobs.get(rule, 0) for rule in ("dataset", "feature", "sample", "model")} == {
        "dataset": 0,
        "feature": 0,
        "sample": 2,
        "model": 4,
    }
    export(ran)
    ran.write(SMALL | {"codes": METHODS}, "codes.yaml")
    again = {"finished_codes": 4, "count": 2, "score": 2, "metrics": 1, "claims": 1, "examples": 2, "report": 1}
    assert ran.jobs("report", config="codes.yaml") == again
    edit(ran, "papers/claims.py")
    assert ran.jobs("claims") == {"claims": 1}
    edit(ran, "metrics/ramap.py")
    assert ran.jobs("metrics") == {"score": 2, "metrics": 1}


def test_another_seed_reruns_only_random_stages(small, ran):
    ran.write(SMALL | {"seed": 1})
    assert set(ran.jobs("models")) == {"sample", "preprocessing", "model", "models"}
    assert ran.run("metrics").returncode == 0
    assert read(ran) != read(small)


def test_another_code_length_trains_only_that_length(ran, tmp_path):
    lengths = SMALL | {"n_bits": [8, 12, 16, 32]}
    ran.write(lengths)
    assert ran.jobs("metrics") == {"model": 4, "count": 2, "score": 2, "metrics": 1}
    done = ran.run("metrics")
    assert done.returncode == 0, done.stderr
    logs = sorted((ran.folder / RESULTS).glob("logs/gist/thesis/run*/*/model.log"))
    assert len(logs) == 4
    for log in logs:
        lines = log.read_text().splitlines()
        assert [line.partition("run: ")[2] for line in lines if "reused from an earlier run" in line] == ["8, 16"]
        assert ", ".join(line.split()[-2] for line in lines if " training at " in line) == "12, 32"
    (tmp_path / "fresh").mkdir()
    fresh = Results(tmp_path / "fresh").stages(lengths, "metrics")
    files = sorted(path.relative_to(fresh.folder) for path in (fresh.folder / RESULTS / "gist").rglob("*.h5"))
    assert len(files) == 2 * (2 + 2 * 2) + 2  # of each run: preprocessing, ground truth, models and codes; counts
    for path in (*files, f"{RESULTS}/metrics.csv", f"{RESULTS}/summary.csv"):
        assert (ran.folder / path).read_bytes() == (fresh.folder / path).read_bytes(), path


# A file of each rule, except the report, which contains times.
CODES = f"{RESULTS}/gist/thesis/run0/itq/codes.h5"
NAMES = [
    *("samples/thesis/run1.h5", "splits/standard/run0/splits.h5", "gist/thesis/run1/ground_truth.h5"),
    *("gist/counts/lsh.h5", "gist/scores/itq.csv", "gist/examples/standard/radii.csv"),
    *("runs.csv", "claims.json"),
]
WRITTEN = ["results/datasets/digits/content.h5", CODES, *(f"{RESULTS}/{name}" for name in NAMES)]


def test_the_command_of_the_message_writes_every_deleted_file_again(small, ran, monkeypatch):
    monkeypatch.chdir(ran.folder)
    commands = []
    for name in WRITTEN:
        Path(name).unlink()
        with pytest.raises(ProtocolError) as error:
            verify_sealed(name) if name.endswith(".h5") else verified(name)
        commands.append(re.search("snakemake (--force) (.*), with the --configfile", str(error.value)).groups())
    done = ran.run(*dict.fromkeys(itertools.chain(*commands)))
    assert done.returncode == 0, done.stdout + done.stderr
    for name in WRITTEN:
        assert Path(name).read_bytes() == (small.folder / name).read_bytes(), name


def test_a_job_that_fails_prints_one_line_and_writes_nothing(ran):
    """And so it does where a file of an earlier job was cut short."""
    codes = ran.folder / CODES
    codes.write_bytes(codes.read_bytes()[: codes.stat().st_size // 2])
    (ran.folder / RESULTS / "metrics.csv").unlink()
    done = ran.run("metrics")
    assert done.returncode != 0
    assert f"error: {CODES}: changed since it was written" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not (ran.folder / RESULTS / "metrics.csv").exists()


@pytest.mark.parametrize(
    ("changes", "target", "message"),
    [
        ({"hashers": ["itqq"]}, "all", "Unknown hasher 'itqq'. Did you mean 'itq'?"),
        (
            {"mirror": "https:/me:secret@host"},
            "all",
            "mirror: 'https://***@host' is neither a URL nor a folder (looked in ",
        ),
        ({}, "leak", "No rule to produce leak"),  # without the key `leak`
        ({}, "selections", "No rule to produce selections"),  # without the key `hasher_grids`
    ],
)
def test_a_wrong_configuration_stops_in_one_line_before_any_job(project, changes, target, message):
    project.write(SMALL | changes)
    done = project.run(target, "-n")
    printed = done.stdout + done.stderr  # a dry run prints its errors on standard output
    assert done.returncode == 1
    assert sum(message in line for line in printed.splitlines()) == 1
    assert not any(word in printed for word in ("secret", "Job stats"))
    assert "Traceback" not in printed or not changes  # a target without its key is found when the jobs are planned
    assert not any(path.is_file() for path in (project.folder / "results").rglob("*"))


def test_a_wrong_mirror_stops_with_both_checksums_and_no_file(project, tmp_path):
    (tmp_path / "mirror" / "cifar10").mkdir(parents=True)
    (tmp_path / "mirror" / "cifar10" / "cifar-10-binary.tar.gz").write_bytes(b"not it")
    other = {"dataset": "cifar10", "ground_truths": ["class_label"]}
    project.write(SMALL | other | {"mirror": str(tmp_path / "mirror"), "offline": True})
    done = project.run("features")
    assert done.returncode != 0
    expected = "sha256 c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
    assert f"expected 170,052,171 bytes and {expected}, got sha256 " in done.stderr
    assert "Traceback" not in done.stderr
    left = [path.name for path in (project.folder / "results" / "downloads").rglob("*") if path.is_file()]
    assert left == ["cifar-10-binary.tar.gz.log"]
