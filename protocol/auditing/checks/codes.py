"""Check the codes of a split: whether they follow the labels, and whether those of training items are unlike others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import Split
from protocol.checks import ProtocolError
from protocol.codes import unpack
from protocol.evaluation.code_pairs import CodePair, read_codes
from protocol.evaluation.code_utilisation import (
    DIFFERENCE,
    EXAMINED,
    ITEMS_PER_CLASS,
    ONE_CODE,
    OTHERS,
    has_one_code,
    numbers,
    percent,
    tells_constant_bits,
)
from protocol.evaluation.conventions import Scoring
from protocol.evaluation.evaluation import scored
from protocol.evaluation.ground_truth import Labels, ground_truth
from protocol.inputs.conversion import named

_SIDES = ("query", "database")


def audit_codes(split: Split, query: Any, database: Any) -> tuple[list[Finding], list[str]]:
    """Return the findings on the codes of a split, and the checks that were not possible.

    The codes are in the order of the lists of the queries and of the database.

    Raises
    ------
    ProtocolError
        If codes can't be read or are not one for each item, or labels are missing.
    """
    codes = read_codes(query, database)
    items = [split.entries[side] for side in _SIDES]
    for side, n_codes, of_side, given in zip(_SIDES, codes.sizes, items, (query, database), strict=True):
        if n_codes != len(of_side):
            name = named(getattr(given, "values", given), f"{side} codes")
            raise ProtocolError(f"{name}: {n_codes:,} codes for {len(of_side):,} items of the {side} list.")
    labels = [split.dataset.class_labels(of_side) for of_side in items]
    if any(of_side is None for of_side in labels):
        raise ProtocolError("query_codes and database_codes need the labels of all queries and database items as well.")
    utilisation = scored(codes, ground_truth(Labels(*labels), *codes.sizes), Scoring(["mAP"])).code_utilisation
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
    of_training = _of_training_items(codes, np.asarray(labels[1]), is_training)
    need = f"(needs {ITEMS_PER_CLASS} items of each class on average, in the database"
    not_checked = {
        f"one-code-per-class {need})": utilisation.n_items < ITEMS_PER_CLASS * utilisation.n_classes,
        f"training-codes-differ {need}, both in and outside the training set)": of_training is None,
        "constant-bits (needs more database items)": not tells_constant_bits(n_items, codes.n_bits),
    }
    return findings + (of_training or []), [check for check, is_missing in not_checked.items() if is_missing]


def _of_training_items(codes: CodePair, labels: NDArray, is_training: NDArray[np.bool_]) -> list[Finding] | None:
    """Return a finding if the codes of training items in the database are unlike those of the other database items.

    None if one of them has too few items of the same classes. Either nearly all training items and less than half of
    the others have the one code of their class, or their bits agree with the majority of the other items of their class
    to a very different degree.
    """
    if is_training.all() or not is_training.any():
        return []
    examined = slice(None, None, -(-len(labels) // EXAMINED))
    label, packed, is_training = numbers(labels[examined]), codes.database[examined], is_training[examined]
    in_both = np.isin(label, label[is_training]) & np.isin(label, label[~is_training])
    label, packed, is_training = numbers(label[in_both]), packed[in_both], is_training[in_both]
    n_items = np.bincount(is_training, minlength=2)
    if not len(label) or n_items.min() < ITEMS_PER_CLASS * (label.max() + 1):
        return None
    groups = (is_training, ~is_training)
    share = [has_one_code(numbers(packed[group]), label[group]).mean() for group in groups]
    bits, order = unpack(packed, codes.n_bits), np.flatnonzero(~is_training)[np.argsort(label[~is_training])]
    starts = np.searchsorted(label[order], np.arange(label.max() + 1))
    ones = np.add.reduceat(bits[order], starts, axis=0, dtype=np.int64)
    majority = 2 * ones > np.bincount(label[order])[:, None]
    differs = [(bits[group] != majority[label[group]]).mean() for group in groups]
    if share[0] >= ONE_CODE and share[1] < OTHERS:
        what = f"{percent(share[0])} of the training items in the database have the one code of their class, and "
        what += f"{percent(share[1])} of the other items"
    elif abs(differs[0] - differs[1]) > DIFFERENCE:
        what = f"{percent(differs[0])} of the bits of training items in the database differ from the majority of the "
        what += f"other items of their class, and {percent(differs[1])} of the bits of these other items"
    else:
        return []
    return findings_of("training-codes-differ", "warning", int(n_items[1]), what=what)
