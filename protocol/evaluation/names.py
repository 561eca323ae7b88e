"""What the name of a metric says."""

from typing import Any

from protocol import registry


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
