import numpy as np
import pandas as pd
import pytest
from encoded import refuses
from scipy.sparse import csr_array

from protocol.hashers import TrainingSet, linear_algebra, training, training_set
from protocol.hashers.linear_algebra import project


def test_tiles_add_up(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    complete = TrainingSet(X).components(5)
    projected = project(X, TrainingSet(X).mean, complete.directions)
    for module in (training_set, linear_algebra):
        monkeypatch.setattr(module, "_TILE", 7)
    np.testing.assert_allclose(TrainingSet(X).components(5).directions, complete.directions, atol=1e-5)
    np.testing.assert_allclose(project(X, TrainingSet(X).mean, complete.directions), projected, atol=1e-5)


@pytest.mark.parametrize("tile", [7, 2048])
def test_the_scale_is_that_of_the_centred_rows(monkeypatch, tile):
    monkeypatch.setattr(training_set, "_TILE", tile)
    X = (np.random.default_rng(0).normal(size=(50, 8)) * 5 + 3).astype(np.float32)
    assert TrainingSet(X).scale == pytest.approx(np.sqrt(np.square(X - X.mean(axis=0, dtype=float)).mean()), rel=1e-6)
    assert TrainingSet(np.full((5, 3), 7.0)).scale == 1


def test_a_large_offset_costs_nothing():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 6)) * [6, 5, 4, 3, 2, 1] + 1000).astype(np.float32)
    vectors = np.linalg.eigh(np.cov(X.astype(np.float64).T))[1][:, ::-1]
    agreement = np.abs((vectors * TrainingSet(X).components(6).directions).sum(axis=0))
    np.testing.assert_allclose(agreement, 1, atol=1e-5)


def test_components_of_every_length_come_from_one_decomposition(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    shared, calls, eigh = TrainingSet(X), [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda scatter: calls.append(1) or eigh(scatter))
    found = [shared.components(n).directions for n in (3, 8, 1)]
    assert len(calls) == 1
    for n, directions in zip((3, 8, 1), found, strict=True):
        assert directions.flags.c_contiguous
        assert directions.tobytes() == TrainingSet(X).components(n).directions.tobytes()


@pytest.mark.parametrize("form", [list, np.array, pd.Series, lambda labels: pd.Series(labels, dtype="category")])
def test_labels_may_be_strings(form):
    labelled = TrainingSet([[1.0], [2.0], [3.0]], form(["owl", "cat", "owl"]))
    np.testing.assert_array_equal(labelled.labels, [1, 0, 1])
    assert labelled.affinities.among(np.arange(3)).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]


def test_rows_are_checked_once_and_not_copied():
    X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    assert TrainingSet(X).X.base is X
    refuses("in 1 of 3 rows, first in row 2", TrainingSet, [[1.0], [2.0], [np.nan]])


@pytest.mark.parametrize("kind", ["labels", "affinities", "pairs"])
def test_some_rows_have_their_own_supervision(kind):
    X = np.arange(40.0).reshape(20, 2)
    y = {"labels": X[:, 0].astype(int) % 3, "affinities": csr_array(X.astype(int) @ X.astype(int).T), "pairs": X[:, :1]}
    some = TrainingSet(X, y[kind]).some(9)
    levels = some.X.astype(int) @ some.X.astype(int).T
    expected = {"labels": some.X[:, 0] % 3, "affinities": levels, "pairs": some.X[:, :1]}[kind]
    value = some.affinities.among(np.arange(9)) if kind == "affinities" else getattr(some, kind)
    np.testing.assert_array_equal(value, expected)
    assert len(TrainingSet(X).some(30).X) == 20


def test_the_log_has_twenty_lines_with_step_and_objective(caplog):
    with caplog.at_level("INFO"), training.progress("T, 8 bits", 400) as steps:
        for value in range(400):
            steps.step(value / 400)
    assert len(caplog.messages) == 20
    assert caplog.messages[0] == "T, 8 bits: step 20 of 400, objective 0.0475"
    assert caplog.messages[-1] == "T, 8 bits: step 400 of 400, objective 0.9975"
