"""The guarantees of every quantiser, and wrong quantisers that the checks must reject."""

import math
import re

import numpy as np
import pytest

from protocol import registry
from protocol.quantisers import Quantiser
from protocol.quantisers.int8 import Int8

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(10, 24))
TRAIN, ITEMS = (
    (CENTRES[RNG.integers(0, 10, n)] + 0.5 * RNG.normal(size=(n, 24))).astype(np.float32) for n in (600, 90)
)
OPTIONS = {"truncate": {"dims": 16}, "opq": {"n_bits": 4}}


def made(record):
    if record.extra is not None:
        pytest.importorskip(record.extra)
    return record.plugin(**OPTIONS.get(record.name, {}))


def check_facts(record):
    assert record.queries
    assert record.summary.endswith(".")
    assert issubclass(record.plugin, Quantiser)


def check_sizes(record):
    """The declared formula gives the bytes of a code, and a decoded item has the dimension of the queries."""
    quantiser = made(record)
    for dimension in (24, 16):
        model = quantiser.fit(TRAIN[:, :dimension].copy(), "dot", 0)
        codes = quantiser.encode(ITEMS[:, :dimension].copy(), model)
        formula = re.sub(r"(\d|\w) (?=\w)", r"\1 * ", record.size)
        expected = eval(formula, {"ceil": math.ceil, "d": dimension} | quantiser.options)  # noqa: S307
        assert codes.shape[1] * codes.itemsize == expected, (dimension, formula)
        queries = quantiser.queries(ITEMS[:, :dimension].copy(), model)
        assert quantiser.decode(codes, model).shape[1] == queries.shape[1]


def check_rows_are_independent(record):
    """The vector of a code does not depend on what is decoded with it.

    Nor does a code, except for the last bits of what faiss computes by products of matrices.
    """
    quantiser = made(record)
    for distance in ("euclidean", "dot"):
        model = quantiser.fit(TRAIN, distance, 0)
        codes = quantiser.encode(ITEMS, model)
        vectors = quantiser.decode(codes, model)
        for part in (slice(3, 4), slice(7, 60)):
            assert record.extra or (quantiser.encode(ITEMS[part], model) == codes[part]).all()
            np.testing.assert_array_equal(quantiser.decode(codes[part], model), vectors[part])


def check_repeatable(record):
    """The same seed gives the same codes, and no argument is changed."""
    before, quantiser = TRAIN.copy(), made(record)
    codes = [quantiser.encode(ITEMS, quantiser.fit(TRAIN, "euclidean", 2**63 - 1)) for _ in range(2)]
    np.testing.assert_array_equal(*codes)
    np.testing.assert_array_equal(TRAIN, before)


def check_it_finds_items(record):
    """The nearest of the training vectors to themselves are found far more often than by chance."""
    quantiser = made(record)
    for distance in ("euclidean", "dot"):
        model = quantiser.fit(TRAIN, distance, 0)
        items = quantiser.decode(quantiser.encode(TRAIN, model), model).astype(np.float64)
        queries = quantiser.queries(ITEMS, model).astype(np.float64)
        products, exact = queries @ items.T, ITEMS.astype(np.float64) @ TRAIN.T
        if distance == "euclidean":
            exact = 2 * exact - (TRAIN.astype(np.float64) ** 2).sum(axis=1)
        if quantiser.ranking(distance) == "euclidean":
            products = 2 * products - (items**2).sum(axis=1)
        first, true = (np.argsort(-scores, axis=1)[:, :10] for scores in (products, exact))
        assert np.mean([np.isin(*pair).mean() for pair in zip(first, true, strict=True)]) > 0.3


CHECKS = (check_facts, check_sizes, check_rows_are_independent, check_repeatable, check_it_finds_items)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", registry.names("quantiser"))
def test_contract(name, check):
    check(registry.entry("quantiser", name))


class Centring(Int8):
    """Subtracts the mean of what is decoded together."""

    def decode(self, codes, model):
        vectors = super().decode(codes, model)
        return vectors - vectors.mean(axis=0)


class Random(Int8):
    """Ignores the seed."""

    def encode(self, vectors, model):
        return super().encode(vectors, model) ^ np.random.default_rng().integers(0, 2, vectors.shape, dtype=np.int8)


class Unpacked(Int8):
    """Two bytes in place of one."""

    def encode(self, vectors, model):
        return super().encode(vectors, model).astype(np.int16)


class Reversed(Int8):
    """The opposite of each vector."""

    def decode(self, codes, model):
        return -super().decode(codes, model)


WRONG = {
    Centring: check_rows_are_independent,
    Random: check_repeatable,
    Unpacked: check_sizes,
    Reversed: check_it_finds_items,
}


@pytest.mark.parametrize(("plugin", "check"), WRONG.items(), ids=lambda value: value.__name__)
def test_wrong_quantisers_are_rejected(plugin, check):
    record = registry.QuantiserRecord("wrong", source="none", size="d", queries="real-valued")
    with pytest.raises(AssertionError):
        check(record.describing(plugin))
