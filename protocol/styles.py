"""The colour and marker of each method in a figure.

A style depends on the set of methods that are shown, not on their order, so every figure of an experiment and every
comparison of the same methods draws a method alike. Up to twelve methods differ in colour and in marker. The colours
differ also for colour-blind readers; in grey, markers tell the methods apart.
"""

import tomllib
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

PACKAGE_DATA = "styles.toml"
_DECLARED = tomllib.loads(Path(__file__).with_name(PACKAGE_DATA).read_text("utf-8"))
COLOURS = tuple(_DECLARED["colours"])
"""Twelve colours with a contrast of 3:1 with a white and with a dark page (WCAG 2.1, 1.4.11).

Any two differ by at least 20 (CIELAB) for normal vision, protanopia, deuteranopia and tritanopia (Machado, Oliveira and
Fernandes 2009). They were found by simulated annealing, and ordered so that the first ones differ most.
"""
MARKERS = tuple(_DECLARED["markers"].values())
"""Filled shapes as SVG paths; Vega scales the square from -1 to 1 to a symbol's size."""
_FIRST = ("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh", "ksh", "sdh", "cca_itq", "grh")
"""Each of these hashers has the style of its position wherever it is shown."""


class Style(NamedTuple):
    """The style of a method: an HTML colour, and a marker as an SVG path."""

    colour: str
    marker: str


def styles(names: Iterable[str]) -> dict[str, Style]:
    """Return the style of each method by name; up to 144 styles differ from each other, whatever the names.

    The digest of a name selects one of the first twelve styles, unless a well-known hasher has this name. If two names
    select the same, the second in alphabetical order has the next free one. Well-known hashers always have their own.

    Examples
    --------
    >>> styles(["mine", "itq"])["itq"] == styles(["itq", "lsh"])["itq"]
    True
    """
    methods, n = list(dict.fromkeys(names)), len(COLOURS)
    numbers: dict[str, int] = {}
    for name in sorted(methods, key=lambda name: (name not in _FIRST, name)):
        first = _FIRST.index(name) if name in _FIRST else zlib.crc32(name.encode())
        free = (n * cycle + (first + step) % n for cycle in range(len(methods)) for step in range(n))
        numbers[name] = next(place for place in free if place not in numbers.values())
    # The markers are shifted in every cycle of twelve.
    return {name: Style(COLOURS[numbers[name] % n], MARKERS[sum(divmod(numbers[name], n)) % n]) for name in methods}
