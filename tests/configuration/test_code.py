"""Stamps among the results, which are newer than the results of other code."""

import os

import pytest

from protocol.checks import ProtocolError
from protocol.configuration.code import Stamps


def planned(path, digest, *, started=True):
    """Plan a job of some code in a new run of Snakemake, start it, and return the modification time of its stamp."""
    stamps = Stamps()
    stamps.update(path, digest)
    stamps.update(path, digest)  # of another job with the same code
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


def test_a_damaged_stamp_is_refused(tmp_path):
    (tmp_path / "stamp").write_text("half")
    with pytest.raises(ProtocolError, match=r"stamp: not a record of code\. Delete it"):
        planned(tmp_path / "stamp", "a")
