"""Codes that are written as text, codes of one integer for each item, and advice that leads to the right reading."""

import logging
import re

import numpy as np
import pytest
from scipy.io import savemat

from protocol.checks import ProtocolError
from protocol.evaluation import Codes
from protocol.evaluation.code_pairs import read_codes

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (40, 16), dtype=np.uint8)
WORDS = ["".join(map(str, row)) for row in BITS.tolist()]
PACKED = np.packbits(BITS, axis=1, bitorder="little")
HEX = [f"{int(word, 2):04x}" for word in WORDS]
NUMBERS = np.array([int(word, 2) for word in WORDS])


def same(query, database=None):
    found = read_codes(query, query if database is None else database)
    np.testing.assert_array_equal(found.query, PACKED)
    np.testing.assert_array_equal(found.database, PACKED)
    assert found.n_bits == 16


@pytest.mark.parametrize(
    "words",
    [WORDS, HEX, [word.upper() for word in HEX], [f"0x{word}" for word in HEX]],
    ids=["bits", "hex", "HEX", "0x"],
)
def test_strings_are_codes_with_the_first_bit_first(tmp_path, words):
    (tmp_path / "c.txt").write_text("\n".join(words))
    (tmp_path / "with labels.tsv").write_text("".join(f"{word}\t{n % 3}\n" for n, word in enumerate(words)))
    (tmp_path / "with labels.txt").write_text("".join(f"{word} {n % 3}\n" for n, word in enumerate(words)))
    np.save(tmp_path / "c.npy", words)
    for file in sorted(tmp_path.iterdir()):
        same(file)
        same(Codes(file, 16))
    same(words)
    same(np.array(words, dtype="S"))
    same(words, BITS)
    same(BITS, words)


def test_the_form_of_strings_is_that_of_both_sides(tmp_path, caplog):
    """A file of few queries may happen to have no letter."""
    query = [f"{word}" for word in ["0714", "1290"]]
    (tmp_path / "q.txt").write_text("\n".join(query))
    (tmp_path / "d.txt").write_text("\n".join(HEX))
    caplog.set_level(logging.INFO, logger="protocol.inputs")
    found = read_codes(tmp_path / "q.txt", tmp_path / "d.txt")
    bits = [[int(bit) for bit in f"{int(word, 16):016b}"] for word in query]
    np.testing.assert_array_equal(found.query, np.packbits(bits, axis=1, bitorder="little"))
    assert [record.getMessage().rpartition("/")[2] for record in caplog.records] == [
        "q.txt: 2 codes of 16 bits, as hexadecimal strings",
        "d.txt: 40 codes of 16 bits, as hexadecimal strings",
    ]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.uint16, np.float64])
def test_one_integer_for_each_item_needs_the_code_length(tmp_path, dtype):
    numbers = NUMBERS.astype(dtype)
    np.save(tmp_path / "c.npy", numbers)
    (tmp_path / "c.txt").write_text("\n".join(map(str, NUMBERS)))
    savemat(tmp_path / "c.mat", {"c": numbers})
    for values in (numbers, numbers[:, None], *sorted(tmp_path.iterdir())):
        if not str(values).endswith(".mat"):  # a row of MATLAB is one item
            same(Codes(values, 16))
    same(Codes(f"{tmp_path / 'c.mat'}'", 16))
    with pytest.raises(ProtocolError, match=r"one integer for each item needs n_bits as well, at least 16\.$"):
        read_codes(numbers, numbers)


def test_integers_of_64_bits_may_be_signed():
    bits = RNG.integers(0, 2, (9, 64), dtype=np.uint8)
    unsigned = np.array([int("".join(map(str, row)), 2) for row in bits.tolist()], dtype=np.uint64)
    for numbers in (unsigned, unsigned.view(np.int64)):
        found = read_codes(Codes(numbers, 64), Codes(numbers, 64))
        np.testing.assert_array_equal(found.query, np.packbits(bits, axis=1, bitorder="little"))


SIGNED = (np.packbits(BITS, axis=1).astype(np.int16) - 128).astype(np.int8)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (Codes(WORDS, 12), "strings of 0 and 1 of 16 bits, but n_bits=12."),
        (Codes(HEX, 12), "hexadecimal strings of 16 bits, but n_bits=12."),
        (["0101", "011"], "codes of different lengths, such as '0101' and '011'."),
        (Codes(["1234", "5678"], 16), "'1234' may be a decimal or a hexadecimal number. Write 0x before hexadecimal"),
        (Codes(np.array([300, 7]), 8), "the code 300 has 9 bits, but n_bits=8."),
        (Codes(np.array([-3, 7]), 8), "Codes of one integer must not be negative, unless n_bits is 64."),
        (SIGNED, 'If they are packed, pass n_bits, and bit_order="big-128" if 128 was subtracted'),
        (SIGNED.astype(float), 'If they are packed, pass n_bits, and bit_order="big-128" if 128 was subtracted'),
        (PACKED, "Packed codes need n_bits; "),
        (PACKED.astype(float), "Packed codes need n_bits; "),
        (np.array([[1000, -4], [5, 6]]), 'If they are real-valued outputs, pass binarize="sign" or'),
        (
            np.array([[0.5, -4], [5, 6]]),
            'got values from -4 to 6. If they are real-valued outputs, pass binarize="sign" or binarize="median".',
        ),
    ],
)
def test_a_refusal_leads_to_the_right_reading(codes, message):
    with pytest.raises(ProtocolError, match=re.escape(message)) as error:
        read_codes(codes, codes)
    assert ("binarize" in str(error.value)) == ("real" in message)
