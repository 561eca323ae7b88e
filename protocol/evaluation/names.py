"""What the name of a metric says."""

from typing import Any

from protocol import registry

ALL = "all"
_CUTOFF = 1000
_RADII = (0, 1, 2)


def keywords(metric: str) -> dict[str, Any]:
    """Return the keywords that a registered metric's name stands for.

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


def everything() -> list[str]:
    """Return every registered metric, with K = 1000 and R = 0, 1, 2; of the F-measures with any beta, F1 alone.

    Examples
    --------
    >>> [name for name in everything() if name.startswith(("F1@", "P@"))]
    ['F1@r0', 'F1@r1', 'F1@r2', 'P@1000']
    """
    numbered = [
        name.replace("@K", f"@{_CUTOFF}").replace("@rR", f"@r{radius}")
        for name in registry.names("metric")
        if not name.startswith("F_beta")
        for radius in _RADII
    ]
    return list(dict.fromkeys(numbered))
