"""Hashers that learn bit by bit, on stored digits: fits by their authors' procedures, or by slow plain optimisers."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from protocol.hashers.supervised.ksh import KSH

X, Y = load_digits(return_X_y=True)
TRAIN, LABELS = X[:500].astype(np.float32), Y[:500]


@pytest.mark.parametrize(("n_bits", "residue"), [(8, 0.780480), (16, 0.740601)])
def test_ksh_reaches_the_residue_of_the_released_code(n_bits, residue):
    # The residues are those of the released optimisation (500 iterations of Nesterov's method, commit b0acf3b) under
    # Octave 7.3, for the same rows, kernel and anchors. All of its bits came from gradients, as must ours.
    record = KSH(n_bits, n_anchors=100).fit(TRAIN, LABELS).fit_record_
    assert residue - 0.03 < record["residue"] < residue
    assert record["spectral"] == 0
