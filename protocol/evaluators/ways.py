"""Ways to evaluate: a measure, and the variants by which evaluators differ from the standard."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from protocol.scores.tables import filled

PACKAGE_DATA = "variants.toml"


@dataclass(frozen=True)
class Variant:
    """One thing that evaluators do differently from the standard.

    Parameters
    ----------
    family : str
        An evaluation has at most one variant of each family.
    name : str
        The name, which is unique in its family.
    text : str
        What is computed differently.
    weight : int
        1 for a convention of many tools, 2 for a rarer one or a fault of several tools, 3 for a fault of one tool.
    sources : tuple of str
        Where it is found.
    """

    family: str
    name: str
    text: str
    weight: int
    sources: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The text with its sources."""
        return f"{self.text} ({'; '.join(self.sources)})." if self.sources else f"{self.text}."


def _variants() -> dict[tuple[str, str], Variant]:
    declared = tomllib.loads(Path(__file__).with_name(PACKAGE_DATA).read_text("utf-8"))
    return {
        (family, name): Variant(family, name, **record | {"sources": tuple(record.get("sources", ()))})
        for family, of_family in declared.items()
        for name, record in of_family.items()
    }


_COMMON = ("", "mAP", "precision", "recall", "nDCG")
VARIANTS = _variants()
"""Every variant by family and name, as declared in ``variants.toml``."""


class Way(NamedTuple):
    """A way to compute a score: a measure, and what differs from the standard, by family and name."""

    measure: str
    variants: tuple[tuple[str, str], ...]

    @property
    def family(self) -> str:
        """The measure without its cutoff or radius, by its long name."""
        name = re.split(r"[@_[]", self.measure)[0]
        return {"P": "precision", "R": "recall"}.get(name, name)

    @property
    def weight(self) -> int:
        """The sum of the weights of the variants, and of one for a measure that seldom goes by the name of another."""
        return sum(VARIANTS[variant].weight for variant in self.variants) + (self.family not in _COMMON)

    @property
    def text(self) -> str:
        """The variants in words."""
        return "; ".join(VARIANTS[variant].text for variant in self.variants) or "the standard"

    @property
    def names(self) -> str:
        """The names of the variants."""
        return ", ".join(map(" ".join, self.variants)) or "nothing"

    def but(self, measure: str = "", **names: str) -> "Way":
        """Return the way with another measure, or with variants of other families; an empty name is the standard."""
        added = ((family, name) for family, name in names.items() if name)
        return Way(measure or self.measure, (*self.variants, *added))

    def without(self, variant: tuple[str, str]) -> "Way":
        """Return the way without a variant."""
        return self._replace(variants=tuple(other for other in self.variants if other != variant))

    def record(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {"measure": self.measure, "variants": dict(self.variants), "text": self.text, "weight": self.weight}


def meanings(ways: Iterable[Way]) -> str:
    """Return what the variants of ways mean, with their sources, a paragraph each."""
    used = dict.fromkeys(variant for way in ways for variant in way.variants)
    return "\n".join(filled(f"{' '.join(variant)}: {VARIANTS[variant].sentence}") for variant in used)
