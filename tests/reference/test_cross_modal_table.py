"""The stored cross-modal table, partly recomputed from Wiki's files, and the properties that it must have."""

import itertools

import cross_modal_table as made
import numpy as np
import pytest

TABLE = made.table()


def test_every_cell_is_there():
    assert list(TABLE) == made.cells()


@pytest.mark.parametrize(
    "cell",
    [
        ("improved", "image_to_text", "cca_itq", 16),
        ("standard", "text_to_image", "cvh", 32),
        ("wiki_official", "text_to_image", made.COSINE, None),
        ("improved", "text_to_image", made.RANDOM, 64),
    ],
)
def test_recomputed_cells_agree_with_the_table(shared, cell):
    # Rounding on another machine changes single bits, and a run's mAP by far less than the runs differ.
    values = np.array([made.mean_average_precision(cell, run, shared / "data" / "wiki") for run in range(10)])
    found = {"mean": values.mean(), "std": values.std(ddof=1), "min": values.min(), "max": values.max(), "n_runs": 10}
    assert found == pytest.approx(TABLE[cell], abs=0.05 * TABLE[cell]["std"] + 1e-6)


@pytest.mark.parametrize(("split", "direction"), sorted({cell[:2] for cell in TABLE}))
def test_codes_are_between_chance_and_the_ranking_without_codes(split, direction):
    cosine = TABLE[split, direction, made.COSINE, None]["mean"]
    for n_bits in made.CONFIG["n_bits"]:
        chance, cvh, itq = (TABLE[split, direction, name, n_bits] for name in (made.RANDOM, "cvh", "cca_itq"))
        assert chance["max"] < cvh["min"]
        assert cvh["mean"] < itq["mean"] < 1.1 * cosine


def test_only_text_to_image_gains_from_trained_on_images_in_the_database():
    for n_bits in made.CONFIG["n_bits"]:
        for direction, gains in (("image_to_text", False), ("text_to_image", True)):
            standard, improved = (
                TABLE[split, direction, "cca_itq", n_bits]["mean"] for split in ("standard", "improved")
            )
            assert (standard > improved + 0.02) if gains else abs(standard - improved) < 0.002


def test_average_precision_is_the_mean_over_all_orders_of_ties():
    similarity, relevant = np.array([0.5, 0.9, 0.5, 0.1, 0.5, 0.1]), np.array([1, 0, 1, 1, 0, 0], dtype=bool)
    values = []
    for order in itertools.permutations(range(6)):
        if (np.diff(similarity[list(order)]) <= 0).all():
            found = relevant[list(order)]
            values.append((np.cumsum(found) / np.arange(1, 7))[found].mean())
    assert len(values) == 12
    assert made.average_precision(similarity, relevant) == pytest.approx(np.mean(values))
