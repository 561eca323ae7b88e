import numpy as np
import pytest

from protocol import checks
from protocol.checks import ProtocolError


def test_known_name_comes_back():
    assert checks.known("itq", ["lsh", "itq"], "hasher") == "itq"


def test_unknown_name_lists_the_known_and_the_near():
    with pytest.raises(ProtocolError, match=r"unknown hasher 'itqq' \(did you mean 'itq'\?\); known: itq, lsh"):
        checks.known("itqq", ["lsh", "itq"], "hasher")


def test_matrix_names_the_first_bad_row():
    X = np.zeros((5, 2))
    X[3, 1] = np.nan
    X[4, 0] = np.inf
    with pytest.raises(ProtocolError, match=r"X: 2 of 5 rows hold NaN or infinity, the first is row 3"):
        checks.matrix(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"came shape \(3,\)"),
        (np.zeros((0, 3)), r"came shape \(0, 3\)"),
        (np.array([["a"]]), "wanted numbers"),
        (np.array([[object()]]), "wanted numbers"),
    ],
)
def test_matrix_refuses(X, message):
    with pytest.raises(ProtocolError, match=message):
        checks.matrix(X)


def test_matrix_refuses_another_width_and_does_not_copy_float32():
    X = np.ones((2, 3), dtype=np.float32)
    assert checks.matrix(X) is X
    with pytest.raises(ProtocolError, match="wanted 4 features as in fit, came 3"):
        checks.matrix(X, n_features=4)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], "wanted one per item, 3, came 2"),
        ([0.5, 1.0, 2.0], "wanted integers"),
        ([[0, 2], [1, 0], [0, 0]], "holds 0 and 1 only, came values up to 2"),
    ],
)
def test_labels_refuses(y, message):
    with pytest.raises(ProtocolError, match=message):
        checks.labels(y, 3)


def test_label_matrix_becomes_bool():
    assert checks.labels([[0, 1], [1, 1]], 2).dtype == bool


@pytest.mark.parametrize(
    ("index", "message"),
    [([], "is empty"), ([0.5], "wanted row numbers"), ([-1, 2], "from -1 to 2"), ([4], "there are 4 items")],
)
def test_rows_refuses(index, message):
    with pytest.raises(ProtocolError, match=message):
        checks.rows(index, 4, "train")


def test_the_near_name_is_found_whatever_the_case():
    with pytest.raises(ProtocolError, match=r"[Dd]id you mean 'itq'\?"):
        checks.known("ITQ", ["lsh", "itq"], "hasher")
    with pytest.raises(ProtocolError, match=r"[Dd]id you mean 'mAP'\?"):
        checks.known("MAP", ["mAP", "nDCG"], "metric")
