"""What Snakemake runs again after a change, with and without its own records."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from project import SMALL

pytestmark = pytest.mark.ci
AFTER_ITQ = {"model": 2, "count": 1, "score": 1, "metrics": 1, "claims": 1, "examples": 2, "report": 1, "all": 1}


def append(path: Path, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)


def test_only_changes_of_code_run_again_also_without_snakemake_s_records(ran):
    (ran.folder / "profiles").symlink_to("workflow/profiles")  # the default profile sets what triggers a rerun
    package = ran.folder / "protocol"
    for script in (ran.folder / "workflow" / "scripts").glob("*.py"):
        script.touch()
    append(package / "provenance" / "storage.py", "# a comment\n")
    assert ran.jobs() == {}
    append(package / "report" / "drawing.py", "edited = 1\n")
    assert ran.jobs("report") == {"report": 1}
    shutil.rmtree(ran.folder / ".snakemake")
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
    assert ran.jobs("report") == {"claims": 1, "report": 1}


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
    os.utime(own / "second.npy", (1, 1))
    shutil.copy2(own / "second.npy", own / "features.npy")  # as `rsync -t` does
    assert project.jobs("dataset") == {"dataset": 1}


def test_a_job_whose_code_was_not_edited_does_not_read_it(ran, monkeypatch):
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    done = ran.run("--force", "results/small/splits/standard/run0/splits.h5")
    assert done.returncode == 0, done.stderr
    of_plan, of_job = done.stderr.split("import time: self [us]")[1:3]
    assert "protocol.configuration" in of_plan
    assert "protocol.splits" in of_job
    assert "protocol.configuration" not in of_job


def test_a_job_is_refused_if_its_code_was_edited_after_the_plan(ran):
    itq = ran.folder / "protocol" / "hashers" / "itq.py"
    refused = "hasher itq: its code was edited after this run had begun. Run again."
    node = ("--mode", "remote", "--target-jobs", "model:feature=gist,sample=thesis,run=0,hasher=itq", "--force")
    assert ran.run(*node, "--allowed-rules", "model").returncode == 0
    append(itq, "edited = 1\n")
    done = ran.run(*node, "--allowed-rules", "model")
    assert (done.returncode, refused in done.stdout + done.stderr) == (1, True)
    append(itq, f"import sys\nif sys.argv[0].endswith('.model.py'):\n    open({str(itq)!r}, 'a').write('x = 1\\n')\n")
    done = ran.run("models")
    assert (done.returncode, refused in done.stdout + done.stderr) == (1, True)
