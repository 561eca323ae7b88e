"""The code utilisation of a database: one code per class, few codes, constant bits; and what mAP then measures.

The thresholds separate the codes that the authors of ADSH published for CIFAR-10 from those that the authors of CSQ
published for UCF101, and from the hashers of this package on the digits (8 to 64 bits, all that need no PyTorch).
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes as binary
from protocol import metrics
from protocol.checks import counted
from protocol.counting import HammingCounts, LabelRelevance, count
from protocol.evaluation.code_pairs import CodePair
from protocol.inputs.labels import brief

ONE_CODE = 0.99
"""Share of items with the one code of their class. Measured: ADSH 0.9968 to 1, digits at most 0.969, CSQ 0.342."""
ITEMS_PER_CLASS = 10
"""Fewer items per class (set of labels) on average lead to no conclusion, because items that are alone in their class
trivially have one code."""
COLLAPSED = 0.5
"""Entropy of the codes relative to that of the labels. Measured: ADSH and digits at least 1, CSQ 1.67."""
UNLIKELY = 1e-9
"""Probability that a random bit is constant by chance: bits of fewer than about 40 items lead to no conclusion."""
OTHERS = 0.5
"""Share with the one code of their class among other items, if nearly all training items have it. Measured: at least
0.67 on the digits (FastHash, which fits its training labels exactly)."""
DIFFERENCE = 0.1
"""Difference in the share of bits that differ from the majority of the class. Measured: at most 0.04 on the digits."""
EXAMINED = 1 << 18
"""Number of items that are examined, in equal distances; all items of smaller databases."""
_BLOCK = 1 << 22


class Classified(NamedTuple):
    """How well queries are classified by the codes of the classes, if the database has one code per class.

    Parameters
    ----------
    accuracy : float
        Share of the queries whose nearest class code is that of their class; ties count as an even choice.
    predicted : float
        The mAP if each query had the code of its predicted class, the nearest one, instead of its own code.
    mean_average_precision : float
        The mAP of the queries' own codes.
    """

    accuracy: float
    predicted: float
    mean_average_precision: float


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
    classified : Classified or None
        None unless the codes follow the labels and the ranking is Hamming.
    """

    n_items: int
    n_codes: int
    n_classes: int
    one_code: float
    entropy: float
    entropy_of_labels: float
    constant_bits: tuple[int, ...]
    several: bool = False
    classified: Classified | None = None

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
        texts = {
            "one-code-per-class": self._about_labels() if self.follows_labels else "",
            "collapsed-codes": self._about_entropy() if self.is_collapsed else "",
            "constant-bits": self._about_bits() if self.constant_bits else "",
        }
        return {name: text for name, text in texts.items() if text}

    def _about_labels(self) -> str:
        kind, kinds = ("set of labels", "sets of labels") if self.several else ("class", "classes")
        items = f"{'All' if self.one_code == 1 else percent(self.one_code)} of the {self.n_items:,} database items"
        text = (
            f"{items} have the one code of their {kind} ({self.n_codes:,} distinct codes for {self.n_classes:,} "
            f"{kinds}), so a ranking orders {kinds}, not items, and mAP measures how well queries are classified"
        )
        if (one := self.classified) is None:
            return text
        return (
            f"{text}: {percent(one.accuracy)} of the queries are nearest to the code of their {kind}. If each query "
            f"had the code of its nearest {kind}, mAP would be {one.predicted:.4f}; with its own code, it is "
            f"{one.mean_average_precision:.4f}"
        )

    def _about_entropy(self) -> str:
        of_labels = f", that of their labels {self.entropy_of_labels:.2f}" if self.n_classes else ""
        codes = counted(self.n_codes, "distinct code")
        if not self.several and self.n_codes < self.n_classes:
            codes += f" for {self.n_classes:,} classes,"
        return f"The {self.n_items:,} database items have {codes} with an entropy of {self.entropy:.2f} bits{of_labels}"

    def _about_bits(self) -> str:
        is_one, bits = len(self.constant_bits) == 1, brief(self.constant_bits)
        subject = f"Bit {bits} has" if is_one else f"{len(self.constant_bits)} bits ({bits}) have"
        return (
            f"{subject} the same value in all database items (counted from 0), so a ranking does not depend on "
            f"{'it' if is_one else 'them'}"
        )

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object: {} if nothing was found."""
        found = self.sentences()
        return {"code_utilisation": {"found": list(found)} | vars(self)} if found else {}


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal; only 1 is 100 %.

    Examples
    --------
    >>> percent(0.99999), percent(1.0)
    ('99.9 %', '100.0 %')
    """
    return f"{100 if share == 1 else min(100 * share, 99.9):.1f} %"


def code_utilisation(codes: CodePair, relevance: Any, counts: HammingCounts | None, *, empty: str) -> CodeUtilisation:
    """Return the code utilisation of the database; `counts` are those of the ranking, None if it is not Hamming.

    Parameters
    ----------
    codes : CodePair
    relevance : Relevance
        Classes are known only if it is given by labels.
    counts : HammingCounts or None
    empty : str
        How undefined average precisions count.
    """
    labels = relevance.labels[1] if isinstance(relevance, LabelRelevance) else None
    utilisation = _utilisation(codes.database, codes.n_bits, labels)
    if not utilisation.follows_labels or counts is None:
        return utilisation
    return replace(utilisation, classified=_classified(codes, relevance, counts, empty))


def _utilisation(database: NDArray[np.uint8], n_bits: int, labels: NDArray | None) -> CodeUtilisation:
    examined = slice(None, None, -(-len(database) // EXAMINED))
    code = numbers(database[examined])
    label = np.zeros_like(code) if labels is None else numbers(labels[examined])
    varies = np.bitwise_or.reduce(database, axis=0) ^ np.bitwise_and.reduce(database, axis=0)
    constant = np.flatnonzero(~binary.unpack(varies[None], n_bits)[0])
    return CodeUtilisation(
        n_items=len(code),
        n_codes=int(code.max()) + 1,
        n_classes=0 if labels is None else int(label.max()) + 1,
        one_code=float(has_one_code(code, label).mean()),
        entropy=_entropy(code),
        entropy_of_labels=_entropy(label),
        constant_bits=tuple(constant.tolist()) if tells_constant_bits(len(database), n_bits) else (),
        several=labels is not None and labels.ndim == 2,
    )


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


def _most_frequent(code: NDArray[np.int64], label: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the most frequent code of each class, and the most frequent class of each code."""
    n_codes, n_classes = code.max() + 1, label.max() + 1
    pairs, counts = np.unique(label * n_codes + code, return_counts=True)
    of_pair, code_of_pair = np.divmod(pairs[np.argsort(counts, kind="stable")], n_codes)
    code_of, class_of = np.empty(n_classes, dtype=np.int64), np.empty(n_codes, dtype=np.int64)
    code_of[of_pair], class_of[code_of_pair] = code_of_pair, of_pair  # the last assignment is that of the most frequent
    return code_of, class_of


def has_one_code(code: NDArray[np.int64], label: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which items have the most frequent code of their class, and this class is the most frequent of the code.

    Examples
    --------
    >>> has_one_code(np.array([0, 0, 1, 2, 2]), np.array([0, 0, 0, 1, 1])).tolist()
    [True, True, False, True, True]
    """
    code_of, class_of = _most_frequent(code, label)
    return (code == code_of[label]) & (label == class_of[code])


def _classified(codes: CodePair, relevance: LabelRelevance, counts: HammingCounts, empty: str) -> Classified:
    """Count once for each pair of a query's class and its predicted class, instead of once for each query."""
    n_queries, (query_labels, database_labels) = len(codes.query), relevance.labels
    label = numbers(np.concatenate([query_labels, database_labels]))
    in_database, of_items = np.unique(label[n_queries:], return_inverse=True)
    code = numbers(codes.database)
    code_of, _ = _most_frequent(code, of_items)
    class_codes = codes.database[np.unique(code, return_index=True)[1][code_of]]
    size, keys, weights, query = max(1, _BLOCK // class_codes.size), [], [], []
    for start in range(0, n_queries, size):
        distances = binary.hamming_distance(codes.query[start : start + size], class_codes)
        is_nearest = distances == distances.min(axis=1, keepdims=True)
        row, predicted = np.nonzero(is_nearest)
        keys.append(label[start + row] * len(class_codes) + predicted)
        weights.append(1 / is_nearest.sum(axis=1)[row])
        query.append(start + row)
    pairs, first, pair = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    weight = np.bincount(pair, np.concatenate(weights))
    own, predicted = np.divmod(pairs, len(class_codes))
    truth = {"0": LabelRelevance(query_labels[np.concatenate(query)[first]], database_labels)}
    by_pair = count(class_codes[predicted], codes.database, codes.n_bits, truth)["0"]
    precisions = metrics.evaluate(by_pair, ["mAP"], empty=empty)["mAP"]
    defined = ~np.isnan(precisions)
    return Classified(
        float(weight[in_database[predicted] == own].sum() / n_queries),
        float(np.average(precisions[defined], weights=weight[defined])),
        metrics.mean(metrics.evaluate(counts, ["mAP"], empty=empty)["mAP"]),
    )
