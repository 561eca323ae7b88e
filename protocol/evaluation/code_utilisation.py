"""The code utilisation of a database: one code per class, few codes, constant bits.

The thresholds separate the codes that the authors of ADSH published for CIFAR-10 from those that the authors of CSQ
published for UCF101, and from the hashers of this package on the digits (8 to 64 bits, all that need no PyTorch).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import codes as binary
from protocol.checks import abridged, counted
from protocol.counting import LabelRelevance, Relevance
from protocol.evaluation.code_pairs import CodePair

ONE_CODE = 0.99
"""Share of items with the one code of their class. Measured: ADSH 0.9968 to 1, digits at most 0.969, CSQ 0.342."""
ITEMS_PER_CLASS = 10
"""Fewer items per class (set of labels) on average lead to no conclusion, because items that are alone in their class
trivially have one code."""
COLLAPSED = 0.5
"""Entropy of the codes relative to that of the labels. Measured: ADSH and digits at least 1, CSQ 1.67."""
UNLIKELY = 1e-9
"""Probability that a random bit is constant by chance: bits of fewer than about 40 items lead to no conclusion."""
EXAMINED = 1 << 18
"""Number of items that are examined, in equal distances; all items of smaller databases."""


@dataclass(frozen=True)
class CodeUtilisation:
    """The code utilisation of a database.

    Parameters
    ----------
    n_items : int
        The number of items that were examined, see `EXAMINED`.
    n_codes : int
        The number of their distinct codes.
    n_classes : int
        The number of classes; with several labels per item, of sets of labels; 0 if no labels are known.
    one_code : float
        Share of items that have the most frequent code of their class, if the class is the most frequent one of that
        code. It is 1 if and only if class and code determine each other.
    entropy : float
        Entropy of the codes, in bits.
    entropy_of_labels : float
        Entropy of the classes of the items, in bits.
    constant_bits : tuple of int
        Bits, from 0, that have the same value in all items of the database.
    several : bool
        Whether items have sets of labels.
    """

    n_items: int
    n_codes: int
    n_classes: int
    one_code: float
    entropy: float
    entropy_of_labels: float
    constant_bits: tuple[int, ...]
    several: bool = False

    @property
    def follows_labels(self) -> bool:
        """Whether there is one code per class, with few exceptions."""
        return self.one_code >= ONE_CODE and 1 < self.n_classes <= self.n_items / ITEMS_PER_CLASS

    @property
    def is_collapsed(self) -> bool:
        """Whether there are fewer codes than classes, or the codes have less than half of the labels' information.

        Without labels, that is half a bit. Sets of labels are more numerous than the codes of good short hashers.
        """
        if not self.several and self.n_codes < self.n_classes:
            return True
        expected = self.entropy_of_labels if self.n_classes else 1
        return self.n_items >= ITEMS_PER_CLASS * max(2, self.n_classes) and self.entropy < COLLAPSED * expected

    def sentences(self) -> dict[str, str]:
        """Return what was found, by the name of the finding of an audit; {} if nothing was."""
        kind, kinds = ("set of labels", "sets of labels") if self.several else ("class", "classes")
        sentences, codes = {}, counted(self.n_codes, "distinct code")
        if self.follows_labels:
            have = f"{percent(self.one_code)} of the {self.n_items:,} database items have the one code of their {kind}"
            so = f"a ranking orders {kinds}, not items, and mAP measures how well queries are classified"
            sentences["one-code-per-class"] = f"{have} ({codes} for {self.n_classes:,} {kinds}), so {so}"
        if self.is_collapsed:
            labels = f", that of their labels {self.entropy_of_labels:.2f}" if self.n_classes else ""
            have = f"{codes} with an entropy of {self.entropy:.2f} bits{labels}"
            sentences["collapsed-codes"] = f"The {self.n_items:,} database items have {have}"
        if self.constant_bits:
            where = f"in the database ({abridged(self.constant_bits)}, counted from 0), so no ranking depends on it"
            sentences["constant-bits"] = f"The value of {counted(len(self.constant_bits), 'bit')} never changes {where}"
        return sentences

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object: {} if nothing was found."""
        findings = list(self.sentences())
        return {"code_utilisation": {"found": findings} | vars(self)} if findings else {}


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal; only 1 is 100 %.

    Examples
    --------
    >>> percent(0.99999), percent(1.0)
    ('99.9 %', '100.0 %')
    """
    return f"{100 if share == 1 else min(100 * share, 99.9):.1f} %"


def code_utilisation(codes: CodePair, relevance: Relevance) -> CodeUtilisation:
    """Return the code utilisation of the database; classes are known only if relevance is given by labels."""
    labels = relevance.labels[1] if isinstance(relevance, LabelRelevance) else None
    database, n_bits = codes.database.view(np.uint8), codes.n_bits
    examined = slice(None, None, -(-len(database) // EXAMINED))
    code = numbers(database[examined])
    label = np.zeros_like(code) if labels is None else numbers(labels[examined])
    varies = np.bitwise_or.reduce(database, axis=0) ^ np.bitwise_and.reduce(database, axis=0)
    constant = np.flatnonzero(~binary.unpack(varies[None], n_bits)[0])
    of_vectors = codes.database.dtype != np.uint8
    bits = tuple(constant.tolist()) if tells_constant_bits(len(database), n_bits) and not of_vectors else ()
    n_codes, n_classes = int(code.max()) + 1, 0 if labels is None else int(label.max()) + 1
    one_code, entropies = float(has_one_code(code, label).mean()), (_entropy(code), _entropy(label))
    several = labels is not None and labels.ndim == 2
    return CodeUtilisation(len(code), n_codes, n_classes, one_code, *entropies, bits, several)


def tells_constant_bits(n_items: int, n_bits: int) -> bool:
    """Return whether there are enough items to conclude that a bit is constant, see `UNLIKELY`."""
    return n_bits * 2.0 ** (1 - n_items) < UNLIKELY


def numbers(rows: NDArray) -> NDArray[np.int64]:
    """Return a number from 0 for each row; equal codes, labels or sets of labels have the same number."""
    if rows.ndim == 1:
        return np.unique(rows, return_inverse=True)[1]
    words = binary.words(binary.pack(rows) if rows.dtype == bool else rows)
    number = np.zeros(len(words), dtype=np.int64)
    for word in words.T:  # a tenth of the time of np.unique(axis=0)
        of_word = numbers(word)
        number = numbers(number * (of_word.max() + 1) + of_word)
    return number


def _entropy(numbers: NDArray[np.int64]) -> float:
    shares = np.bincount(numbers) / len(numbers)
    return float(-(shares * np.log2(shares)).sum()) + 0.0  # never -0.0


def has_one_code(code: NDArray[np.int64], label: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which items have the most frequent code of their class, and this class is the most frequent of the code.

    Examples
    --------
    >>> has_one_code(np.array([0, 0, 1, 2, 2]), np.array([0, 0, 0, 1, 1])).tolist()
    [True, True, False, True, True]
    """
    n_codes, n_classes = code.max() + 1, label.max() + 1
    pairs, counts = np.unique(label * n_codes + code, return_counts=True)
    of_pair, code_of_pair = np.divmod(pairs[np.argsort(counts, kind="stable")], n_codes)
    code_of, class_of = np.empty(n_classes, dtype=np.int64), np.empty(n_codes, dtype=np.int64)
    code_of[of_pair], class_of[code_of_pair] = code_of_pair, of_pair  # the last assignment is that of the most frequent
    return (code == code_of[label]) & (label == class_of[code])
