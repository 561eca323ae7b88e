"""Checks of arrays in memory, and of what users pass in place of arrays."""

import tracemalloc

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.inputs.conversion import items_from, matrix_from, numbers_from
from protocol.inputs.validation import array_of, check_images, class_labels, matrix, rows


def test_matrix_names_the_first_bad_row():
    X = np.zeros((5, 2))
    X[3, 1] = np.nan
    X[4, 0] = np.inf
    with pytest.raises(
        ProtocolError, match=r"X: expected finite numbers, got NaN or infinity in 2 of 5 rows, first in row 3"
    ):
        matrix(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"got shape \(3,\)"),
        (np.zeros((0, 3)), r"got shape \(0, 3\)"),
        (np.array([["a"]]), "X: expected numbers, got dtype"),
        (np.array([[object()]]), "X: expected numbers, got dtype"),
    ],
)
def test_matrix_refuses(X, message):
    with pytest.raises(ProtocolError, match=message):
        matrix(X)


def test_matrix_refuses_another_width_and_does_not_copy_float32():
    X = np.ones((2, 3), dtype=np.float32)
    assert matrix(X) is X
    with pytest.raises(ProtocolError, match="expected 4 features as in fit, got 3"):
        matrix(X, n_features=4)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], "2 labels for 3 items"),
        ([0.5, 1.0, 2.0], "expected integers"),
        ([[0, 2], [1, 0], [0, 0]], "expected a matrix of 0 and 1, got values from 0 to 2"),
    ],
)
def test_labels_refuses(y, message):
    with pytest.raises(ProtocolError, match=message):
        class_labels(y, 3)


def test_label_matrix_becomes_bool():
    assert class_labels([[0, 1], [1, 1]], 2).dtype == bool


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([], "got none"),
        ([0.5], r"expected row numbers \(n,\)"),
        ([-1, 2], "got -1 to 2"),
        ([4], "from 0 to 3, got 4 to 4"),
    ],
)
def test_rows_refuses(index, message):
    with pytest.raises(ProtocolError, match=message):
        rows(index, 4, "train")


@pytest.mark.parametrize(
    ("array", "n_items", "message"),
    [
        (np.zeros((2, 3, 4), np.float32), None, r"uint8 \(n, .* got shape \(2, 3, 4\) of float32\.$"),
        (np.zeros((2, 3, 4, 4), np.uint8), None, r"got shape \(2, 3, 4, 4\) of uint8"),
        (np.zeros((2, 0, 4), np.uint8), None, "not empty, got shape"),
        (np.zeros((2, 3), np.uint8), None, r"got shape \(2, 3\)"),
        ([[[0]]], None, r"got shape \(1, 1, 1\) of list"),
        (np.zeros((2, 3, 4), np.uint8), 3, r"uint8 \(3, height, width\) .* got shape \(2, 3, 4\)"),
    ],
)
def test_images_refuses(array, n_items, message):
    with pytest.raises(ProtocolError, match=f"^images: expected .*{message}"):
        check_images(array, n_items=n_items)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 3)])
def test_images_may_be_grey_or_in_colour(shape):
    check_images(np.zeros(shape, np.uint8))
    check_images(np.zeros(shape, np.uint8), n_items=2)


def test_a_list_of_vectors_is_not_copied_into_python_objects():
    vectors = [np.random.default_rng(row).random(200) for row in range(500)]
    tracemalloc.start()
    converted = array_of(vectors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(converted, vectors)
    assert peak < 2 * converted.nbytes
    assert array_of([1, 2**63]).tolist() == [1, 2**63]
    assert array_of([-1, 2**63]).tolist() == [-1, 2**63]
    assert array_of([np.nan, 2.0**63]).dtype == np.float64


def test_items_are_row_numbers_or_ids_from_any_library(tmp_path):
    torch, pd = pytest.importorskip("torch"), pytest.importorskip("pandas")
    for numbers in ([4.0, 2.0], (4, 2), np.array([4, 2], np.uint8), torch.tensor([4, 2]), pd.Series([4, 2])):
        assert items_from(numbers, "query").tolist() == [4, 2]
        assert items_from(numbers, "query").dtype == np.int64
    for ids in (["a", "bb"], [b"a", "bb"], np.array(["a", "bb"]), pd.Series(["a", "bb"]), pd.Index(["a", "bb"])):
        assert items_from(ids, "query").tolist() == ["a", "bb"]
    assert items_from([], "query").size == 0
    assert matrix_from(torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True), "query").dtype == np.float32
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    assert isinstance(numbers_from(tmp_path / "x.npy", "query").base, np.memmap)


@pytest.mark.parametrize(
    ("convert", "values", "message"),
    [
        (items_from, [[1, 2]], "query: expected row numbers or ids, shape (n,), got shape (1, 2)."),
        (items_from, [True, False], "query: expected row numbers, got a mask. Use numpy.flatnonzero to convert it."),
        (items_from, ["a", 1], "query: expected ids (str), got 1 (int) at position 1."),
        (items_from, [0.5], "query: expected integers, got 0.5."),
        (items_from, np.array([1j]), "query: expected row numbers or ids (str), got dtype complex128."),
        (matrix_from, [1, 2], "query: expected a non-empty 2-D array (n, d), got shape (2,)."),
        (matrix_from, [["a"]], "query: expected numbers, got dtype <U1."),
        (matrix_from, "none.npy", "none.npy: expected a file, got no such file."),
    ],
)
def test_other_values_are_refused(convert, values, message):
    with pytest.raises(ProtocolError) as error:
        convert(values, "query")
    assert str(error.value) == message
