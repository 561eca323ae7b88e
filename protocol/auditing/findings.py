"""One finding: a kind, how bad it is here, and the items concerned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.kinds import find

EXAMPLES = 5
"""Items that a text names, at the most; JSON holds all."""
SEVERITIES = ("error", "warning", "information")
"""From the worst on."""


@dataclass(frozen=True)
class Removal:
    """Items to remove from a partition, so that a finding does not occur again.

    Parameters
    ----------
    part : str
        The partition.
    items : ndarray of int64
        Item numbers.
    kept_in : str
        The partition that keeps the items, or their partners; the same as `part`: it keeps the first entry of each.
    partners : ndarray of int64
        Of pairs, the item that is kept for each of `items`; else empty.
    """

    part: str
    items: NDArray[np.int64]
    kept_in: str
    partners: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or that a reader must know.

    Parameters
    ----------
    name : str
        Of its kind, for example ``train-in-database``.
    severity : {"error", "warning", "information"}
        An error makes numbers wrong or incomparable; a warning is inherent in the declared protocol or in the dataset,
        or a matter of convention; information is how the split is made, where nothing is declared.
    count : int
        Items (or queries, classes, partitions, runs) concerned.
    items : tuple of str
        All of them, as the user calls them.
    consequence : str
        One sentence.
    partners : tuple of str
        Of findings on pairs, the other member of each pair, in the order of `items`; else ().
    removals : callable, optional
        Returns what to remove from which partition so that this does not occur again. None: removing items does not
        mend it.
    """

    name: str
    severity: str
    count: int
    items: tuple[str, ...]
    consequence: str
    partners: tuple[str, ...] = ()
    removals: Callable[[], Sequence[Removal]] | None = field(default=None, compare=False, repr=False)

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few items; of pairs both members, as ``a ~ b``."""
        few = self.items[:EXAMPLES]
        return tuple(f"{a} ~ {b}" for a, b in zip(few, self.partners, strict=False)) if self.partners else few

    @property
    def treatment(self) -> str:
        """How the papers treat it."""
        return find(self.name).treatment

    @property
    def mending(self) -> str:
        """How to mend it, in one sentence."""
        return find(self.name).mending


def found(
    name: str,
    severity: str,
    count: int,
    items: Sequence[str] = (),
    *,
    partners: Sequence[str] = (),
    removals: Callable[[], Sequence[Removal]] | None = None,
    **words: str,
) -> list[Finding]:
    """Return a finding of the kind `name`, or nothing where `count` is 0; `words` fill in the kind's consequence."""
    if not count:
        return []
    consequence = find(name).consequence.format(**words)
    return [Finding(name, severity, count, tuple(map(str, items)), consequence, tuple(map(str, partners)), removals)]
