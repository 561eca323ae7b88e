"""All forms of codes, labels and relevance from libraries and tools, and the inputs that are refused."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from encoded import evaluated, message_of, refusals, refused, refuses
from scipy import sparse

from protocol import codes
from protocol.evaluation.code_pairs import Codes, precomputed_codes, read_codes
from protocol.truth.relevance import NeighbourRelevance

torch = import_module("torch") if find_spec("torch") else None
NEEDS_TORCH = pytest.mark.skipif(torch is None, reason="torch is not installed")

RNG = np.random.default_rng(0)
QUERY, DATABASE = RNG.normal(size=(6, 16)), RNG.normal(size=(50, 16))
OF_QUERY, OF_DATABASE = RNG.integers(0, 4, 6), RNG.integers(0, 3, 50)
LABELS = {"query_labels": OF_QUERY, "database_labels": OF_DATABASE}
RELEVANT = OF_QUERY[:, None] == OF_DATABASE
METRICS = ["mAP", "mAP@5[retrieved]", "precision@r3", "AUPRC[area]"]


def means(query=QUERY > 0, database=DATABASE > 0, **change):
    labels = {} if "relevance" in change else LABELS
    return evaluated(query, database, **labels | {"metrics": METRICS} | change).metrics


class OnDevice:
    """An array on a GPU, as DLPack describes it."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        raise BufferError("no copy to the CPU")


class Jax(OnDevice):
    def __array__(self, dtype=None, copy=None):
        return self.array


class TensorElsewhere:
    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy.\nUse Tensor.cpu() first.")


class OnlyDlpack:
    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


LIBRARIES = {
    "torch": lambda array: torch.tensor(array),
    "torch with a gradient": lambda array: torch.tensor(array, requires_grad=True),
    "jax": Jax,
    "dlpack": OnlyDlpack,
    "data frame": lambda array: pd.DataFrame(array, index=range(7, 7 + len(array))),
    "data frame of objects": lambda array: pd.DataFrame(array, dtype=object),
    "big endian": lambda array: array.astype(">f4"),
    "lists": np.ndarray.tolist,
    "sparse": sparse.csr_array,
}


def forms(table):
    marks = {name: [NEEDS_TORCH] * ("torch" in name or "tensor" in name) for name in table}
    return [pytest.param(form, id=name, marks=marks[name]) for name, form in table.items()]


@pytest.mark.parametrize("form", forms(LIBRARIES))
def test_codes_and_outputs_of_every_library(form):
    signs = [np.where(side > 0, 1.0, -1.0) for side in (QUERY, DATABASE)]
    assert means(*map(form, signs)) == means()
    assert means(form(QUERY), form(DATABASE), binarize="sign") == means()


def packed(outputs, bit_order):
    """Return packed codes; big-128 is the precision `binary` of ``sentence_transformers.quantize_embeddings``."""
    rows = np.packbits(outputs > 0, axis=1, bitorder=bit_order.removesuffix("-128"))
    return (rows - 128).astype(np.int8) if bit_order == "big-128" else rows


@pytest.mark.parametrize("bit_order", ["little", "big", "big-128"])
def test_packed_codes(bit_order):
    sides = [packed(side, bit_order) for side in (QUERY, DATABASE)]
    for form in (np.asarray, np.ndarray.tolist, lambda side: side.astype(np.int64)):
        assert means(*map(form, sides), n_bits=16, bit_order=bit_order) == means()
    few = np.array([[255], [0]], dtype=np.uint8)  # these two bytes alone may be a mask only if there are many
    assert read_codes(Codes(few, 8), few).query.tolist() == few.tolist()


WORDS = ["".join(map(str, row)) for row in (DATABASE > 0).astype(int).tolist()]
NUMBERS = np.array([int(word, 2) for word in WORDS])
HEX = [f"{number:04x}" for number in NUMBERS]


@pytest.mark.parametrize("words", [WORDS, HEX, [f"0x{word.upper()}" for word in HEX]], ids=["bits", "hex", "0x"])
def test_strings_are_codes_with_the_first_bit_first(tmp_path, words):
    (tmp_path / "codes.txt").write_text("\n".join(words))
    (tmp_path / "codes_and_labels.csv").write_text("".join(f"{word}, owl\n" for word in words))
    (tmp_path / "named.csv").write_text("".join(f"{word}\n" for word in ["code", *words]))
    rows = [f"img {i}.png,{word},{label}" for i, (word, label) in enumerate(zip(words, OF_DATABASE, strict=True))]
    for name, header in {"name": "name,code,label", "read": "read,hash,y", "index": ",b,y", "none": ""}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join([header] * bool(header) + rows))
    for name, mark in {"blanks.txt": " ", "tabs.tsv": "\t", "numbered.txt": " 7 "}.items():
        (tmp_path / name).write_text("".join(f"read_{i}{mark}{word}\n" for i, word in enumerate(words)))
    np.save(tmp_path / "codes.npy", words)
    for values in (*tmp_path.iterdir(), f"{tmp_path}/named.csv:code", words, np.array(words, dtype="S")):
        pair = read_codes(Codes(values), DATABASE > 0)
        assert pair.n_bits == 16
        np.testing.assert_array_equal(pair.query, pair.database)


def test_which_column_has_the_codes_is_said_or_refused(here, caplog):
    caplog.set_level("INFO", "protocol.inputs")
    for name, content in {"z": "name,code,label\na.png,0101,x\n", "two": "a,b\n00101,01010\n"}.items():
        Path(f"{name}.csv").write_text(content)
    assert read_codes("z.csv", [[0, 1, 0, 1]]).query.tolist() == [[10]]
    assert caplog.messages == ["z.csv: codes in 'code'; ids in 'name'; not read: 'label'"]
    refuses(
        r"^two\.csv: 'a' and 'b' may both be the codes\. Write two\.csv:a or two\.csv:b\.$", read_codes, "two.csv", 0
    )
    assert read_codes("two.csv:b", [[0] * 5]).query.tolist() == [[10]]


@pytest.mark.parametrize("header", ["sku,b0,b1,b2", "sku,0,1,2", ""])
@pytest.mark.parametrize("ids", [("12", "0"), ("x", "y, z"), ("7f", "A 1")])
def test_codes_in_columns_next_to_ids_of_any_name(here, header, ids, caplog):
    """The ids are proved by their content; a column that may be another bit is none."""
    caplog.set_level("INFO", "protocol.inputs")
    Path("c.csv").write_text(f'{header}\n{ids[0]},0,1,1\n"{ids[1]}",1,0,1\n')
    assert read_codes("c.csv", [[0, 1, 1]]).query.tolist() == [[6], [5]]
    assert caplog.messages == [f"c.csv: codes in 3 columns; ids in {repr('sku') if header else 'column 1'}"]
    Path("c.csv").write_text("sku,n,b0,b1\n12,4,0,1\n10,4,1,1\n")
    refuses("sku, n among b0, b1|expected codes of 0/1", read_codes, "c.csv", [[0, 1]])
    Path("c.csv").write_text("sku,label,b0,b1\n12,4,0,1\n10,4,1,1\n")
    assert read_codes("c.csv", [[0, 1]]).query.tolist() == [[2], [3]]


HEADERS = {
    "0,1": "a row. Delete it if it is a header, or write +0 for 0 in it if it is a row.",
    "ab,c": "a hexadecimal code. Delete it if it is a header, or write 0x before each code.",
}


def test_a_header_that_may_be_a_row_or_a_code(tmp_path):
    for header in ("b0,b1", *HEADERS):
        (tmp_path / header).with_suffix(".csv").write_text(f"{header}\n12,255\n34,0\n")
    assert read_codes(Codes(tmp_path / "b0,b1.csv", 16), [[0, 0]]).query.tolist() == [[12, 255], [34, 0]]
    for header, other in HEADERS.items():
        path = tmp_path / f"{header}.csv"
        said = message_of(lambda file=path: read_codes(Codes(file, 16), [[0, 0]]))
        assert said == f"{path}: the first line {header!r} may be a header or {other}"


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, float])
def test_one_integer_for_each_item(tmp_path, dtype):
    (tmp_path / "codes.txt").write_text("\n".join(map(str, NUMBERS)))
    for values in (tmp_path / "codes.txt", NUMBERS.astype(dtype), NUMBERS.astype(dtype)[:, None]):
        pair = read_codes(Codes(values, 16), DATABASE > 0)
        np.testing.assert_array_equal(pair.query, pair.database)
    wide = np.array([1, -1, -(2**63)])
    ends = read_codes(Codes(wide, 64), wide.astype(np.uint64)).query[:, [0, 7]]
    assert ends.tolist() == [[0, 128], [255, 255], [1, 0]]


@pytest.mark.parametrize("bit_order", ["little", "big"])
def test_one_bit_in_one_column_needs_no_guess(bit_order):
    query, database = [[1], [0]], np.array([[1], [0], [0]], dtype=np.uint8)
    for form in (query, np.packbits(query, axis=1, bitorder=bit_order)):
        pair = read_codes(Codes(form, 1, bit_order), database)
        assert [side.ravel().tolist() for side in pair[:2]] == [[1, 0], [1, 0, 0]]


def test_sign_and_median_by_hand():
    query, database = [[0.0, 0.5]], [[-1.0, 1.0], [0.0, 2.0], [3.0, 0.5]]

    def bits(how):
        pair = read_codes(Codes(query, binarize=how), database)
        return [codes.unpack(side, pair.n_bits).astype(int).tolist() for side in pair[:2]]

    assert bits("sign") == [[[0, 1]], [[0, 1], [0, 1], [1, 1]]]
    # The medians of the database are 0 and 1; a value equal to the median is the bit 0.
    assert bits("median") == [[[0, 0]], [[0, 0], [0, 1], [1, 0]]]


LABEL_FORMS = {
    "column": lambda y: y[:, None],
    "MATLAB": lambda y: y[:, None].astype(float),
    "list": np.ndarray.tolist,
    "Int64": lambda y: pd.Series(y, dtype="Int64"),
    "categories of integers": lambda y: pd.Series(y, dtype="category"),
    "torch": lambda y: torch.tensor(y),
    "largest of float16": lambda y: (y + 2044).astype("float16"),
    "largest of float32": lambda y: (y + 2**24 - 4).astype("float32"),
    "matrix": lambda y: y[:, None] == np.arange(4),
    "matrix of 0.0 and 1.0": lambda y: (y[:, None] == np.arange(4)).astype(float),
    "csr": lambda y: sparse.csr_matrix(y[:, None] == np.arange(4)),
    "sparse tensor": lambda y: torch.tensor(y[:, None] == np.arange(4)).to_sparse(),
    "matrix as data frame": lambda y: pd.DataFrame(y[:, None] == np.arange(4)),
}


@pytest.mark.parametrize("form", forms(LABEL_FORMS))
def test_labels_of_every_form(form):
    assert means(**{side: form(labels) for side, labels in LABELS.items()}) == means()


POSITIONS = [np.flatnonzero(row) for row in RELEVANT]
RELEVANCE = {
    "Boolean": lambda: RELEVANT,
    "lists of bool": RELEVANT.tolist,
    "torch": lambda: torch.tensor(RELEVANT),
    "data frame": lambda: pd.DataFrame(RELEVANT),
    "coo": lambda: sparse.coo_array(RELEVANT.astype(int)),
    "positions": lambda: POSITIONS,
    "positions in descending order": lambda: [row[::-1].tolist() for row in POSITIONS],
    "tensors of positions": lambda: [torch.tensor(row) for row in POSITIONS],
    "a generator": lambda: (row for row in POSITIONS),
    "neighbours": lambda: NeighbourRelevance(np.cumsum([0, *map(len, POSITIONS)]), np.concatenate(POSITIONS), 50),
}


@pytest.mark.parametrize("form", forms(RELEVANCE))
def test_relevance(form):
    assert means(relevance=form()) == means()


@pytest.mark.parametrize(
    ("relevance", "expected"),
    [
        ([np.array([0])], 1.0),  # an array in a list: positions
        (np.array([[0, 1]]).astype(bool), 0.5),
        ([[1]], 0.5),  # fewer columns than items: positions
        (np.array([[1]]), 0.5),
        (sparse.csr_array([[0, 2]]), 0.5),
    ],
)
def test_unambiguous_relevance(relevance, expected):
    assert evaluated([[0, 0]], [[0, 0], [1, 1]], relevance=relevance, metrics="mAP").metrics == {"mAP": expected}


def test_levels_of_a_sparse_matrix_are_gains():
    graded = evaluated([[0]], [[0], [1]], relevance=sparse.csr_matrix([[1, 3]]), metrics=["nDCG"]).metrics["nDCG"]
    assert graded == pytest.approx((1 + 7 / np.log2(3)) / (7 + 1 / np.log2(3)))


@pytest.mark.parametrize(("change", "message"), refusals("evaluation/refusals.yaml"))
def test_refusals(change, message):
    inputs = {"query": [[0, 1], [1, 0]], "database": [[0, 1], [1, 1], [1, 0]]}
    inputs |= {} if "relevance" in change else {"query_labels": [7, 8], "database_labels": [7, 8, 7]}
    assert message_of(lambda: evaluated(**inputs | change)) == message


MASKED = np.ma.masked_array(QUERY > 0, np.arange(96).reshape(6, 16) == 3)


@pytest.mark.parametrize(("ids", "n_named"), [(["b", "y"], 1), (["x", "y"], 0), (["0", "1"], 0)], ids=str)
def test_queries_with_the_id_of_a_database_item_are_named(ids, n_named, tmp_path, caplog):
    files = {"q": zip(ids, "no", strict=True), "d": zip("abc" if "y" in ids else "012", "non", strict=True)}
    for name, rows in files.items():
        (tmp_path / f"{name}.csv").write_text("id,label\n" + "".join(f"{name},{label}\n" for name, label in rows))
    labels = {"query_labels": tmp_path / "q.csv", "database_labels": tmp_path / "d.csv"}
    evaluated(np.eye(2, dtype=bool), np.eye(3, 2, dtype=bool), **labels)
    found = "1 of 2 queries have the id of a database item: perhaps themselves, which are found too easily"
    assert caplog.messages == [found] * n_named


def test_labels_in_pandas_in_another_order_than_the_codes_are_refused():
    frame, labels = pd.DataFrame(DATABASE > 0, index=[*"abcde"] * 10), pd.Series(OF_DATABASE, index=[*"abcde"] * 10)
    inputs = {"query_labels": OF_QUERY, "metrics": METRICS}
    assert evaluated(QUERY > 0, frame, database_labels=labels, **inputs).metrics == means()
    shuffled, others = labels.sort_index(), labels.rename(str.upper)
    message = r"^database labels: .+another order.+ Pass database_labels\.loc\[.+\] to match them by index"
    for wrong in (shuffled, others):
        refuses(message, evaluated, QUERY > 0, frame, database_labels=wrong, **inputs)
    assert evaluated(QUERY > 0, frame, database_labels=labels.reset_index(drop=True), **inputs).metrics == means()
    evaluated(QUERY > 0, frame, database_labels=shuffled.to_numpy(), **inputs)


MISSING = pd.Series([1, None] * 3, dtype="Int64")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": TensorElsewhere()}, "query codes: .*TensorElsewhere \\(.* Use Tensor.cpu"),
        ({"query": OnDevice(QUERY)}, "query codes: expected an array, got OnDevice \\("),
        ({"query": MASKED}, "query codes: 1 entries are masked\\. Fill or remove them"),
        ({"query_labels": MISSING}, "query labels: expected integers or strings as labels, got nan"),
        ({"relevance": np.ones((6, 50), dtype=int)}, "may be a matrix or lists of database positions"),
    ],
)
def test_refused_objects_of_libraries(change, message):
    refuses(message, means, **change)


@NEEDS_TORCH
def test_a_type_that_numpy_lacks_is_refused():
    refuses(r"query labels: expected an array, got Tensor \(", means, query_labels=torch.ones(6, dtype=torch.bfloat16))


PARTS = {"query": np.array([1, 4]), "database": np.array([0, 2, 3])}
BITS = {"query": np.array([[0, 1, 1], [1, 0, 0]]), "database": np.array([[0, 1, 1], [1, 1, 1], [1, 0, 0]])}


def test_precomputed_codes_have_the_form_that_counting_reads(tmp_path):
    np.save(tmp_path / "query.npy", 2.0 * BITS["query"] - 1)
    np.save(tmp_path / "database.npy", np.packbits(BITS["database"], axis=1))
    files = {"query": str(tmp_path / "query.npy"), "database": 2 * BITS["database"] - 1}
    for sides, encoding in ((files, {}), (BITS | {"database": tmp_path / "database.npy"}, {"bit_order": "big"})):
        arrays = precomputed_codes({3: sides}, PARTS, name="codes.mine", **encoding)
        (pair,) = codes.of_split({f"a/{name}": array for name, array in arrays.items()}, PARTS, "a").values()
        for side, bits in BITS.items():
            np.testing.assert_array_equal(codes.unpack(pair[side], 3), bits)
    with refused(r"^codes.mine: .*query.npy: 3 columns of int64, but n_bits=4 needs 4 columns of bits"):
        precomputed_codes({4: files}, PARTS, name="codes.mine")
    with refused(r"^codes.mine: database codes: 2 rows for 3 row numbers of `database` in splits"):
        precomputed_codes({3: BITS | {"database": BITS["query"]}}, PARTS, name="codes.mine")
