"""A finding: its kind, its severity, and the affected items."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.kinds import KIND_OF

EXAMPLES = 5
"""Maximum number of items that a text lists; JSON contains all of them."""
Findings = dict[str, list["Finding"]]
"""Findings by file."""
NOT_CHECKED = "Not checked: "
"""The beginning of the sentence about checks that were not possible."""
SEVERITIES = ("error", "warning", "information")
"""Severities, the worst first."""


@dataclass(frozen=True)
class Removal:
    """Items to remove from a partition to fix a finding.

    Parameters
    ----------
    part : str
        The partition.
    items : ndarray of int64
        Item numbers.
    kept_in : str
        The partition that keeps the items, or their partners. If it is `part`, the first entry of each item is kept.
    partners : ndarray of int64
        For pairs, the item that is kept for each of `items`; otherwise empty.
    """

    part: str
    items: NDArray[np.int64]
    kept_in: str
    partners: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Finding:
    """A problem, or a fact that a reader must know.

    Parameters
    ----------
    name : str
        Name of its kind, for example ``train-in-database``.
    severity : {"error", "warning", "information"}
        An error makes numbers wrong or incomparable. A warning is inherent in the declared protocol or in the dataset,
        or a matter of convention. Information describes the split if no protocol is declared.
    count : int
        Number of affected items (or queries, classes, partitions, runs).
    items : tuple of str
        Names of all affected items.
    consequence : str
        What follows from it, in one sentence.
    partners : tuple of str
        For findings on pairs, the other member of each pair, in the order of `items`; otherwise ().
    removals : tuple of Removal
        The items to remove from partitions to fix it; empty if removing items does not fix it.
    """

    name: str
    severity: str
    count: int
    items: tuple[str, ...]
    consequence: str
    partners: tuple[str, ...] = ()
    removals: tuple[Removal, ...] = field(default=(), compare=False, repr=False)

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few items; for pairs, both members, as ``a ~ b``."""
        few = self.items[:EXAMPLES]
        return tuple(f"{a} ~ {b}" for a, b in zip(few, self.partners, strict=False)) if self.partners else few

    @property
    def treatment(self) -> str:
        """How papers treat it."""
        return KIND_OF[self.name].treatment

    @property
    def fix(self) -> str:
        """How to fix it, in one sentence."""
        return KIND_OF[self.name].fix


def findings_of(
    name: str,
    severity: str,
    count: int,
    items: Sequence[str] = (),
    *,
    partners: Sequence[str] = (),
    removals: Sequence[Removal] = (),
    **words: str,
) -> list[Finding]:
    """Return a finding of the kind `name`, none if `count` is 0; `words` are inserted into its consequence."""
    if not count:
        return []
    consequence, names = KIND_OF[name].consequence_of(**words), tuple(map(str, items))
    return [Finding(name, severity, count, names, consequence, tuple(map(str, partners)), tuple(removals))]
