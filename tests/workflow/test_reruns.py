"""What Snakemake runs again after a change, and results that are refused because their origin is not known."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from project import ROOT, SMALL

pytestmark = pytest.mark.ci
AFTER_ITQ = {"model": 2, "count": 1, "score": 1, "metrics": 1, "claims": 1, "examples": 2, "report": 1, "all": 1}


def append(path: Path, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)


def test_only_changes_run_again(ran):
    (ran.folder / "profiles").symlink_to("workflow/profiles")  # the default profile sets what triggers a rerun
    package = ran.folder / "protocol"
    for script in (ran.folder / "workflow" / "scripts").glob("*.py"):
        script.touch()
    append(package / "provenance" / "storage.py", "# a comment\n")
    assert ran.jobs() == {}
    append(package / "report" / "drawing.py", "edited = 1\n")
    assert ran.jobs("report") == {"report": 1}
    assert ran.jobs("metrics") == {}
    ran.write(SMALL | {"seed": 1})
    assert ran.jobs("splits") == {"sample": 2, "split": 4, "splits": 1}
    ran.write(SMALL)
    assert ran.jobs("metrics") == {}
    itq = (package / "hashers" / "itq.py").read_text()
    append(package / "hashers" / "itq.py", "edited = 1\n")
    assert ran.jobs() == AFTER_ITQ
    (package / "hashers" / "itq.py").write_text(itq)
    assert ran.jobs("metrics") == {}
    append(package / "metrics" / "ndcg.py", "edited = 1\n")  # `examples` does not compute it
    assert ran.jobs("report") == {"report": 1}


def test_another_database_of_a_split_trains_nothing(ran):
    split = ran.folder / "protocol" / "splits" / "improved.py"
    text = split.read_text()
    split.write_text(text.replace("may_overlap={}", 'may_overlap={"database": ("train",)}'))
    assert ran.jobs("metrics") == {"split": 2, "ground_truth": 2, "count": 2, "score": 2, "metrics": 1}
    split.write_text(text.replace("may_overlap={}", 'may_overlap={"query": ("train",)}'))
    done = ran.run("splits", "-n")
    assert done.returncode == 1
    assert "Splits 'improved' and 'standard' share the sampled split 'thesis', but declare different partitions" in (
        done.stdout + done.stderr
    )


def test_other_extensions_recount_nothing(ran):
    ran.write(SMALL | {"extension_bits": [1, 3]})
    assert ran.jobs("metrics") == {"score": 2, "metrics": 1}


def test_an_older_copy_of_a_file_of_the_user_is_noticed(project):
    own = project.folder / "own"
    own.mkdir()
    rng = np.random.default_rng(0)
    for name in ("first", "second"):
        np.save(own / f"{name}.npy", rng.normal(size=(800, 16)))
    np.save(own / "labels.npy", np.arange(800) % 5)
    shutil.copy2(own / "first.npy", own / "features.npy")
    options = {"features": "own/features.npy", "labels": "own/labels.npy"}
    project.write(
        {name: value for name, value in SMALL.items() if name != "reproduction"}
        | {"dataset": "arrays", "dataset_options": options, "features": {"precomputed": {}}}
    )
    assert project.run("dataset").returncode == 0
    assert project.jobs("dataset") == {}
    for path in own.iterdir():
        os.utime(path)  # their bytes are the same
    shutil.move(shutil.copy(own / "features.npy", own / "copy.npy"), own / "features.npy")
    assert project.jobs("dataset") == {}
    os.utime(own / "second.npy", (1, 1))
    shutil.copy2(own / "second.npy", own / "features.npy")  # as `rsync -t` does
    assert project.jobs("dataset") == {"dataset": 1}


def refused(done) -> list[str]:
    """Return the lines about files that Snakemake's output contains."""
    assert done.returncode == 1, done.stdout + done.stderr
    printed = (done.stdout + done.stderr).splitlines()
    assert not any(line.startswith(("Job stats", "Traceback")) for line in printed)
    return [line for line in printed if line.startswith(("results/", "... and"))]


def test_results_without_a_record_are_refused_until_they_are_accepted(ran):
    ran.write(SMALL | {"seed": 1}, "seed1.yaml")
    assert ran.jobs("all", "paper") == {}
    copied = shutil.copytree(ran.folder / ".snakemake", ran.folder / "copied")
    shutil.rmtree(ran.folder / ".snakemake")
    for arguments, config in ((("paper",), "small.yaml"), (("all", "-n"), "seed1.yaml"), (("all",), "small.yaml")):
        *files, more = refused(ran.run(*arguments, config=config))
        assert len(files) == 10
        assert all(file.endswith(": Snakemake has no record of how it was made.") for file in files)
        assert int(more.split()[2]) > 10
    assert ran.jobs("dataset", "--forceall") == {"dataset": 1}
    table = ran.folder / "results" / "small" / "metrics.csv"
    content = table.read_bytes()
    table.unlink()
    assert len(refused(ran.run("all"))) == 11
    assert not table.exists()
    table.write_bytes(content)
    shutil.copytree(copied, ran.folder / ".snakemake", dirs_exist_ok=True)
    assert not {"metrics", "score"} & ran.jobs("all", "paper").keys()


def test_what_reads_results_compares_their_seeds_options_and_code(ran):
    ran.write(SMALL | {"seed": 1}, "seed1.yaml")
    accept = ("all", "paper", "--touch", "--forceall")
    forced = ("report", "--forcerun", "report")
    shutil.rmtree(ran.folder / ".snakemake")
    assert ran.run(*accept, config="seed1.yaml").returncode == 0
    assert ran.jobs("all", config="seed1.yaml") == {}  # as the user said
    page = ran.folder / "results" / "small" / "report.html"
    content = page.read_bytes()
    files = refused(ran.run(*forced, config="seed1.yaml"))
    assert "results/small/metrics.csv: made with other seeds than those of the experiment." in files
    assert page.read_bytes() == content
    append(ran.folder / "protocol" / "hashers" / "itq.py", "edited = 1\n")
    ran.write(SMALL | {"metrics": ["mAP"]})
    assert ran.run(*accept).returncode == 0
    files = refused(ran.run("claims", "--forcerun", "claims", "-n"))
    assert files == ["results/small/summary.csv: made with other options and code than those of the experiment."]
    ran.write(SMALL)
    shutil.copy(ROOT / "protocol" / "hashers" / "itq.py", ran.folder / "protocol" / "hashers" / "itq.py")
    assert ran.run(*accept).returncode == 0
    assert ran.jobs(*forced) == {"report": 1}


def test_one_file_is_accepted_by_its_name(project):
    config = SMALL | {"splits": ["improved"], "runs": 1}
    project.write(config)
    assert project.stages(config, "splits").jobs("splits") == {}
    shutil.rmtree(project.folder / ".snakemake")
    assert len(refused(project.run("splits", "-n"))) == 4
    items = "results/datasets/digits/items.h5"
    assert project.run(items, "--touch", "--force").returncode == 0
    assert project.jobs("dataset") == {}
    assert project.jobs("splits") == {"sample": 1, "split": 1, "splits": 1}  # which are older than the accepted file


def test_results_in_a_store_without_a_record_are_refused(project):
    plugin = project.folder / "snakemake_storage_plugin_folder"  # found in the working directory
    plugin.mkdir()
    shutil.copy(Path(__file__).with_name("storage_plugin.py"), plugin / "__init__.py")
    project.write(SMALL | {"splits": ["improved"], "runs": 1})
    prefix = f"folder://{project.folder}/store"
    options = ("splits", "--default-storage-provider", "folder", "--default-storage-prefix", prefix)
    done = project.run(*options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list((project.folder / "results").rglob("*.h5"))
    assert project.jobs(*options) == {}
    shutil.rmtree(project.folder / ".snakemake")
    done = project.run(*options, "-n")
    assert refused(done) == []  # the files are named as in the store
    line = f"{prefix}/results/small/splits/improved/run0/splits.h5: Snakemake has no record of how it was made."
    assert line in (done.stdout + done.stderr).splitlines()
