"""Conventions of ``conventions.toml``: how papers and tools score, as metrics and a treatment of undefined values."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol.checks import one_of


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
    not_copied : tuple of str
        Differences from the original, including its bugs, which may make its numbers differ from ours.
    """

    name: str
    summary: str
    source: str
    metrics: tuple[str, ...]
    reported_as_map: tuple[str, ...] = ("mAP",)
    drops: tuple[str, ...] = ()
    not_copied: tuple[str, ...] = ()

    def undefined(self, metric: str) -> str:
        """Return how a metric treats undefined values, for its argument ``undefined``: ``"zero"`` or ``"drop"``."""
        return "drop" if metric.startswith(self.drops) else "zero"


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


def _read() -> tuple[Convention, ...]:
    entries: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / PACKAGE_DATA).read_text("utf-8"))[
        "convention"
    ]
    lists = ("metrics", "reported_as_map", "drops", "not_copied")
    return tuple(Convention(**entry | {key: tuple(entry[key]) for key in lists if key in entry}) for entry in entries)


CONVENTIONS = _read()
"""The default convention, then those of papers, then those of tools."""
