"""Stamps among the results, which are newer than the results of other code."""

import base64
import os
import runpy
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from project import ROOT, SMALL

from protocol import configuration
from protocol.checks import ProtocolError
from protocol.configuration.code import Stamps, recorded_folders


def planned(path, code, options="x", *, started=True, recorded=True):
    """Plan a job of some code in a new run of Snakemake, start it, and return the modification time of its stamp."""
    stamps = Stamps()
    for _ in range(2):  # the second is of another job with the same code
        stamps.update(path, code, options, recorded=recorded)
    if started:
        stamps.confirm()
    return path.stat().st_mtime_ns


def test_a_stamp_is_as_old_as_the_first_run_of_its_code(tmp_path):
    path = tmp_path / "code" / "model-itq"
    first = planned(path, "a")
    assert planned(path, "a") == first
    os.utime(path)  # as after a copy of the results
    assert planned(path, "a") == first
    edited = planned(path, "b")
    assert first < edited == planned(path, "b")
    assert edited < planned(path, "a")


def test_a_dry_run_of_edited_code_does_not_count_once_the_code_is_restored(tmp_path):
    path = tmp_path / "stamp"
    first = planned(path, "a")
    assert first < planned(path, "b", started=False) < planned(path, "b", started=False)
    assert planned(path, "a") == first


def test_other_options_count_without_snakemake_s_records(tmp_path):
    path = tmp_path / "stamp"
    first = planned(path, "a")
    assert planned(path, "a", "y") == first
    assert planned(path, "a", "y", recorded=False) == first
    assert first < planned(path, "a", recorded=False, started=False)
    assert planned(path, "a", "y", recorded=False) == first
    changed = planned(path, "a", recorded=False)
    assert first < changed == planned(path, "a", "y") == planned(path, "a", "y", recorded=False)


def test_records_of_another_experiment_do_not_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert recorded_folders() == set()
    folder = tmp_path / ".snakemake" / "metadata"
    for name in ("results/a/gist/scores/itq.csv", "results/datasets/b/items.h5", f"results/c/{'long' * 60}.csv"):
        encoded = base64.urlsafe_b64encode(name.encode()).decode()
        first, rest = encoded[:254], encoded[254:]
        (folder / f"@{first}" / rest if rest else folder / first).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"@{first}" / rest if rest else folder / first).touch()
    assert recorded_folders() == {"results/a", "results/datasets/b", "results/c"}


def test_a_damaged_stamp_is_of_no_code(tmp_path):
    path = tmp_path / "stamp"
    first = planned(path, "a")
    path.write_text("a")
    assert first < planned(path, "a")


def stamps(starts, **options):
    """Return the stamps of a job in a new process, and those among them that are confirmed."""
    code = configuration.Code(
        configuration.Plan(configuration.load(SMALL)),
        lambda script: str(ROOT / "workflow" / "scripts" / script),
        lambda: starts,
        **options,
    )
    code.declare("score.py", {"metric": "mAP"})
    paths = code.stamps("score.py", {})
    return [path.name for path in paths], [path.name for path in paths if path.read_text()[0] != "\n"]


def test_a_plan_that_starts_no_job_writes_stamps_only_next_to_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert stamps(False) == ([], [])
    assert list(tmp_path.iterdir()) == []
    both = ["script-score.py", "metric-mAP"]
    Path("results/small").mkdir(parents=True)
    assert stamps(False, calls_confirm=False) == (both, [])
    assert stamps(True) == (both, [])
    assert stamps(True, calls_confirm=False) == (both, both)


def test_a_job_whose_code_was_edited_after_the_plan_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stamps(True, calls_confirm=False)
    check = runpy.run_path(str(ROOT / "workflow" / "scripts" / "job.py"))["check_code"]
    job = SimpleNamespace(input=["own/code/file", *map(str, Path("results/small/code").iterdir())])
    monkeypatch.setenv("PROTOCOL_PLANNED", "0")  # every file is newer
    check(job)
    stamp = Path("results/small/code/metric-mAP")
    stamp.write_text(f"other{stamp.read_text()}")
    with pytest.raises(
        ProtocolError, match=r"^metric mAP: its code was edited after this run had begun\. Run again\.$"
    ):
        check(job)
    monkeypatch.setenv("PROTOCOL_PLANNED", str(time.time()))
    check(job)
