"""Codes of classes that are as far apart as possible: rows of Hadamard matrices."""

import numpy as np
from numpy.typing import NDArray


def class_codes(n_classes: int, n_bits: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a code for each class: rows of a Hadamard matrix, or random balanced codes if there is none.

    Rows of a Hadamard matrix differ in half of the bits. They are used in random order and with random signs, so that
    no bit is constant over all classes by construction; for more than n_bits classes, the negated rows are also used.
    Balanced codes have as many ones as zeros, or one more or fewer if n_bits is odd, and are distinct as long as there
    are enough of them.

    Examples
    --------
    >>> found = class_codes(10, 12, np.random.default_rng(0))
    >>> sorted({int((found[0] != other).sum()) for other in found[1:]})
    [6]
    """
    H = hadamard(n_bits)
    if H is not None and n_classes <= 2 * n_bits:
        rows = H[rng.permutation(n_bits)] ^ (rng.random((n_bits, 1)) < 0.5)
        return np.vstack([rows, ~rows])[:n_classes]
    found: dict[bytes, NDArray[np.bool_]] = {}
    again: list[NDArray[np.bool_]] = []
    for _ in range(100 * n_classes):
        code = rng.permutation(n_bits) < (n_bits + int(rng.integers(2))) // 2
        (again.append(code) if code.tobytes() in found else found.setdefault(code.tobytes(), code))
        if len(found) == n_classes:
            break
    return np.array([*found.values(), *again])[:n_classes]


def hadamard(order: int) -> NDArray[np.bool_] | None:
    """Return a matrix (order, order) in which any two rows differ in half of the entries; None for an impossible order.

    Orders 1 and 2 are trivial. A prime p = order - 1 with p mod 4 = 3 gives a matrix (Paley 1933, construction I), and
    so does a matrix of half the order (Sylvester 1867). Possible orders are thus 4, 8, 12, 16, 20, 24, 32, 40, 44, 48,
    64, ...; of the multiples of 4 up to 128, only 28, 36, 52, 56, 76, 92, 100, 112, 116 and 124 are not possible.
    """
    if order == 1:
        return np.ones((1, 1), dtype=bool)
    p = order - 1
    if p % 4 == 3 and all(p % divisor for divisor in range(2, int(p**0.5) + 1)):
        difference = np.subtract.outer(np.arange(p), np.arange(p)) % p
        positive = np.isin(difference, np.arange(1, p) ** 2 % p)
        # Q - I of the Jacobsthal matrix Q, bordered by ones: H H' = order I.
        return np.block([[np.ones((1, order), dtype=bool)], [np.ones((p, 1), dtype=bool), positive]])
    half = hadamard(order // 2) if order % 2 == 0 else None
    return None if half is None else np.block([[half, half], [half, ~half]])
