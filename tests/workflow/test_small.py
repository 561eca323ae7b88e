"""A run of the small experiment by Snakemake: determinism, reruns, faults."""

import pandas as pd
import pytest
from project import SMALL, Project

pytestmark = pytest.mark.ci
RESULTS = "results/small"


def read(project, name="metrics.csv"):
    return (project.folder / RESULTS / name).read_bytes()


def test_figures_and_tables_for_a_paper_and_snakemake_s_own_report(ran):
    figures, tables = (ran.folder / RESULTS / name for name in ("figures", "tables"))
    assert {path.suffix for path in figures.glob("[!.]*")} == {".svg", ".pdf", ".png", ".csv", ".tex"}
    place = "gist-class-label-standard"
    lines = {f"{kind}-{place}" for kind in ("scores-mAP", "scores-precision-r2", "pr-curves", "conventions")}
    assert lines <= {path.stem for path in figures.glob("*.svg")}
    assert {path.name for path in tables.glob("*.tex")} == {"mAP-gist-standard.tex", "precision-r2-gist-standard.tex"}
    assert "ITQ & " in (tables / "mAP-gist-standard.tex").read_text()
    done = ran.run("report", "paper", "--report", "provenance.html")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (ran.folder / "provenance.html").read_text()
    assert "scores-mAP-gist-class-label-standard.svg" in text
    assert "The report of the experiment" in text  # of the caption


def test_it_makes_the_same_bytes_as_the_stages_in_one_process(small, tiny):
    displayed = sorted((small.folder / RESULTS).glob("gist/display/*/*.csv"))
    assert len(displayed) == 12
    tables = [str(path.relative_to(small.folder)) for path in displayed]
    for table in (f"{RESULTS}/metrics.csv", f"{RESULTS}/summary.csv", *tables):
        assert (tiny.folder / table).read_bytes() == (small.folder / table).read_bytes(), table


def test_editing_a_hasher_reruns_only_its_jobs_and_a_second_run_nothing(ran):
    assert ran.jobs() == {}  # in another folder
    cells = ran.folder / RESULTS / "gist"
    stamps = {path: path.stat().st_mtime_ns for path in cells.rglob("*.h5")}
    with open(ran.folder / "protocol" / "hashers" / "itq.py", "a") as file:
        file.write("# an edit\n")
    again = {"model": 2, "count": 2, "score": 1, "metrics": 1, "claims": 1, "display": 2, "report": 1, "all": 1}
    assert ran.jobs() == again
    assert ran.run().returncode == 0
    rerun = {path for path, stamp in stamps.items() if path.stat().st_mtime_ns != stamp}
    assert rerun == {path for path in stamps if "itq" in path.parts}
    assert len(rerun) == 6  # models, codes and counts of two runs


def test_editing_a_metric_recounts_nothing(ran):
    with open(ran.folder / "protocol" / "metrics" / "ramap.py", "a") as file:
        file.write("# an edit\n")
    assert ran.jobs("metrics") == {"score": 2, "metrics": 1}


def test_another_seed_reruns_only_random_stages(small, ran):
    ran.write(SMALL | {"seed": 1})
    assert set(ran.jobs("models")) == {"draw", "preprocessing", "model", "models"}
    assert ran.run("metrics").returncode == 0
    assert read(ran) != read(small)


def test_another_code_length_trains_only_that_length(ran, tmp_path_factory, root):
    fresh = Project(tmp_path_factory.mktemp("fresh"), root)
    lengths = SMALL | {"n_bits": [8, 12, 16, 32]}
    for made in (ran, fresh):
        made.write(lengths)
    assert ran.jobs("metrics") == {"model": 4, "count": 4, "score": 2, "metrics": 1}
    for made in (ran, fresh):
        done = made.run("metrics")
        assert done.returncode == 0, done.stderr
    for made, kept, trained in ((ran, "8, 16", "12, 32"), (fresh, None, "8, 12, 16, 32")):
        logs = sorted((made.folder / RESULTS).glob("logs/gist/thesis/run*/*/model.log"))
        assert len(logs) == 4
        for log in logs:
            lines = log.read_text().splitlines()
            assert [line.partition("run: ")[2] for line in lines if "reused from an earlier run" in line] == (
                [kept] if kept else []
            )
            assert ", ".join(line.split()[-2] for line in lines if " training at " in line) == trained
    files = sorted(path.relative_to(fresh.folder) for path in (fresh.folder / RESULTS / "gist").rglob("*.h5"))
    assert len(files) == 2 * (2 + 2 * 3)  # of each run: preprocessing, ground truth; models, codes, counts by hasher
    for path in (*files, f"{RESULTS}/metrics.csv", f"{RESULTS}/summary.csv"):
        assert (ran.folder / path).read_bytes() == (fresh.folder / path).read_bytes(), path


def test_another_split_of_a_draw_trains_nothing(small, project):
    project.write(SMALL | {"splits": ["standard"], "runs": 1})
    done = project.run("metrics")
    assert done.returncode == 0, done.stderr
    project.write(SMALL | {"runs": 1})
    assert project.jobs("metrics") == {"split": 1, "ground_truth": 1, "count": 2, "score": 2, "metrics": 1}
    done = project.run("metrics")
    assert done.returncode == 0, done.stderr
    ours = set(read(project).decode().splitlines())
    assert len(ours) == 1 + 2 * 2 * 2 * 3 * 2 * len(SMALL["metrics"])
    assert ours <= set(read(small).decode().splitlines())


def test_experiments_on_one_dataset_share_its_data_and_features(small):
    small.write(SMALL | {"experiment": "other"}, "other.yaml")
    jobs = small.jobs(config="other.yaml")
    assert {rule: jobs.get(rule, 0) for rule in ("dataset", "feature", "draw", "model")} == {
        "dataset": 0,
        "feature": 0,
        "draw": 2,
        "model": 4,
    }


def test_the_audit_finds_a_fit_on_other_rows(project):
    script = project.folder / "workflow" / "scripts" / "preprocessing.py"
    leaking = script.read_text().replace("items.raw(train)[:]", "items.X[:]")
    assert leaking != script.read_text()
    script.write_text(leaking)
    project.write(SMALL | {"runs": 1, "splits": ["improved"]})
    assert project.run("audit").returncode == 0
    findings = pd.read_csv(project.folder / RESULTS / "audit.csv")
    assert "preprocessing-leak" in set(findings["finding"])
    assert set(findings["severity"]) == {"error"}


def test_a_misspelt_hasher_stops_before_any_job(project):
    project.write(SMALL | {"hashers": ["itqq"]})
    done = project.run("-n")
    assert done.returncode != 0
    assert "got 'itqq'. Did you mean 'itq'?" in done.stdout
    assert "Job stats" not in done.stdout


def test_a_run_does_not_depend_on_the_number_of_runs(small):
    """A third run does not change the existing splits, since their seeds stay the same."""
    small.write(SMALL | {"runs": 3}, "three.yaml")
    assert small.jobs("splits", config="three.yaml") == {"draw": 1, "split": 2, "splits": 1}


def test_the_source_of_files_reruns_nothing(small, tmp_path):
    assert small.jobs("--config", f"mirror={tmp_path}", "offline=true") == {}


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
