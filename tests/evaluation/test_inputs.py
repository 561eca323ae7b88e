"""All forms of codes, labels and relevance from libraries and tools, and ambiguous inputs."""

import numpy as np
import pandas as pd
import pytest
from encoded import evaluated
from scipy import sparse

from protocol import codes
from protocol.checks import ProtocolError
from protocol.evaluation.code_pairs import Codes, read_codes

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
QUERY, DATABASE = RNG.normal(size=(6, 16)), RNG.normal(size=(50, 16))
OF_QUERY, OF_DATABASE = RNG.integers(0, 4, 6), RNG.integers(0, 3, 50)
LABELS = {"query_labels": OF_QUERY, "database_labels": OF_DATABASE}
RELEVANT = OF_QUERY[:, None] == OF_DATABASE
WORDS = np.array(["cat", "dog", "été", "a bird"])
METRICS = ["mAP", "mAP@5[retrieved]", "precision@r3", "AUPRC[area]"]


def means(query=QUERY > 0, database=DATABASE > 0, **change):
    return evaluated(query, database, **LABELS | {"metrics": METRICS} | change).metrics


def related(**truth):
    return evaluated(QUERY > 0, DATABASE > 0, metrics=METRICS, **truth).metrics


class OnDevice:
    """An array on a GPU, as DLPack describes it."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        raise BufferError("no copy to the CPU")


class CuPy(OnDevice):
    def get(self):
        return self.array

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


class Jax(OnDevice):
    def __array__(self, dtype=None, copy=None):
        return self.array


class OnlyDlpack:
    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


LIBRARIES = {
    "torch": torch.tensor,
    "torch with a gradient": lambda array: torch.tensor(array, requires_grad=True),
    "torch bfloat16": lambda array: torch.tensor(array).to(torch.bfloat16),
    "torch float16": lambda array: torch.tensor(array).half(),
    "a list of tensors": lambda array: [torch.tensor(row, requires_grad=True) for row in array],
    "cupy": CuPy,
    "jax": Jax,
    "dlpack": OnlyDlpack,
    "data frame": lambda array: pd.DataFrame(array, index=range(7, 7 + len(array))),
    "data frame of objects": lambda array: pd.DataFrame(array, dtype=object),
    "float16": lambda array: array.astype(np.float16),
    "longdouble": lambda array: array.astype(np.longdouble),
    "big endian": lambda array: array.astype(">f4"),
    "Fortran order": np.asfortranarray,
    "lists": np.ndarray.tolist,
    "sparse": sparse.csr_array,
}


@pytest.mark.parametrize("form", LIBRARIES.values(), ids=LIBRARIES)
def test_codes_and_outputs_of_every_library(form):
    signs = [np.where(side > 0, 1.0, -1.0) for side in (QUERY, DATABASE)]
    assert means(*map(form, signs)) == means()
    assert means(form(QUERY), form(DATABASE), binarize="sign") == means()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "uint64", "float16", "float32", "longdouble"])
def test_bits_of_every_dtype(dtype):
    assert means((QUERY > 0).astype(dtype), (DATABASE > 0).astype(dtype)) == means()


def test_arrays_on_another_device_that_can_not_be_copied_are_refused():
    with pytest.raises(ProtocolError, match="query codes: expected an array in the CPU's memory, got OnDevice on an"):
        means(OnDevice(QUERY))
    with pytest.raises(ProtocolError, match="query codes: expected an array without masked entries, got 1"):
        means(np.ma.masked_array(QUERY > 0, np.arange(96).reshape(6, 16) == 3))


def test_sign_and_median_by_hand():
    query, database = [[0.0, 0.5]], [[-1.0, 1.0], [0.0, 2.0], [3.0, 0.5]]

    def bits(how):
        pair = read_codes(Codes(query, binarize=how), database)
        return [codes.unpack(side, pair.n_bits).astype(int).tolist() for side in pair[:2]]

    assert bits("sign") == [[[0, 1]], [[0, 1], [0, 1], [1, 1]]]
    # The medians of the database are 0 and 1; a value equal to the median is the bit 0.
    assert bits("median") == [[[0, 0]], [[0, 0], [0, 1], [1, 0]]]


def test_the_median_is_that_of_the_database():
    medians = np.median(DATABASE, axis=0)
    found = evaluated(QUERY, DATABASE, **LABELS, metrics=METRICS, binarize="median")
    assert found.metrics == means(QUERY - medians > 0, DATABASE - medians > 0)
    assert found.binarize == "median"
    assert "16 bits, binarised by median; Hamming ranking; convention" in repr(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"binarize": "tanh"}, "binarize: expected median or sign, got 'tanh'"),
        ({"query": QUERY * np.inf, "binarize": "sign"}, "query codes: expected finite numbers, got NaN or infinity"),
        ({"n_bits": 8, "binarize": "sign"}, r"query codes: expected 8 columns \(n_bits\) to binarise, got 16"),
        ({"database": DATABASE[:, :9], "binarize": "median"}, "database codes: expected 16 bits as in .*, got 9"),
        ({"query": QUERY}, 'got real values from .*. Choose how to binarise them: binarize="sign" or "median"'),
        (
            {"query": np.sign(QUERY) * (QUERY > -1)},
            rf"-1, 0 and [+]1: {(QUERY <= -1).sum()} of 96 values are 0\. binarize=\"sign\" maps them to bit 0",
        ),
    ],
)
def test_refused_outputs(change, message):
    with pytest.raises(ProtocolError, match=message):
        means(**change)


def quantized(outputs, precision):
    """Return what ``sentence_transformers.quantize_embeddings`` returns."""
    packed = np.packbits(outputs > 0).reshape(len(outputs), -1)
    return packed if precision == "ubinary" else (packed - 128).astype(np.int8)


@pytest.mark.parametrize(("precision", "bit_order"), [("ubinary", "big"), ("binary", "big-128")])
def test_codes_of_sentence_transformers(precision, bit_order):
    sides = [quantized(side, precision) for side in (QUERY, DATABASE)]
    assert means(*sides, n_bits=16, bit_order=bit_order) == means()
    assert means(*(side.tolist() for side in sides), n_bits=16, bit_order=bit_order) == means()


def test_signed_bytes_are_ambiguous():
    sides = [quantized(side, "binary") for side in (QUERY, DATABASE)]
    message = 'expected packed codes of uint8, got signed int8, which is ambiguous: choose bit_order="big-128"'
    for bit_order in ("big", "little"):
        with pytest.raises(ProtocolError, match=message):
            means(*sides, n_bits=16, bit_order=bit_order)
    with pytest.raises(ProtocolError, match=r"expected packed codes from -128 to 127, got values from \d+ to 255"):
        means(np.full((6, 2), 255), sides[1], n_bits=16, bit_order="big-128")
    with pytest.raises(ProtocolError, match="expected packed codes from -128 to 127, got values from 255 to 255"):
        means(np.full((6, 2), 255, dtype=np.uint8), sides[1], n_bits=16, bit_order="big-128")
    with pytest.raises(ProtocolError, match="query codes: packed codes of bit order big-128 need n_bits"):
        means(*sides, bit_order="big-128")
    with pytest.raises(ProtocolError, match="query codes: expected 2 columns of packed integers, got 16 of bool"):
        means(n_bits=16, bit_order="big-128")


STRINGS = {
    "array of strings": lambda words: words,
    "array of objects": lambda words: words.astype(object),
    "column": lambda words: words[:, None],
    "list": np.ndarray.tolist,
    "bytes": lambda words: np.char.encode(words, "utf-8"),
    "list of bytes": lambda words: [word.encode() for word in words.tolist()],
    "series": lambda words: pd.Series(words, index=range(3, 3 + len(words))),
    "series of strings": lambda words: pd.Series(words, dtype="string"),
    "categories": lambda words: pd.Series(words, dtype="category"),
    "categorical": pd.Categorical,
    "StringDType": lambda words: words.astype(np.dtypes.StringDType()),
}


@pytest.mark.parametrize("form", STRINGS.values(), ids=STRINGS)
def test_labels_that_are_strings_are_the_same_on_both_sides(form):
    """The categories of the two sides differ, so their integers can't be compared."""
    mixed = {"query_labels": form(WORDS[OF_QUERY]), "database_labels": WORDS[OF_DATABASE]}
    both = {"query_labels": form(WORDS[OF_QUERY]), "database_labels": form(WORDS[OF_DATABASE])}
    assert means(**mixed) == means(**both) == means()


MATRICES = {
    "scipy csr": sparse.csr_matrix,
    "scipy coo": sparse.coo_array,
    "torch": torch.tensor,
    "torch sparse": lambda matrix: torch.tensor(matrix).to_sparse(),
    "torch one-hot float": lambda matrix: torch.tensor(matrix).float(),
    "data frame": pd.DataFrame,
}


@pytest.mark.parametrize("form", MATRICES.values(), ids=MATRICES)
def test_label_matrices(form):
    sides = {name: form((labels[:, None] == np.arange(4)).astype(int)) for name, labels in LABELS.items()}
    assert means(**sides) == means()


@pytest.mark.parametrize(
    "series", [pd.Series(OF_QUERY, dtype="Int64"), pd.Series(OF_QUERY, dtype="category"), torch.tensor(OF_QUERY)]
)
def test_integer_labels_of_other_libraries(series):
    assert means(query_labels=series) == means()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (WORDS[OF_QUERY], "database labels: expected one string per item as in the query labels, got one integer per"),
        (WORDS[OF_QUERY][:5], r"query labels: expected 6 strings, one per item, got shape \(5,\)"),
        (np.tile(WORDS[:2], (6, 1)), r"query labels: expected 6 strings, one per item, got shape \(6, 2\)"),
        (["cat", None] * 3, "query labels: expected an integer or a string for each item, got None for item 1"),
        (["cat", 1] * 3, "query labels: expected only integers or only strings, got both"),
        (["cat", np.nan] * 3, "query labels: expected an integer or a string for each item, got nan for item 1"),
        (pd.Series([1, None] * 3, dtype="Int64"), "query labels: expected integers, got nan"),
        (np.array(["cat", 1] * 3, dtype=object), "query labels: expected only integers or only strings, got both"),
    ],
)
def test_refused_labels(labels, message):
    with pytest.raises(ProtocolError, match=message):
        means(query_labels=labels)


POSITIONS = [np.flatnonzero(row) for row in RELEVANT]
RELEVANCE = {
    "Boolean": RELEVANT,
    "lists of bool": RELEVANT.tolist(),
    "rows of bool": list(RELEVANT),
    "torch": torch.tensor(RELEVANT),
    "data frame": pd.DataFrame(RELEVANT),
    "scipy": sparse.coo_array(RELEVANT.astype(int)),
    "positions": POSITIONS,
    "tensors of positions": [torch.tensor(row) for row in POSITIONS],
    "series of positions": pd.Series([row.tolist() for row in POSITIONS]),
    "a generator": (row for row in POSITIONS),
}


@pytest.mark.parametrize("form", RELEVANCE)
def test_relevance(form):
    assert related(relevance=RELEVANCE[form]) == means()


@pytest.mark.parametrize(
    ("relevance", "database", "message"),
    [
        ([[0, 1]], 2, r"integers of shape \(n_queries, n_database\) = \(1, 2\), which may be either"),
        (np.array([[0, 1]]), 2, r"Pass relevance.astype\(bool\) for a matrix, .* or a list of arrays for positions"),
        ([[0]], 1, "which may be either"),
        (torch.tensor([[0, 1, 1, 0]]), 4, "which may be either"),
        (
            [[0, 2, 2, 1]],
            4,
            r"integers of shape .* = \(1, 4\), .*scipy.sparse.csr_array\(relevance\) for a matrix of levels",
        ),
        (np.array([[2, 0, 1]]), 3, "which may be either"),
        ([[0, 0]], 4, "relevance: indices: expected distinct database positions in ascending order"),
        ([[0.0, 0.5, 1.0, 0.0]], 4, r"expected a Boolean matrix \(n_queries, n_database\) = \(1, 4\) or lists"),
        ([[True, False]], 4, "expected 4 Boolean values for each query, one per database item, got 2"),
    ],
)
def test_refused_relevance(relevance, database, message):
    with pytest.raises(ProtocolError, match=message):
        evaluated([[0]], np.zeros((database, 1), int), relevance=relevance)


def test_unambiguous_relevance():
    """Arrays in a list are positions, Boolean values a matrix, and fewer columns than items again positions."""
    both = ([[0, 0]], [[0, 0], [1, 1]])
    assert evaluated(*both, relevance=[np.array([0])], metrics="mAP").metrics == {"mAP": 1.0}
    assert evaluated(*both, relevance=np.array([[0, 1]]).astype(bool), metrics="mAP").metrics == {"mAP": 0.5}
    assert evaluated(*both, relevance=[[1]], metrics="mAP").metrics == {"mAP": 0.5}
    assert evaluated(*both, relevance=sparse.csr_array([[0, 2]]), metrics="mAP").metrics == {"mAP": 0.5}
    assert evaluated([[0]], [[0], [1], [1]], relevance=[[0, 1]], metrics="mAP").metrics["mAP"] > 0
