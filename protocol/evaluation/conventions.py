"""How codes are scored: the metrics that are requested, and the conventions of ``conventions.toml``.

A convention is how a paper or a tool scores, as metrics and a treatment of undefined values.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from protocol import metrics, registry
from protocol.checks import ProtocolError, one_of
from protocol.registry.records import read_toml


@dataclass(frozen=True)
class Convention:
    """How a paper or a tool scores: a declaration only, the metrics do the computation.

    Parameters
    ----------
    name : str
    summary : str
        One line.
    source : str
        The paper and equation, or the public code and its function.
    metrics : tuple of str
        Registered metrics with their numbers, in the order of the table. Their names determine ties and denominator.
    reported_as_map : tuple of str
        Those of the metrics that the source reports as mAP.
    drops : tuple of str
        Prefixes of the metrics whose mean leaves out undefined values; all others count them as 0.
    leave_one_out : bool, default=False
        Whether a set is ranked against itself, and each query leaves its own row out, whatever the caller chooses.
    not_copied : tuple of str
        Differences from the original, including its bugs, which may make its numbers differ from ours.
    """

    name: str
    summary: str
    source: str
    metrics: tuple[str, ...]
    reported_as_map: tuple[str, ...] = ("mAP",)
    drops: tuple[str, ...] = ()
    leave_one_out: bool = False
    not_copied: tuple[str, ...] = ()

    def undefined(self, metric: str) -> str:
        """Return how a metric treats undefined values, for its argument ``undefined``: ``"zero"`` or ``"drop"``."""
        return "drop" if metric.startswith(self.drops) else "zero"

    def reports(self, metric: str, undefined: Sequence[str]) -> bool:
        """Return whether the source reports a metric, with one of these treatments of undefined values, as mAP."""
        return metric in self.reported_as_map and self.undefined(metric) in undefined


def find(name: str) -> Convention:
    """Return the convention called `name`.

    Raises
    ------
    ProtocolError
        If there is none; the message lists the known conventions.

    Examples
    --------
    >>> find("hashnet").undefined("mAP@1000[retrieved]"), find("deephash").undefined("mAP@1000[retrieved]")
    ('drop', 'zero')
    """
    one_of(name, (convention.name for convention in CONVENTIONS), "convention", listing="protocol list conventions")
    return next(convention for convention in CONVENTIONS if convention.name == name)


PACKAGE_DATA = "conventions.toml"
DECLARED = read_toml(Path(__file__).with_name(PACKAGE_DATA))
CONVENTIONS = tuple(Convention(**entry) for entry in DECLARED["convention"])
"""The default convention, then those of papers, then those of tools."""

_NEEDS = {"radius": "the Hamming radius", "buckets": "buckets of codes", "ranking": "the items of a database"}


@dataclass(frozen=True)
class Scoring:
    """The metrics that are requested, and the convention under which they are computed.

    Parameters
    ----------
    metrics : str or sequence of str, optional
        Registered metrics, or ``all``. If None, those of the convention.
    convention : str, default="default"
    leave_one_out : bool, default=False
        Whether the queries are the database items, and each query leaves its own row out of the database. True if the
        convention says so.

    Raises
    ------
    ProtocolError
        If a name is unknown, or the list of metrics is empty.
    """

    metrics: str | Sequence[str] | None = None
    convention: str = "default"
    leave_one_out: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "leave_one_out", self.leave_one_out or find(self.convention).leave_one_out)
        if self.metrics is not None and not len(self.metrics):
            raise ProtocolError("metrics: the list is empty. Pass None for the metrics of the convention.")
        for metric in self.requested:
            metrics.keywords(metric)

    @property
    def requested(self) -> list[str]:
        """The metrics that are requested by name, without ``all``."""
        names = [self.metrics] if isinstance(self.metrics, str) else list(self.metrics or ())
        return [name for name in names if name != metrics.ALL]

    @property
    def leaving(self) -> str:
        """What requires that each query leaves its own row out, for messages."""
        return f"convention {self.convention!r}" if find(self.convention).leave_one_out else "leave_one_out"

    @property
    def of_nearest(self) -> list[str]:
        """The requested metrics about the nearest items, such as ``neighbours@10``."""
        return [name for name in self.requested if registry.METRICS.entry(name).relevant]

    def names(self, n_bits: int, ranking: str, n_items: float = math.inf) -> list[str]:
        """Return the metrics to compute for codes, a ranking and its number of items, except those in `of_nearest`.

        Metrics of the convention, and those that ``all`` stands for, are omitted if the codes or the ranking do not
        support them; those of the default convention also if their cutoff is not below the size of the database.

        Raises
        ------
        ProtocolError
            If a requested metric is not supported, or none of the convention's metrics is.
        """
        for name in self.requested:
            if lack := self._lack(name, n_bits, ranking):
                raise ProtocolError(f"metric {name!r} {lack}.")
        if self.metrics is None:
            return self._of_convention(n_bits, ranking, n_items)
        if metrics.ALL in np.ravel(self.metrics):
            return [name for name in metrics.everything(n_bits) if not self._lack(name, n_bits, ranking)]
        return [name for name in self.requested if name not in self.of_nearest]

    def _of_convention(self, n_bits: int, ranking: str, n_items: float) -> list[str]:
        names = [name for name in find(self.convention).metrics if not self._lack(name, n_bits, ranking)]
        if self.convention == CONVENTIONS[0].name:
            names = [name for name in names if metrics.keywords(name).get("cutoff", 0) < n_items]
        if not names:
            raise ProtocolError(f"convention {self.convention!r}: the {ranking} ranking has none of its metrics.")
        return names

    def _lack(self, metric: str, n_bits: int, ranking: str) -> str:
        """Return what codes or a ranking lack for a metric, as the end of a sentence; nothing if it can be computed."""
        record, radius = registry.METRICS.entry(metric), metrics.keywords(metric).get("radius", 0)
        if not is_defined(metric, ranking):
            return f"needs {_NEEDS[record.defined_on]}, which the {ranking} ranking does not have"
        if self.leave_one_out and (record.defined_on == "buckets" or record.needs == "largest_bucket"):
            return "needs the buckets of the complete database, not leave_one_out"
        return f"has the radius {radius:g}, which exceeds the code length, {n_bits} bits" if radius > n_bits else ""


def is_defined(metric: str, ranking: str) -> bool:
    """Return whether a metric can be computed for a ranking; only the Hamming ranking has a radius.

    A run has neither the order of a database nor its nearest items.

    Examples
    --------
    >>> is_defined("mAP@100[all]", "asymmetric"), is_defined("precision@r2", "asymmetric")
    (True, False)
    >>> is_defined("mAP[worst]", "run"), is_defined("mAP[database-order]", "run")
    (True, False)
    """
    record = registry.METRICS.entry(metric)
    of_database = record.needs or record.relevant
    return ranking == "hamming" or (record.defined_on == "ranking" and not (ranking == "run" and of_database))
