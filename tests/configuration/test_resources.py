"""The states of the files of the user, on which jobs depend."""

import os

import pytest

from protocol.configuration import records


def test_the_state_of_a_file_is_its_content_and_it_is_hashed_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records._known_states.cache_clear()
    (tmp_path / "a.npy").write_bytes(b"first")
    before = records.states(["a.npy"])
    os.utime("a.npy", (1, 1))
    assert records.states(["a.npy"]) == before
    records._known_states.cache_clear()
    monkeypatch.setattr(records.storage, "file_sha256", lambda path: pytest.fail("hashed again"))
    assert records.states(["a.npy"]) == before
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(b"other")
    assert records.states(["a.npy"]) != before
    records._known_states.cache_clear()
