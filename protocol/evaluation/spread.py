"""The spread of mAP: the values of the same codes under all conventions that call a value mAP."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import metrics
from protocol.counting import HammingCounts
from protocol.evaluation.conventions import CONVENTIONS
from protocol.registry import METRICS

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
    """One value: its metric, the treatment of undefined queries, and the conventions that call it mAP."""

    value: float
    metric: str
    empty: tuple[str, ...]
    conventions: tuple[str, ...]


def spread_of(counts: HammingCounts) -> tuple[SpreadRow, ...]:
    """Return the rows of `spread_rows` for a Hamming ranking, from its counts with ``index_order``."""
    pairs = [(name, empty) for name in spread_metrics(counts.n_database, "hamming") for empty in ("zero", "drop")]
    return spread_rows({(name, empty): metrics.evaluate(counts, [name], empty=empty)[name] for name, empty in pairs})


def spread_metrics(n_database: int, ranking: str) -> list[str]:
    """Return the variants of mAP of a ranking.

    Cutoffs beyond the size of the database are omitted, because the value is that of the complete ranking. The area
    under the curve over the Hamming radius is omitted if the ranking has no radius.
    """
    defined = [name for name in _METRICS if ranking == "hamming" or METRICS.entry(name).defined_on == "ranking"]
    return [name for name in defined if metrics.keywords(name).get("cutoff", 0) < n_database]


def spread_rows(values: Mapping[tuple[str, str], NDArray[np.float64]]) -> tuple[SpreadRow, ...]:
    """Return the mean of every variant of mAP, largest first, once with undefined values as 0 and once without them.

    A variant that no convention calls mAP has no ``conventions``. If undefined values make no difference, there is only
    one row.

    Parameters
    ----------
    values : mapping of (str, str) to ndarray of float64
        The values per query for each metric and each treatment of undefined values, ``zero`` and ``drop``.
    """
    rows = []
    for name in dict.fromkeys(name for name, _ in values):
        zero, drop = (metrics.mean(values[name, empty]) for empty in ("zero", "drop"))
        same = math.isclose(zero, drop, rel_tol=1e-12)
        ways = {("zero", "drop"): zero} if same else {("zero",): zero, ("drop",): drop}
        rows += [SpreadRow(value, name, empty, _callers(name, empty)) for empty, value in ways.items()]
    return tuple(sorted(rows, key=lambda row: 1.0 if math.isnan(row.value) else -row.value))


def _callers(metric: str, empty: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(rules.name for rules in CONVENTIONS if metric in rules.called_map and rules.empty(metric) in empty)
