"""The names that figures and tables show, and each hasher's colour, marker and dash, the same in every experiment.

A style depends only on the hasher's name. The table below determines the styles of the known hashers. For any other
name, such as that of a second use of a plug-in, a digest of the name selects a style whose combination of colour and
shape has no place in the table.
"""

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

COLOURS = ("#6459d1", "#e17700", "#047529", "#ae2e94", "#109ddd", "#e60034", "#786369", "#bf856a")
"""The hues of Okabe and Ito (Color Universal Design, 2008), with another lightness for each.

Each has a contrast of 3:1 with a white and with a dark page (WCAG 2.1, 1.4.11), and any two differ by at least 20
(CIELAB) for normal vision, protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes 2009). They were
found by a random search that started from the original hues.
"""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2))
"""Lengths of strokes and gaps in pixels; the first is a solid line."""
# Each row has one dash and each column one colour. Hashers that often occur together are in different columns.
_TABLE = (
    ("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh"),
    ("ksh", "cca_itq", "sdh", "grh", "sign", "classifier", "median", "cvh"),
    ("buffer_zone", "mihash", "dtsh", "dpsh", "talr_ap", "csq", "hashnet", "talr_ndcg"),
    ("deep_squared", "", "m_dsh", "deep_supervised", "talr_ap_network", "talr_ndcg_network", "bre", "fasthash"),
)
_SHIFTS = (0, 1, 3, 6)  # by which the shapes of each row are shifted, so that no shape occurs twice in a column


class Style(NamedTuple):
    """The style of a hasher: an HTML colour, a Vega shape and a Vega dash."""

    colour: str
    shape: str
    dash: tuple[int, ...]


_PLACES = [
    (name, Style(colour, SHAPES[(column + shift) % len(SHAPES)], dash))
    for row, shift, dash in zip(_TABLE, _SHIFTS, DASHES, strict=True)
    for column, (name, colour) in enumerate(zip(row, COLOURS, strict=True))
]
_KNOWN = {name: style for name, style in _PLACES if name}
_MARKERS = {(style.colour, style.shape) for _, style in _PLACES}  # also of empty places, so that filling them is safe
_OTHERS = [Style(*parts) for parts in itertools.product(COLOURS, SHAPES, DASHES) if parts[:2] not in _MARKERS]


def display_name(config: Mapping[str, Any], kind: str, name: str) -> str:
    """Return the name that figures and tables show; by default `name` itself.

    Parameters
    ----------
    config : mapping
        A checked configuration, whose key `names` has the display names of everything that the experiment uses.
    kind : {"dataset", "feature", "ground_truth", "split", "hasher", "metric"}
    name : str
        The name in the configuration and in the result tables.

    Examples
    --------
    >>> display_name({"names": {"hashers": {"pca_rr": "PCA-RR"}}}, "hasher", "pca_rr")
    'PCA-RR'
    """
    names = config.get("names", {})
    return str(names.get("dataset", name) if kind == "dataset" else names.get(f"{kind}s", {}).get(name, name))


def styles(hashers: Iterable[str]) -> dict[str, Style]:
    """Return the style of each hasher by name.

    The digests of two names outside the table may select the same of more than 100 styles. The first of them in
    `hashers` then has this style, and the other the next free one.

    Examples
    --------
    >>> styles(["lsh", "itq"])["itq"] == styles(["itq"])["itq"]
    True
    """
    by_name: dict[str, Style] = {}
    for name in hashers:
        by_name[name] = _KNOWN.get(name) or _free(name, set(by_name.values()))
    return by_name


def _free(name: str, taken: set[Style]) -> Style:
    """Return the style that a name's digest selects, or the next free one; if none is free, the selected one."""
    start = int(hashlib.sha256(name.encode()).hexdigest(), 16) % len(_OTHERS)
    candidates = [*_OTHERS[start:], *_OTHERS[:start]]
    return next((style for style in candidates if style not in taken), candidates[0])
