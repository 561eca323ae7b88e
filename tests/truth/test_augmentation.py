"""The product of augmented vectors differs from the key, in exact arithmetic, by no more than its error bound."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.truth._augmentation import InnerAugmentation, SquaredAugmentation


def exact(X):
    return [[Fraction(float(x)) for x in row] for row in X]


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 16, 60]),
    st.sampled_from([0.0, 3.0, 1e4]),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from(["euclidean", "cosine", "dot"]),
)
def test_the_product_stays_within_the_bound_of_its_error(seed, d, offset, dtype, distance):
    rng = np.random.default_rng(seed)
    X = (offset + 10 ** rng.uniform(-3, 3, (16, 1)) * rng.standard_normal((16, d))).astype(dtype)
    query, database = X[:4], X[4:]
    augmentation = (
        SquaredAugmentation(query, database)
        if distance == "euclidean"
        else InnerAugmentation(database, unit=distance == "cosine")
    )
    queries, right = augmentation.queries(query), augmentation.items(database, 0)
    for i, a in enumerate(exact(query)):
        # The keys of distances in exact arithmetic, but for a square root; two intervals of 49 bits contain them.
        found = []
        for b in exact(database):
            inner = sum(x * y for x, y in zip(a, b, strict=True))
            if distance == "euclidean":
                found.append(float(sum((x - y) ** 2 for x, y in zip(a, b, strict=True))) ** 0.5)
            elif distance == "dot":
                found.append(float(-inner))
            else:
                squares = [sum(x * x for x in v) for v in (a, b)]
                found.append(1 - float(inner / Fraction(float(squares[0] * squares[1]) ** 0.5)))
        low, high = queries.keys(np.array(found), np.full(len(found), i))
        bound = np.zeros(len(query))
        bound[i] = (low[0] + high[0]) / 2
        left = queries.within(bound)
        values = (left.vectors @ right.vectors.T)[i].astype(np.float64)
        assert (values <= high - bound[i]).all()
        assert (values + left.uncertainty[i] + right.uncertainty >= low - bound[i]).all()


@pytest.mark.parametrize("unit", [False, True])
def test_the_uncertainty_is_small(unit):
    X = np.random.default_rng(0).standard_normal((100, 64)).astype(np.float32)
    augmentation = InnerAugmentation(X, unit=unit)
    left, right = augmentation.queries(X).within(np.zeros(100)), augmentation.items(X, 0)
    products = left.vectors @ right.vectors.T
    assert (left.uncertainty.max() + right.uncertainty.max()) < 1e-4 * np.abs(products).max()
