"""The cutoff of a ranking."""

from protocol.checks import ProtocolError
from protocol.ranking import HammingCounts


def places(counts: HammingCounts, cutoff: int | None) -> int:
    """Return how many items are looked at: `cutoff`, the whole database where that is None or larger.

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1.
    """
    if cutoff is None:
        return counts.n_database
    if cutoff < 1:
        raise ProtocolError(f"cutoff: wanted at least 1, came {cutoff}")
    return min(cutoff, counts.n_database)
