import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from protocol import codes

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
def test_words_have_the_same_bits(plain):
    words = codes.words(codes.pack(plain))
    value = [sum(int(bit) << j for j, bit in enumerate(row)) for row in plain]
    assert [sum(int(word) << (64 * i) for i, word in enumerate(row)) for row in words] == value
    np.testing.assert_array_equal(codes.from_words(words, plain.shape[1]), codes.pack(plain))


@pytest.mark.parametrize("split", ["", "improved"])
@pytest.mark.parametrize("n_shards", [1, 7])
def test_the_shards_of_a_split_are_its_database(monkeypatch, split, n_shards):
    """Several items per image, in any order, and images that are not in the database."""
    monkeypatch.setattr(codes, "_BLOCK", 4)
    rng = np.random.default_rng(0)
    prefix = f"{split}/" if split else ""
    stored = {f"{prefix}image": rng.permutation(np.repeat(np.arange(12), 3))}
    stored[f"{prefix}query_image"] = np.array([0, 0, 2, 3, 3])
    for n_bits in (8, 20):
        for side, n in (("query", 5), ("items", 36)):
            stored[f"{prefix}{n_bits}/{side}"] = codes.pack(rng.random((n, n_bits)) < 0.5)
    images = {"query": np.array([0, 3]), "database": np.array([1, 4, 5, 8, 11])}
    complete = codes.of_split(stored, images, split)
    np.testing.assert_array_equal(complete[8]["query"], stored[f"{prefix}8/query"][[0, 1, 3, 4]])
    rows = codes.rows_of_split(stored, images["database"], split)
    assert rows.sum() == 15
    parts = {n_bits: [] for n_bits in complete}
    for number in range(n_shards):
        part = slice(15 * number // n_shards, 15 * (number + 1) // n_shards)
        for n_bits, pair in codes.of_shard(stored, images, rows, part, split):
            np.testing.assert_array_equal(pair["query"], complete[n_bits]["query"])
            parts[n_bits].append(pair["database"])
    for n_bits, pair in complete.items():
        np.testing.assert_array_equal(np.concatenate(parts[n_bits]), pair["database"])
