"""Reuse of the models and codes of an earlier run."""

import os

import numpy as np
import pytest

from protocol import registry
from protocol.hashers import TrainingSet, packed_codes, trained, write_stored
from protocol.provenance import reuse, storage

X = np.random.default_rng(0).normal(size=(60, 12)).astype(np.float32)
ITQ = registry.get("hasher", "itq")
IMAGE = np.arange(60)


def made_of(*lengths, **changed):
    same = {"hasher": "itq", "code": "c0de", "options": {"n_iter": 3}, "inputs": {"features": "f"}}
    return {n_bits: same | {"seed": 7 + n_bits} | changed for n_bits in lengths}


def run(folder, expected, *, hasher=ITQ):
    """Train like the rule `model`; return the reused lengths, the trained lengths, and the stored content."""
    paths, fitted = (folder / "models.h5", folder / "codes.h5"), []

    def noted(n_bits, **options):
        fitted.append(n_bits)
        return hasher(n_bits=n_bits, **options)

    earlier = reuse.unchanged(paths, expected)
    for path in paths:
        path.unlink(missing_ok=True)  # as Snakemake does before a job runs again
    blocks = {"query": [X[:5]], "items": [X[:30], X[30:]]}
    checkpoint = "{}.checkpoint".format
    stored = trained(
        noted, expected, TrainingSet(X), blocks, earlier=earlier, checkpoint=lambda n: folder / checkpoint(n)
    )
    provenance = storage.provenance(
        "hasher itq", parameters={}, inputs={}, fits={n: result.fit for n, result in stored.items()}
    )
    write_stored(*paths, stored, IMAGE, provenance)
    return sorted(earlier), fitted, stored


def content(folder):
    return [(folder / name).read_bytes() for name in ("models.h5", "codes.h5")]


def test_a_new_length_is_trained_alone_and_the_files_equal_a_fresh_run(tmp_path):
    (tmp_path / "grown").mkdir()
    (tmp_path / "fresh").mkdir()
    assert run(tmp_path / "grown", made_of(4, 8))[:2] == ([], [4, 8])
    assert run(tmp_path / "grown", made_of(4, 6, 8))[:2] == ([4, 8], [6])
    assert run(tmp_path / "fresh", made_of(4, 6, 8))[:2] == ([], [4, 6, 8])
    assert content(tmp_path / "grown") == content(tmp_path / "fresh")


def test_a_removed_length_is_not_in_the_files(tmp_path):
    run(tmp_path, made_of(4, 8))
    earlier, fitted, stored = run(tmp_path, made_of(8))
    assert (earlier, fitted, list(stored)) == ([8], [], [8])
    assert sorted(storage.grouped(storage.read(tmp_path / "codes.h5"))) == ["8", "image"]


@pytest.mark.parametrize(
    "changed",
    [{"code": "other"}, {"seed": 1}, {"options": {"n_iter": 4}}, {"inputs": {"features": "g"}}],
    ids=lambda changed: next(iter(changed)),
)
def test_anything_else_that_changed_trains_again(tmp_path, changed):
    run(tmp_path, made_of(4, 8))
    assert run(tmp_path, made_of(4, 8, **changed))[:2] == ([], [4, 8])


def test_codes_are_those_of_the_models(tmp_path):
    _, _, stored = run(tmp_path, made_of(4, 8))
    for n_bits, result in stored.items():
        model = ITQ.from_arrays(result.model)
        assert result.fit["made_of"]["seed"] == model.seed == 7 + n_bits
        for part, rows in (("query", X[:5]), ("items", X)):
            (packed,) = packed_codes({0: model}, [rows]).values()
            np.testing.assert_array_equal(result.codes[part], packed)


@pytest.mark.parametrize("damage", ["cut", "missing", "altered"])
def test_nothing_is_reused_from_a_damaged_earlier_file(tmp_path, damage, caplog):
    run(tmp_path, made_of(4))
    path = tmp_path / "codes.h5.earlier"
    before = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(before[: len(before) // 2])
    elif damage == "altered":
        storage.write(path, {"image": IMAGE}, storage.provenance("else", parameters={}, inputs={}))
    with caplog.at_level("INFO"):
        assert run(tmp_path, made_of(4))[:2] == ([], [4])
    assert ("can be reused" in caplog.text) == (damage != "missing")


def test_nothing_is_reused_after_a_job_was_killed_between_its_two_files(tmp_path):
    run(tmp_path, made_of(4))
    older = (tmp_path / "codes.h5.earlier").read_bytes()
    run(tmp_path, made_of(4, seed=99))
    (tmp_path / "codes.h5.earlier").unlink()
    (tmp_path / "codes.h5.earlier").write_bytes(older)
    assert run(tmp_path, made_of(4, seed=99))[:2] == ([], [4])


def test_the_second_name_takes_no_space_and_is_not_the_first(tmp_path):
    run(tmp_path, made_of(4))
    assert os.stat(tmp_path / "models.h5").st_nlink == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "codes.h5",
        "codes.h5.earlier",
        "models.h5",
        "models.h5.earlier",
    ]


def test_without_links_the_second_name_is_a_copy(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refused)
    run(tmp_path, made_of(4))
    assert os.stat(tmp_path / "models.h5").st_nlink == 1
    assert run(tmp_path, made_of(4))[:2] == ([4], [])
