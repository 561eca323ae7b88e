"""The stored table of hashers on the digits, partly recomputed, and compared with new samples."""

import itertools

import digits_table as made
import numpy as np
import pytest

TABLE = made.table()
pytestmark = pytest.mark.nightly
FRESH = range(made.N_RUNS, made.N_RUNS + 5)


@pytest.fixture(scope="module")
def fresh():
    """Mean mAP by (hasher, n_bits) over runs that the table does not hold."""
    return {cell: np.mean([made.mean_average_precision(*cell, run) for run in FRESH]) for cell in TABLE}


def bound(*cells):
    """Return 4 standard errors of the sum of these cells' differences between fresh runs and the table.

    A normal variable is farther from its mean once in 16,000 times.
    """
    variance = sum(TABLE[cell]["std"] ** 2 for cell in cells)
    return 4 * np.sqrt(variance * (1 / len(FRESH) + 1 / made.N_RUNS))


@pytest.mark.parametrize("cell", [("lsh", 16), ("pcah", 32)])
def test_recomputed_cells_agree_with_the_table(cell):
    # Rounding on another machine changes single bits, and a run's mAP by far less than the runs differ.
    _, again = made.runs.repeated(
        [cell], made.KEY, lambda cell, run: made.mean_average_precision(*cell, run), made.N_RUNS
    )
    assert again[made.STATISTICS].iloc[0].to_dict() == pytest.approx(TABLE[cell], abs=0.05 * TABLE[cell]["std"])


def test_levels_and_order_hold_on_other_draws(fresh):
    for cell, row in TABLE.items():
        assert abs(fresh[cell] - row["mean"]) <= bound(cell), cell
    for low, high in itertools.permutations(TABLE, 2):
        if low[1] == high[1] and TABLE[high]["mean"] - TABLE[low]["mean"] > bound(low, high):
            assert fresh[low] < fresh[high], f"{low} is no longer below {high}"


@pytest.mark.parametrize(("hasher", "options"), [("itq", {"n_iter": 1}), ("sklsh", {"gamma": 10.0})])
@pytest.mark.parametrize("n_bits", made.N_BITS)
def test_a_weaker_hasher_is_detected(hasher, options, n_bits):
    spoilt = np.mean([made.mean_average_precision(hasher, n_bits, run, **options) for run in FRESH])
    assert abs(spoilt - TABLE[hasher, n_bits]["mean"]) > bound((hasher, n_bits))
