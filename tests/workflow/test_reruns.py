"""What Snakemake runs again after a change, and results that are refused because their origin is not known."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from encoded import yaml_of
from project import ELSEWHERE, RESULTS, SMALL, Results, planned

from protocol.configuration import records

pytestmark = pytest.mark.ci
CASES = yaml_of("workflow/reruns.yaml")
SCORED = CASES["scored"]


def append(path: Path, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)


@pytest.fixture(scope="module")
def results(tiny, tmp_path_factory) -> Results:
    """A copy of `tiny` in which jobs are planned."""
    return tiny.copy_to(Results(tmp_path_factory.mktemp("planned")))


@pytest.mark.parametrize(("changes", "target", "jobs"), CASES["changed"])
def test_a_changed_configuration_repeats_only_what_depends_on_it(results, changes, target, jobs):
    assert results.planned(SMALL | changes, target) == jobs


def test_another_split_of_the_same_draw_trains_nothing(elsewhere):
    both = ELSEWHERE | {"splits": ["improved", "standard"]}
    assert elsewhere.planned(both, "metrics") == {"split": 1, "ground_truth": 1, "count": 2} | SCORED


def test_what_is_run_again_after_an_edit(ran):
    (ran.folder / "profiles").symlink_to("workflow/profiles")  # the default profile sets what triggers a rerun
    package = ran.folder / "protocol"
    for script in (ran.folder / "workflow" / "scripts").glob("*.py"):
        script.touch()
    append(package / "provenance" / "storage.py", "# a comment\n")
    append(package / "metrics" / "ndcg.py", "edited = 1\n")  # only the report has its record
    assert ran.jobs("report") == {"claims": 1, "report": 1}  # a copy of the project has no tables for the claims
    append(package / "metrics" / "hamming_balls.py", "edited = 1\n")
    assert ran.jobs("metrics") == SCORED
    append(package / "hashers" / "itq.py", "edited = 1\n")
    assert ran.jobs("counts") == {"model": 2, "count": 1, "counts": 1}
    splits = package / "splits" / "records.toml"
    splits.write_text(splits.read_text().replace("may_overlap = {}", 'may_overlap = {database = ["train"]}', 1))
    assert ran.jobs("ground_truths") == {"split": 2, "ground_truth": 2, "ground_truths": 1}


def test_another_code_length_trains_only_that_length(results, tmp_path, caplog):
    lengths = SMALL | {"n_bits": [8, 12, 16, 32]}
    caplog.set_level("INFO")
    with_more = results.copy_to(Results(tmp_path / "more")).stages(lengths, "metrics")
    lines = [record.getMessage() for record in caplog.records]
    reused = [line.partition("run: ")[2] for line in lines if "reused from an earlier run" in line]
    assert reused.count("8, 16") == 4
    assert [line.split()[-2] for line in lines if "training at " in line] == ["12", "32"] * 4
    fresh = Results(tmp_path / "fresh").stages(lengths, "metrics")
    files = sorted(path.relative_to(fresh.folder) for path in (fresh.folder / RESULTS / "gist").rglob("*.h5"))
    assert len(files) == 2 * (2 + 2 * 2) + 2  # of each run: preprocessing, ground truth, models and codes; counts
    for path in (*files, f"{RESULTS}/metrics.csv", f"{RESULTS}/summary.csv"):
        assert (with_more.folder / path).read_bytes() == (fresh.folder / path).read_bytes(), path


def test_an_older_copy_of_a_file_of_the_user_is_noticed(tmp_path):
    own, made = tmp_path / "own", Results(tmp_path)
    own.mkdir()
    rng = np.random.default_rng(0)
    for name in ("first", "second"):
        np.save(own / f"{name}.npy", rng.normal(size=(800, 16)))
    np.save(own / "labels.npy", np.arange(800) % 5)
    shutil.copy2(own / "first.npy", own / "features.npy")
    options = {"features": "own/features.npy", "labels": "own/labels.npy"}
    config = {name: value for name, value in SMALL.items() if name != "reproduction"}
    config |= {"dataset": "arrays", "dataset_options": options, "features": {"vectors": {}}}
    assert made.stages(config, "dataset").planned(config, "dataset") == {}
    for path in own.iterdir():
        os.utime(path)  # their bytes are the same
    shutil.move(shutil.copy(own / "features.npy", own / "copy.npy"), own / "features.npy")
    assert made.planned(config, "dataset") == {}
    os.utime(own / "second.npy", (1, 1))
    shutil.copy2(own / "second.npy", own / "features.npy")  # as `rsync -t` does
    assert made.planned(config, "dataset") == {"dataset": 1}


def refused(done) -> list[str]:
    """Return the lines about files that Snakemake's output contains."""
    assert done.returncode == 1, done.stdout + done.stderr
    printed = (done.stdout + done.stderr).splitlines()
    assert not any(line.startswith(("Job stats", "Traceback")) for line in printed)
    return [line for line in printed if line.startswith(("results/", "... and"))]


def refusal(results: Results, config: dict, *targets: str) -> list[str]:
    """Return the lines with which the pipeline would refuse existing results."""
    with planned(results.folder, config, *targets) as workflow:
        return records.refusal(workflow, "small")


def test_results_without_a_record_are_refused_until_they_are_accepted(ran):
    copied = shutil.copytree(ran.folder / ".snakemake", ran.folder / "copied")
    shutil.rmtree(ran.folder / ".snakemake")
    for config, target in ((SMALL, "paper"), (SMALL | {"seed": 1}, "all")):
        *files, more, _ = refusal(ran, config, target)
        assert len(files) == 10
        assert all(file.endswith(": Snakemake has no record of how it was made.") for file in files)
        assert int(more.split()[2]) > 10
    assert len(refused(ran.run("all", fails=True))) == 11  # although there is nothing to be done
    table = ran.folder / RESULTS / "metrics.csv"
    content = table.read_bytes()
    table.unlink()
    assert len(refused(ran.run("all", fails=True))) == 11
    assert not table.exists()
    table.write_bytes(content)
    shutil.copytree(copied, ran.folder / ".snakemake", dirs_exist_ok=True)
    assert refusal(ran, SMALL, "all", "paper") == []


def test_what_reads_results_compares_their_seeds_options_and_code(ran):
    ran.write(SMALL | {"seed": 1}, "seed1.yaml")
    accept = ("all", "paper", "--touch", "--forceall")
    shutil.rmtree(ran.folder / ".snakemake")
    ran.run(*accept, config="seed1.yaml")
    assert ran.jobs("metrics", config="seed1.yaml") == {}  # as the user said
    page = ran.folder / RESULTS / "report.html"
    content = page.read_bytes()
    files = refused(ran.run("report", "--forcerun", "report", config="seed1.yaml", fails=True))
    assert "results/small/metrics.csv: made with other seeds than those of the experiment." in files
    assert page.read_bytes() == content
    append(ran.folder / "protocol" / "hashers" / "itq.py", "edited = 1\n")
    ran.write(SMALL | {"metrics": ["mAP"]})
    ran.run(*accept)
    files = refused(ran.run("claims", "--forcerun", "claims", "-n", fails=True))
    assert files == ["results/small/summary.csv: made with other options and code than those of the experiment."]
