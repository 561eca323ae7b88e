import re
import sys
import tracemalloc

import numpy as np
import pytest

from protocol import checks
from protocol.checks import ProtocolError
from protocol.inputs import validation
from protocol.inputs.validation import class_labels


@pytest.mark.parametrize("value", [0, -1, True, 1.5, np.nan, "1", None])
def test_integer_refuses(value):
    with pytest.raises(ProtocolError, match=f"^n_bits: expected an integer >= 1, got {value!r}\\.$"):
        checks.integer(value, "n_bits")


def test_integer_takes_the_minimum_and_numpy_integers():
    assert checks.integer(np.uint8(3), "cutoff", minimum=3) == 3
    assert type(checks.integer(np.int64(0), "seed", minimum=0)) is int


def test_integer_above_the_maximum_is_refused():
    assert checks.integer(4, "radius", minimum=0, maximum=4) == 4
    with pytest.raises(ProtocolError, match=r"^radius: expected an integer from 0 to 4, got 5\.$"):
        checks.integer(5, "radius", minimum=0, maximum=4)


@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, "1", False, None])
def test_number_refuses(value):
    assert checks.number(np.float32(0), "spread") == 0.0
    with pytest.raises(ProtocolError, match=f"^spread: expected a finite number >= 0, got {value!r}\\.$"):
        checks.number(value, "spread")


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", True])
def test_positive_number_refuses(value):
    with pytest.raises(ProtocolError, match=f"^gamma: expected a finite number > 0, got {value!r}\\.$"):
        checks.positive_number(value, "gamma")


def test_an_allowed_choice_is_returned():
    assert checks.one_of("itq", ["lsh", "itq"], "hasher") == "itq"


@pytest.mark.parametrize(
    ("value", "choices", "message"),
    [
        ("itqq", ["lsh", "sh", "itq"], "hasher: expected itq, lsh or sh, got 'itqq'. Did you mean 'itq'?"),
        ("LSH", ["lsh", "itq"], "hasher: expected itq or lsh, got 'LSH'. Did you mean 'lsh'?"),
        ("x", ["itq"], "hasher: expected itq, got 'x'."),
        (None, [], "hasher: expected none, got None."),
        ("n11", [f"n{i}" for i in range(11)], "hasher: expected one of 11 names, got 'n11'. Did you mean 'n1'?"),
        ("x", [f"n{i}" for i in range(11)], "hasher: expected n0, n1, n10, n2, n3, n4, n5, n6, n7, n8 or n9, got 'x'."),
    ],
)
def test_one_of_lists_few_choices_and_the_closest_one(value, choices, message):
    with pytest.raises(ProtocolError) as error:
        checks.one_of(value, choices, "hasher")
    assert str(error.value) == message


def test_one_of_names_the_command_that_lists_many_choices():
    with pytest.raises(ProtocolError) as error:
        checks.one_of("x", map(str, range(11)), "hasher", listing="protocol list hashers")
    assert str(error.value) == "hasher: expected one of 11 names (protocol list hashers), got 'x'."


def test_matrix_names_the_first_bad_row():
    X = np.zeros((5, 2))
    X[3, 1] = np.nan
    X[4, 0] = np.inf
    with pytest.raises(
        ProtocolError, match=r"X: expected finite numbers, got NaN or infinity in 2 of 5 rows, first in row 3"
    ):
        validation.matrix(X)


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
        validation.matrix(X)


def test_matrix_refuses_another_width_and_does_not_copy_float32():
    X = np.ones((2, 3), dtype=np.float32)
    assert validation.matrix(X) is X
    with pytest.raises(ProtocolError, match="expected 4 features as in fit, got 3"):
        validation.matrix(X, n_features=4)


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
        validation.rows(index, 4, "train")


def test_the_closest_name_is_found_ignoring_case():
    with pytest.raises(ProtocolError, match=r"[Dd]id you mean 'itq'\?"):
        checks.one_of("ITQ", ["lsh", "itq"], "hasher")
    with pytest.raises(ProtocolError, match=r"[Dd]id you mean 'mAP'\?"):
        checks.one_of("MAP", ["mAP", "nDCG"], "metric")


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
        validation.check_images(array, n_items=n_items)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 3)])
def test_images_may_be_grey_or_in_colour(shape):
    validation.check_images(np.zeros(shape, np.uint8))
    validation.check_images(np.zeros(shape, np.uint8), n_items=2)


def test_a_module_that_is_needed_is_returned():
    assert checks.need("numpy.linalg", "fast") is np.linalg


def test_a_module_that_is_not_installed_is_named_with_the_extra_that_installs_it(monkeypatch):
    for module in ("pandas", "pandas.api"):
        monkeypatch.setitem(sys.modules, module, None)
    expected = rf"^pandas is not installed\. {re.escape(checks.install_hint('report'))}$"
    for module in ("pandas", "pandas.of_tests"):
        with pytest.raises(ProtocolError, match=expected):
            checks.need(module, "report")


def test_a_module_that_an_installed_one_lacks_is_another_error(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import absent_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="absent_module"):
        checks.need("broken_package", "report")


def test_an_import_that_failed_is_explained_where_an_extra_installs_the_module():
    explained = checks.missing_extra(ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats"))
    assert str(explained) == f"scipy is not installed. {checks.install_hint('report')}"
    assert checks.missing_extra(ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")) is None
    assert checks.missing_extra(ModuleNotFoundError("by hand")) is None


def test_a_list_of_vectors_is_not_copied_into_python_objects():
    vectors = [np.random.default_rng(row).random(200) for row in range(500)]
    tracemalloc.start()
    converted = validation.array_of(vectors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(converted, vectors)
    assert peak < 2 * converted.nbytes
    assert validation.array_of([1, 2**63]).tolist() == [1, 2**63]
    assert validation.array_of([-1, 2**63]).tolist() == [-1, 2**63]
    assert validation.array_of([np.nan, 2.0**63]).dtype == np.float64
