"""Check codes against labels, including those of training items, and labels as ground truth of the queries."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import Split
from protocol.auditing.runs import Run
from protocol.codes import unpack
from protocol.counting import LabelRelevance
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.code_utilisation import (
    DIFFERENCE,
    EXAMINED,
    ITEMS_PER_CLASS,
    code_utilisation,
    numbers,
    percent,
    tells_constant_bits,
)


def audit_codes(run: Run) -> tuple[list[Finding], list[str]]:
    """Return the findings on the codes of a split, and the checks that were not possible."""
    split, codes = run.split, run.codes
    if codes is None:
        return [], ["one-code-per-class, training-codes-differ, collapsed-codes, constant-bits (need codes)"]
    query, database = (np.asarray(split.dataset.class_labels(split.entries[side])) for side in ("query", "database"))
    utilisation = code_utilisation(codes, LabelRelevance(query, database))
    bits, n_items = utilisation.constant_bits, len(codes.database)
    facts: dict[str, tuple[str, int, Any]] = {
        "one-code-per-class": ("warning", round(utilisation.one_code * n_items), ()),
        "collapsed-codes": ("warning", n_items, ()),
        "constant-bits": ("information", len(bits), [f"bit {bit}" for bit in bits]),
    }
    findings = list[Finding]()
    for name, what in utilisation.sentences().items():
        findings += findings_of(name, *facts[name], what=what)
    is_training = np.isin(split.entries["database"], split["train"])
    of_training = _of_training_items(codes, database, is_training)
    need = f"(needs {ITEMS_PER_CLASS} items of each class on average, in the database"
    not_checked = {
        f"one-code-per-class {need})": utilisation.n_items < ITEMS_PER_CLASS * utilisation.n_classes,
        f"training-codes-differ {need}, both in and outside the training set)": of_training is None,
        "constant-bits (needs more database items)": not tells_constant_bits(n_items, codes.n_bits),
    }
    return findings + (of_training or []), [check for check, is_missing in not_checked.items() if is_missing]


def _of_training_items(codes: CodePair, labels: NDArray, is_training: NDArray[np.bool_]) -> list[Finding] | None:
    """Return a finding if the codes of training items in the database are unlike those of the other database items.

    Their bits then agree with the majority of the other items of their class to a very different degree. None if one of
    them has too few items of the same classes.
    """
    if is_training.all() or not is_training.any():
        return []
    examined = slice(None, None, -(-len(labels) // EXAMINED))
    label, packed, is_training = numbers(labels[examined]), codes.database[examined], is_training[examined]
    in_both = np.isin(label, label[is_training]) & np.isin(label, label[~is_training])
    label, bits, is_training = numbers(label[in_both]), unpack(packed[in_both], codes.n_bits), is_training[in_both]
    n_items = np.bincount(is_training, minlength=2)
    if not len(label) or n_items.min() < ITEMS_PER_CLASS * (label.max() + 1):
        return None
    others = np.flatnonzero(~is_training)[np.argsort(label[~is_training])]
    starts = np.searchsorted(label[others], np.arange(label.max() + 1))
    ones = np.add.reduceat(bits[others], starts, axis=0, dtype=np.int64)
    majority = 2 * ones > np.bincount(label[others])[:, None]
    differs = bits != majority[label]
    share, of_others = differs[is_training].mean(), differs[~is_training].mean()
    what = f"{percent(share)} of the bits of training items in the database differ from the majority of the other "
    what += f"items of their class, and {percent(of_others)} of the bits of these other items"
    is_different = abs(share - of_others) > DIFFERENCE
    return findings_of("training-codes-differ", "warning", is_different * int(n_items[1]), what=what)


# Queries without relevant items


def audit_relevance(split: Split) -> list[Finding]:
    """Return a finding for test queries that share no label with any database item, if labels are known."""
    query, database = (split.dataset.class_labels(split[name]) for name in ("query", "database"))
    if query is None or database is None:
        return []
    queries = split["query"][_without_shared_label(query, database)]
    return split.findings("query-without-relevant", "warning", queries, truth="By class label")


def audit_truth(truths: Mapping[str, Mapping[str, NDArray]], ids: NDArray, *, split: str) -> list[Finding]:
    """Return a finding for each ground truth in which queries have no relevant items.

    Parameters
    ----------
    truths : mapping
        The arrays of each ground truth, by name: neighbour lists (``indptr``), or labels.
    ids : ndarray, shape (n_queries,)
        The names of the queries.
    split : str
        The split protocol to which the database belongs.
    """
    findings = []
    for name, arrays in truths.items():
        if "indptr" in arrays:
            empty = np.flatnonzero(np.diff(arrays["indptr"]) == 0)
        else:
            empty = _without_shared_label(arrays["query_labels"], arrays["database_labels"])
        truth = f"With the ground truth {name} on the split {split}"
        findings += findings_of("query-without-relevant", "warning", len(empty), ids[empty].tolist(), truth=truth)
    return findings


def _without_shared_label(query: NDArray, database: NDArray) -> NDArray[np.int64]:
    """Return the positions of queries that share no label with any database item."""
    if query.ndim == 1:
        return np.flatnonzero(~np.isin(query, database))
    return np.flatnonzero(~(query & database.any(axis=0)).any(axis=1))
