import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from protocol import codes
from protocol.checks import ProtocolError

bits = st.integers(1, 70).flatmap(lambda b: arrays(bool, st.tuples(st.integers(1, 5), st.just(b))))


def test_bit_j_is_byte_j_over_8_at_weight_2_to_the_j_mod_8():
    one = np.zeros((1, 17), dtype=bool)
    one[0, [0, 3, 15, 16]] = True
    assert codes.pack(one).tolist() == [[1 + 8, 128, 1]]


@given(bits)
def test_unpack_inverts_pack(plain):
    packed = codes.pack(plain)
    assert packed.shape == (len(plain), -(-plain.shape[1] // 8))
    assert (codes.unpack(packed, plain.shape[1]) == plain).all()


@given(bits)
def test_distance_is_the_number_of_differing_bits(plain):
    packed = codes.pack(plain)
    expected = [[int((a != b).sum()) for b in plain] for a in plain]
    assert codes.hamming_distance(packed, packed).tolist() == expected


@given(bits)
def test_words_hold_the_same_bits(plain):
    words = codes.words(codes.pack(plain))
    value = [sum(int(bit) << j for j, bit in enumerate(row)) for row in plain]
    assert [sum(int(word) << (64 * i) for i, word in enumerate(row)) for row in words] == value


@given(bits, st.sampled_from([1, 8]), st.sampled_from(["same", "different"]))
def test_extension_moves_distances_as_ramap_says(plain, s, extension):
    n_bits = plain.shape[1]
    packed = codes.pack(plain)
    query, database, length = codes.extend(packed, packed, n_bits, extension=extension, extension_bits=s)
    assert length == n_bits + s
    codes.check(query, length)
    moved = codes.hamming_distance(query, database) - codes.hamming_distance(packed, packed)
    assert (moved == (s if extension == "different" else 0)).all()
    assert codes.unpack(query, length)[:, n_bits:].all()


def test_no_extension_changes_nothing():
    packed = codes.pack(np.eye(3, dtype=bool))
    query, database, n_bits = codes.extend(packed, packed, 3, extension="none", extension_bits=0)
    assert n_bits == 3
    assert (query == packed).all()
    assert (database == packed).all()


@pytest.mark.parametrize(("extension", "s"), [("none", 1), ("same", 0), ("different", -1)])
def test_extension_and_length_must_agree(extension, s):
    packed = codes.pack(np.eye(3, dtype=bool))
    with pytest.raises(ProtocolError, match="can't have"):
        codes.extend(packed, packed, 3, extension=extension, extension_bits=s)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.array([[-1, 1]]), "convert -1/\\+1 codes"),
        (np.array([[0.5]]), "wanted bits"),
        (np.zeros(4, dtype=bool), r"came shape \(4,\)"),
        (np.zeros((2, 0), dtype=bool), r"came shape \(2, 0\)"),
    ],
)
def test_pack_refuses(wrong, message):
    with pytest.raises(ProtocolError, match=message):
        codes.pack(wrong)


def test_check_refuses_bits_beyond_the_last_and_another_width():
    with pytest.raises(ProtocolError, match="bits are set after bit 3"):
        codes.check(np.array([[8]], dtype=np.uint8), 3)
    with pytest.raises(ProtocolError, match=r"9 bits are packed as uint8 \(n, 2\)"):
        codes.check(np.zeros((1, 1), dtype=np.uint8), 9)
