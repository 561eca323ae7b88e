"""Finished codes of one split: any form of file, packed and checked against the split."""

import numpy as np
import pytest

from protocol import codes
from protocol.checks import ProtocolError
from protocol.evaluation.code_pairs import finished_codes

PARTS = {"query": np.array([1, 4]), "database": np.array([0, 2, 3])}
QUERY = np.array([[0, 1, 1], [1, 0, 0]])
DATABASE = np.array([[0, 1, 1], [1, 1, 1], [1, 0, 0]])


def test_codes_have_the_form_that_counting_reads(tmp_path):
    np.save(tmp_path / "query.npy", 2.0 * QUERY - 1)
    np.save(tmp_path / "database.npy", np.packbits(DATABASE, axis=1))
    arrays = finished_codes(
        {3: {"query": str(tmp_path / "query.npy"), "database": 2 * DATABASE - 1}}, PARTS, name="codes.mine"
    )
    big = finished_codes(
        {3: {"query": QUERY, "database": tmp_path / "database.npy"}}, PARTS, name="codes.mine", bit_order="big"
    )
    for found in (arrays, big):
        stored = {f"improved/{name}": array for name, array in found.items()}
        (pair,) = codes.of_split(stored, PARTS["database"], "improved").values()
        np.testing.assert_array_equal(codes.unpack(pair["query"], 3), QUERY)
        np.testing.assert_array_equal(codes.unpack(pair["database"], 3), DATABASE)


@pytest.mark.parametrize(("binarize", "first"), [("sign", [[1, 0]]), ("median", [[0, 1]])])
def test_real_values_are_binarised_as_requested(binarize, first):
    outputs = {"query": np.array([[0.2, -0.1], [1.0, 2.0]]), "database": np.array([[0.3, -2.0], [0.9, -1.0], [0.1, 5]])}
    found = finished_codes({2: outputs}, PARTS, name="codes.mine", binarize=binarize)
    assert codes.unpack(found["2/query"][:1], 2).astype(int).tolist() == first
    with pytest.raises(ProtocolError, match=r"^codes.mine: query codes: expected bits.*binarize="):
        finished_codes({2: outputs}, PARTS, name="codes.mine")


def test_another_number_of_rows():
    with pytest.raises(ProtocolError) as error:
        finished_codes({3: {"query": QUERY, "database": QUERY}}, PARTS, name="codes.mine")
    assert str(error.value) == (
        "codes.mine: database codes: expected 3 rows, one for each row number of `database` in splits.h5, got 2."
    )


def test_another_code_length(tmp_path):
    np.save(tmp_path / "query.npy", QUERY)
    with pytest.raises(ProtocolError, match=r"^codes.mine: .*query.npy: query codes: .* 4 columns of bits"):
        finished_codes({4: {"query": tmp_path / "query.npy", "database": DATABASE}}, PARTS, name="codes.mine")
