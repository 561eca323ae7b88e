"""The keyword arguments in the name of a metric, and the list of "all" metrics."""

from collections.abc import Iterable
from typing import Any

from protocol import registry

ALL = "all"
_CUTOFF = 1000
_RADII = (0, 1, 2)


def keywords(metric: str) -> dict[str, Any]:
    """Return the keyword arguments that the name of a registered metric implies.

    Raises
    ------
    ProtocolError
        If no metric has the name.

    Examples
    --------
    >>> keywords("mAP@1000[retrieved]"), keywords("mAP")
    ({'denominator': 'retrieved', 'cutoff': 1000}, {})
    """
    return getattr(registry.get("metric", metric), "keywords", {})


def everything(n_bits: int) -> list[str]:
    """Return the metrics for arbitrary relevance, with K = 1000, R = 0, 1, 2 up to `n_bits`, and F1 as the F-measure.

    Examples
    --------
    >>> [name for name in everything(1) if name.startswith(("F", "P@"))]
    ['F1@r0', 'F1@r1', 'F1_micro@r0', 'F1_micro@r1', 'P@1000']
    """
    numbered = [
        name.replace("@K", f"@{_CUTOFF}").replace("@rR", f"@r{radius}")
        for name in registry.names("metric")
        if not name.startswith("F_beta") and not registry.METRICS.entry(name).relevant
        for radius in _RADII
        if radius <= n_bits
    ]
    return list(dict.fromkeys(["mAP", *numbered]))  # the most common metric first


def needs(metrics: Iterable[str]) -> dict[str, list[str]]:
    """Return the metrics that require more than the histograms, grouped by the array of the counts that they require.

    Examples
    --------
    >>> needs(["mAP", "mAP[index]", "mLGAP@r2"])
    {'index_average_precision': ['mAP[index]'], 'largest_bucket': ['mLGAP@r2']}
    """
    found: dict[str, list[str]] = {}
    for name in metrics:
        array = registry.METRICS.entry(name).needs
        if array:
            found.setdefault(array, []).append(name)
    return found
