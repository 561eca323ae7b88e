"""The values that are called mAP: one set of codes under every convention in use."""

import math
from typing import NamedTuple

from protocol import metrics
from protocol.evaluation.conventions import CONVENTIONS
from protocol.ranking import HammingCounts

_CUTOFFS = (1000, 5000)
_METRICS = (
    "mAP[best]",
    "mAP",
    "mAP[index]",
    "mAP[worst]",
    *(f"mAP@{cutoff}[{denominator}]" for cutoff in _CUTOFFS for denominator in ("all", "retrieved", "min")),
    "AUPRC[area]",
)


class SpreadRow(NamedTuple):
    """One value: its metric, whether undefined queries are 0 or left out, and the conventions that call it mAP."""

    value: float
    metric: str
    empty: tuple[str, ...]
    conventions: tuple[str, ...]


def spread_of(counts: HammingCounts) -> tuple[SpreadRow, ...]:
    """Return the mean of every variant of mAP, with undefined values as 0 and left out, the largest first.

    A variant that no convention calls mAP has no ``conventions``. Cutoffs that the database does not reach are left
    out: the value is that of the complete ranking. Where undefined values make no difference there is one row.

    Parameters
    ----------
    counts : HammingCounts
        With ``index_order``.
    """
    rows = []
    for name in _METRICS:
        if metrics.keywords(name).get("cutoff", 0) >= counts.n_database:
            continue
        zero, drop = (metrics.mean(metrics.evaluate(counts, [name], empty=empty)[name]) for empty in ("zero", "drop"))
        same = math.isclose(zero, drop, rel_tol=1e-12)
        ways = {("zero", "drop"): zero} if same else {("zero",): zero, ("drop",): drop}
        rows += [SpreadRow(value, name, empty, _callers(name, empty)) for empty, value in ways.items()]
    return tuple(sorted(rows, key=lambda row: 1.0 if math.isnan(row.value) else -row.value))


def _callers(metric: str, empty: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(rules.name for rules in CONVENTIONS if metric in rules.called_map and rules.empty(metric) in empty)
