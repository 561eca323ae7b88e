"""A run of the small experiment: determinism, reruns, single stages, faults."""

import numpy as np
import pandas as pd
import pytest
from browser import DRAWN, opened
from project import SMALL, Project

from protocol import codes, registry
from protocol.provenance import storage
from protocol.truth import Items

pytestmark = pytest.mark.workflow
COLUMNS = "dataset,feature,ground_truth,split,run,hasher,n_bits,extension,extension_bits,metric,value"
RESULTS = "results/small"
TRUTHS = {"dataset", "feature", "draw", "split", "preprocessing", "ground_truth"}


def read(project, name="metrics.csv"):
    return (project.folder / RESULTS / name).read_bytes()


def test_it_writes_all_files(small):
    header, *rows = read(small).decode().splitlines()
    assert header == COLUMNS
    cells = 2 * 2 * 2 * 2 * 3 * 2  # splits, runs, hashers, lengths, extensions, ground truths
    assert len(rows) == cells * len(SMALL["metrics"])
    summary = pd.read_csv(small.folder / RESULTS / "summary.csv")
    assert list(summary) == [
        *(set(COLUMNS.split(",")) & {"dataset"}),
        *COLUMNS.replace("run,", "").split(",")[1:-1],
        *("mean", "std", "n_runs"),
        *("relevance", "n_queries", "n_database", "options", "supervision"),
        *("empty", "ties", "ranking", "convention", "version"),
    ]
    assert (summary["n_runs"] == 2).all()


def test_the_items_of_every_run_are_those_of_its_split(small):
    runs, summary = (pd.read_csv(small.folder / RESULTS / name) for name in ("runs.csv", "summary.csv"))
    assert len(runs) == 2 * 2 * 2  # splits, runs, ground truths
    assert runs["items"].nunique() == len(runs)
    sizes = summary.set_index(["ground_truth", "split"])[["relevance", "n_queries", "n_database"]].drop_duplicates()
    for row in runs.itertuples():
        split = storage.read(small.folder / RESULTS / "splits" / row.split / f"run{row.run}" / "splits.h5")
        expected = [row.relevance, len(split["query"]), len(split["database"])]
        assert [row.relevance, row.n_queries, row.n_database] == expected
        assert sizes.loc[row.ground_truth, row.split].tolist() == expected
    assert dict(zip(runs["ground_truth"], runs["relevance"], strict=True)) == {
        "class_label": "class labels",
        "epsilon_ball": "neighbours",
    }


def test_summary_is_mean_and_sample_standard_deviation(small):
    metrics, summary = (pd.read_csv(small.folder / RESULTS / name) for name in ("metrics.csv", "summary.csv"))
    row = summary.iloc[17]
    keys = ["feature", "ground_truth", "split", "hasher", "n_bits", "extension", "extension_bits", "metric"]
    a, b = metrics[(metrics[keys] == row[keys]).all(axis=1)]["value"]
    assert row["mean"] == pytest.approx((a + b) / 2, abs=1e-9)
    assert row["std"] == pytest.approx(abs(a - b) / 2**0.5, abs=1e-9)


def test_identities_of_the_extension_codes_hold_on_the_run(small):
    table = pd.read_csv(small.folder / RESULTS / "metrics.csv").drop(columns=["dataset", "extension_bits"])
    wide = table.pivot_table(
        index=[c for c in table if c not in ("extension", "value")], columns="extension", values="value"
    )
    wide = wide.reset_index()
    mean_ap = wide[wide["metric"].str.startswith("mAP")]
    assert len(mean_ap) == 64
    assert (mean_ap["none"] - mean_ap["same"]).abs().max() < 1e-9
    assert (mean_ap["none"] - mean_ap["different"]).abs().max() < 1e-9
    at_radius = wide[wide["metric"].str.contains("^(?:precision|recall)@")]
    assert (at_radius["none"] - at_radius["same"]).abs().max() < 1e-9
    assert (at_radius["none"] - at_radius["different"]).abs().max() > 1e-3
    aware = wide[wide["metric"] == "RAMAP@r2"]
    assert (aware["none"] >= aware["same"]).all()
    assert (aware["same"] >= aware["different"]).all()
    assert (aware["none"] > aware["same"]).any()


def test_every_file_has_a_provenance_record_with_its_inputs_seed_and_versions(small):
    cell = small.folder / RESULTS / "gist" / "thesis" / "run1"
    features = storage.read_provenance(small.data / "gist" / "features.h5")
    draw = storage.read_provenance(small.folder / RESULTS / "draws" / "thesis" / "run1.h5")
    splits = storage.read_provenance(small.folder / RESULTS / "splits" / "standard" / "run1" / "splits.h5")
    codes, counts = (storage.read_provenance(cell / "itq" / name) for name in ("codes.h5", "counts.h5"))
    assert codes["maker"] == "hasher itq"
    assert codes["inputs"]["features"] == features["digest"]
    assert codes["inputs"]["draw"] == splits["inputs"]["draw"] == draw["digest"]
    assert counts["inputs"]["codes"] == codes["digest"]
    assert counts["inputs"]["standard"] == splits["digest"]
    assert splits["seed"] == draw["seed"] > 0
    made_of = [codes["fits"][n_bits]["made_of"] for n_bits in ("8", "16")]
    assert made_of[0]["seed"] != made_of[1]["seed"]
    assert made_of[0]["inputs"] == codes["inputs"]
    assert {"numpy", "scipy", "python", "hashing-protocol"} <= set(codes["versions"])


def test_the_report_opens_offline(small):
    page = read(small, "report.html").decode()
    body = page.partition("<script>")[0]
    retrieved = 2 * 5 * (1 + 12)  # by two hashers, for five queries: the query and what is nearest to it
    assert (
        body.count("<img") == body.count('<img src="data:image/png;base64,') == 1 + retrieved
    )  # and the contact sheet
    assert 'src="http' not in page
    assert "<link" not in page
    assert len(page) < 2.2e6
    for name in ("itq", "lsh", "class_label", "epsilon_ball", "train-in-database"):
        assert name in body


def test_without_grids_no_options_are_selected(small):
    assert 'id="options"' not in read(small, "report.html").decode().partition("<script>")[0]
    assert not (small.folder / RESULTS / "selection.csv").exists()


def test_the_report_is_drawn_by_a_browser(small, browser):
    with opened(browser, small.folder / RESULTS / "report.html", width=400) as (tab, wrong):
        drawn = tab.evaluate(DRAWN)
        assert {"by-length", "pr-curves", "bucket-sizes"} <= {name for name, marks in drawn.items() if marks > 2}
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        assert wrong == []


def test_figures_and_tables_for_a_paper_and_snakemake_s_own_report(small):
    figures, tables = (small.folder / RESULTS / name for name in ("figures", "tables"))
    assert {path.suffix for path in figures.glob("[!.]*")} == {".svg", ".pdf", ".png", ".csv", ".tex"}
    place = "gist-class-label-standard"
    lines = {f"{kind}-{place}" for kind in ("scores-mAP", "scores-precision-r2", "pr-curves", "conventions")}
    assert lines <= {path.stem for path in figures.glob("*.svg")}
    assert {path.name for path in tables.glob("*.tex")} == {"mAP-gist-standard.tex", "precision-r2-gist-standard.tex"}
    assert "ITQ & " in (tables / "mAP-gist-standard.tex").read_text()
    done = small.run("report", "paper", "--report", "provenance.html")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (small.folder / "provenance.html").read_text()
    assert "scores-mAP-gist-class-label-standard.svg" in text
    assert "The report of the experiment" in text  # of the caption


def test_one_core_leaves_the_same_bytes_as_two(small, project):
    displayed = sorted((small.folder / RESULTS).glob("gist/display/*/*.csv"))
    assert len(displayed) == 12
    tables = [str(path.relative_to(small.folder)) for path in displayed]
    done = project.run("metrics", *tables, cores=1)
    assert done.returncode == 0, done.stderr
    for table in (f"{RESULTS}/metrics.csv", f"{RESULTS}/summary.csv", *tables):
        assert (project.folder / table).read_bytes() == (small.folder / table).read_bytes(), table


def test_a_run_does_not_depend_on_other_combinations(small, project):
    project.write(
        SMALL | {"runs": 1, "hashers": ["itq"], "n_bits": [16], "splits": ["improved"], "extensions": ["none"]}
    )
    done = project.run("metrics")
    assert done.returncode == 0, done.stderr
    ours = set(read(project).decode().splitlines())
    assert len(ours) == 1 + 2 * len(SMALL["metrics"])
    assert ours <= set(read(small).decode().splitlines())


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


def test_everything_is_fitted_on_the_training_set_alone(small):
    """Recompute one combination from the features and the split, without the scripts of the pipeline."""
    cell = small.folder / RESULTS / "gist" / "thesis" / "run1"
    X = storage.read(small.data / "gist" / "features.h5")["X"]
    split = storage.read(small.folder / RESULTS / "splits" / "improved" / "run1" / "splits.h5")
    mean = X[split["train"]].mean(axis=0, dtype=np.float64)
    np.testing.assert_array_equal(storage.read(cell / "preprocessing.h5")["mean"], mean)
    centred = (X - mean).astype(np.float32)
    model = registry.get("hasher", "itq")(
        n_bits=16, seed=storage.read_provenance(cell / "itq" / "codes.h5")["fits"]["16"]["made_of"]["seed"]
    )
    model.fit(centred[split["train"]])
    packed = codes.of_split(storage.read(cell / "itq" / "codes.h5"), split["database"])[16]
    kept = registry.get("hasher", "itq").from_arrays(storage.grouped(storage.read(cell / "itq" / "models.h5"))["16"])
    np.testing.assert_array_equal(kept.projection_, model.projection_)
    for part in ("query", "database"):
        different = codes.unpack(packed[part], 16) != kept.transform(centred[split[part]])
        assert different.mean() < 1e-4  # a bit on the border may fall otherwise in a product of another shape
    truth = storage.read(cell / "ground_truth.h5")
    items = {name: Items(centred[split[name]], None) for name in ("query", "database", "train")}
    seed = storage.read_provenance(cell / "ground_truth.h5")["seed"]
    ball = registry.get("ground_truth", "epsilon_ball")(**items, seed=seed)
    np.testing.assert_allclose(truth["improved/epsilon_ball/radius"], ball["radius"], rtol=1e-6)


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


@pytest.mark.parametrize(
    ("target", "rules"),
    [
        ("features", {"dataset", "feature"}),
        ("splits", {"dataset", "draw", "split"}),
        ("ground_truths", TRUTHS),
        ("models", {"dataset", "feature", "draw", "preprocessing", "model"}),
        ("counts", TRUTHS | {"model", "count"}),
        ("metrics", TRUTHS | {"model", "count", "score"}),
        ("audit", TRUTHS),
        ("claims", TRUTHS | {"model", "count", "score", "metrics"}),
    ],
)
def test_every_stage_can_be_run_alone(project, target, rules):
    assert set(project.jobs(target)) == rules | {target}


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
