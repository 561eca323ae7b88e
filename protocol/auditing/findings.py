"""A finding (its severity and the affected items), and all kinds of findings, whose texts are in ``findings.toml``."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PACKAGE_DATA = "findings.toml"
_PLACE = re.compile(r"\{(\w+)\|([^}]*)\}")
EXAMPLES = 5
"""Maximum number of items that a text lists; JSON contains all of them."""
Findings = dict[str, list["Finding"]]
"""Findings by file."""
NOT_CHECKED = "Not checked: "
"""The beginning of the sentence about checks that were not possible."""
SEVERITIES = ("error", "warning", "information")
"""Severities, the worst first."""


@dataclass(frozen=True)
class Kind:
    """The texts of one kind of finding.

    Parameters
    ----------
    name : str
    summary : str
        Its meaning, in one line.
    template : str
        What follows for the results, in one sentence. A check replaces each ``{name|general words}``; without a split,
        the general words remain.
    treatment : str
        How papers treat it, with the source.
    fix : str
        How to fix it: one sentence in the imperative.
    """

    name: str
    summary: str
    template: str
    treatment: str
    fix: str

    @property
    def consequence(self) -> str:
        """What follows for the results of any split."""
        return _PLACE.sub(r"\2", self.template)

    def consequence_of(self, **words: str) -> str:
        """Return what follows for one split; `words` contains the words for each place in the template."""
        return _PLACE.sub(lambda match: words[match[1]], self.template)

    @property
    def source(self) -> str:
        """The last column of `protocol list`."""
        return self.treatment


with open(Path(__file__).with_name(PACKAGE_DATA), "rb") as _stream:
    KIND_OF = {name: Kind(name, **texts) for name, texts in tomllib.load(_stream).items()}
"""The kinds of findings by name, in the order of reports: leaks first."""


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
