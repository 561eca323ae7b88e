"""Mutated files of every format: each is refused in one line, or read correctly."""

import mutations
import pytest

# Each HDF5 file takes a process of its own, so there are fewer of them; they are one third of the .mat files.
N = dict.fromkeys(mutations.FORMATS, 300) | {"h5": 45, "mat": 90}


@pytest.mark.parametrize("kind", mutations.FORMATS)
def test_a_mutated_file_is_refused_in_one_line_or_read_as_it_is(tmp_path, monkeypatch, kind):
    fuzz = mutations.Fuzz(kind, tmp_path, seed=1)
    counts = fuzz.run(N[kind], monkeypatch)
    assert not fuzz.findings
    assert counts["tracebacks"] == counts["hangs"] == counts["wrong answers"] == 0
    assert counts["refused"] > N[kind] / 10
    assert sum(counts.values()) == N[kind]


def test_a_wrong_answer_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(mutations.arrays, "read_array", lambda path: mutations.np.zeros((3, 4)))
    fuzz = mutations.Fuzz("npz", tmp_path)
    monkeypatch.setattr(mutations.arrays, "read_array", lambda path: mutations.np.ones((3, 4)))
    assert fuzz.run(10, monkeypatch)["wrong answers"] == 10
