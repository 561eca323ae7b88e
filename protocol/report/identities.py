"""The identities of RAMAP section 4.1, checked on computed results."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

_TOLERANCE = 2e-9  # results are written with nine digits, so equal values may differ by 1e-9 after rounding
_PLACE = ["feature", "ground_truth", "split", "hasher", "n_bits", "metric"]


class Identity(NamedTuple):
    """A checked statement: the number of pairs of values, the number of violations, and the largest violation."""

    statement: str
    n_pairs: int
    n_violations: int
    largest: float


def check_identities(summary: "pd.DataFrame") -> list[Identity]:
    """Return the identities of same- and different-extension codes (RAMAP section 4.1 c, d, f), checked everywhere.

    Parameters
    ----------
    summary : DataFrame
        As `protocol.report.summarise` returns it; without extension codes, nothing is checked.
    """
    return [
        _checked("mAP: none = same", summary, "mAP", ("none", "same"), abs),
        _checked("mAP: none = different", summary, "mAP", ("none", "different"), abs),
        _checked("precision at a radius: none = same", summary, "precision@", ("none", "same"), abs),
        _checked("recall at a radius: none = same", summary, "recall@", ("none", "same"), abs),
        _checked("RAMAP: none >= same", summary, "RAMAP@", ("none", "same"), _shortfall),
        _checked("RAMAP: same >= different", summary, "RAMAP@", ("same", "different"), _shortfall),
    ]


def _shortfall(difference: float) -> float:
    return max(0.0, -difference)


def _checked(
    statement: str, summary: "pd.DataFrame", metric: str, pair: tuple[str, str], violation: Callable[[float], float]
) -> Identity:
    differences = list(_differences(summary[summary["metric"].str.startswith(metric)], *pair))
    violations = [violation(difference) for difference in differences]
    return Identity(
        statement, len(violations), sum(v > _TOLERANCE for v in violations), max(violations, default=float("nan"))
    )


def _differences(rows: "pd.DataFrame", left: str, right: str) -> Iterator[float]:
    """Yield the differences of the means of two extensions, which have the same length unless ``left`` is ``none``."""
    on = _PLACE if left == "none" else [*_PLACE, "extension_bits"]
    merged = rows[rows["extension"] == left].merge(rows[rows["extension"] == right], on=on)
    yield from (merged["mean_x"] - merged["mean_y"])
