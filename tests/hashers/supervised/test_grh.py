"""GRH: propagation on a graph of three nodes, and sums over neighbours; tests/reference has its machines."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from protocol.checks import ProtocolError
from protocol.hashers import Affinities
from protocol.hashers.supervised.grh import GRH, Machines, smoothed


def test_codes_are_smoothed_over_a_path_of_three_nodes():
    path = Affinities(csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), 3)
    first = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    # The ends take the middle's bits. The middle has 1 and 1 in the first column, a tie in the second.
    np.testing.assert_array_equal(smoothed(first, first, path, 1.0), [[-1, -1], [1, -1], [-1, -1]])
    # With weight 0.4, the first codes decide a tie; with weight 0.5, nothing changes.
    codes = -first
    np.testing.assert_array_equal(smoothed(codes, first, path, 0.6), [[1, 1], [-1, -1], [1, 1]])
    np.testing.assert_array_equal(smoothed(first, first, path, 0.5), first)


def test_a_node_without_neighbours_has_its_first_code():
    pair = Affinities(csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 1]]), 3)  # a row is not its own neighbour
    first = np.array([[1.0], [-1.0], [-1.0]])
    np.testing.assert_array_equal(smoothed(-first, first, pair, 0.9), [[1], [-1], [-1]])
    np.testing.assert_array_equal(smoothed(-first, first, pair, 1.0), [[1], [-1], [1]])  # a tie changes nothing


def test_a_bit_that_all_rows_agree_on_needs_no_normal():
    rows = np.array([[1.0], [-1.0]], dtype=np.float32)
    w, t = Machines(rows, 0.1).planes(np.array([[1, -1], [1, -1]], dtype=np.float32))
    np.testing.assert_array_equal(w, [[0, 0]])
    np.testing.assert_array_equal(t, [-1, 1])


@pytest.mark.parametrize("several", [False, True])
def test_sums_over_classes_are_those_over_the_pairs(several):
    rng = np.random.default_rng(0)
    y = rng.random((30, 4)) < 0.3 if several else rng.integers(0, 4, 30)
    related = (y.astype(int) @ y.T.astype(int) > 0) if several else y[:, None] == y
    values = rng.normal(size=(30, 5))
    np.testing.assert_allclose(Affinities(y, 30).sums(values), (related & ~np.eye(30, dtype=bool)) @ values)
    pairs = Affinities(csr_array(2 * related), 30)
    np.testing.assert_allclose(pairs.sums(values), Affinities(y, 30).sums(values))
    rows = np.arange(1, 30, 2)
    np.testing.assert_allclose(pairs.of(rows).sums(values[rows]), Affinities(y[rows], 15).sums(values[rows]))


def test_only_the_start_by_itq_limits_the_bits_to_the_features():
    with pytest.raises(ProtocolError, match="n_bits must be at most 2, the number of features"):
        GRH(n_bits=3, start="itq").fit(np.eye(4, 2), [0, 0, 1, 1])
    assert GRH(n_bits=3).fit(np.eye(4, 2), [0, 0, 1, 1]).transform(np.eye(4, 2)).shape == (4, 3)
