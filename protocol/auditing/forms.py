"""Find ids that two lists write in different forms, which would hide an overlap between the lists."""

import itertools
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding
from protocol.auditing.split import Split
from protocol.splits import PARTITIONS

_BATCH = 65_536
_EDGES = "\ufeff\"'/ \t\r\n\f\v"
_IMAGES = frozenset([".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"])


def audit_forms(split: Split) -> list[Finding]:
    """Return a finding for each pair of lists with ids that differ but have the same normal form.

    Items are the same only if their ids are equal. Ids are alike if they differ only in case, Unicode normalisation,
    surrounding blanks or quotes, the direction of slashes, an image's extension, leading zeros of a number, or leading
    folders that one of them lacks: ``./a.jpg``, ``/data/a.jpg`` and ``A.png``, but not ``train/a.jpg`` and
    ``test/a.jpg``. Row numbers have only one form, and if the ids of the dataset are given, distinct ids are distinct
    items.
    """
    ids = split.dataset.ids
    if ids is None or split.dataset.n_items is not None:
        return []
    pairs = [(a, b) for a, b in itertools.combinations(PARTITIONS, 2) if len(split[a]) and len(split[b])]
    keys = _keys(ids) if pairs else np.empty(0, dtype=np.int64)
    made = []
    for a, b in pairs:
        few, many = _only_in(split, a, b), _only_in(split, b, a)
        few = few[np.isin(keys[few], keys[many])]
        if few.size:
            many = many[np.isin(keys[many], keys[few])]
            items, partners = _alike(few, many, ids)
            made += split.found("ids-differ-in-form", "warning", items, partners=partners, a=a, b=b)
    return made


def _only_in(split: Split, part: str, other: str) -> NDArray[np.int64]:
    return split[part][~np.isin(split[part], split[other])]


def _keys(ids: NDArray[np.str_]) -> NDArray[np.int64]:
    """Return a key for each id; ids that are alike have equal keys, but equal keys do not imply that ids are alike."""
    keys = np.empty(len(ids), dtype=np.int64)
    for start in range(0, len(ids), _BATCH):
        names = ids[start : start + _BATCH].tolist()
        text = "\n".join(names)
        if text.count("\n") >= len(names):
            text = "\n".join([name.replace("\n", " ") for name in names])
        keys[start : start + _BATCH] = [hash(_stem(path)) for path in _folded(text).split("\n")]
    return keys


def _folded(text: str) -> str:
    """Return text with normalised case, Unicode and slashes."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return text.lower().replace("\\", "/")


def _stem(path: str) -> str:
    """Return the last part of a path, without an image's extension and leading zeros."""
    name = path.strip(_EDGES)
    name = name[name.rfind("/") + 1 :]
    dot = name.rfind(".")
    if dot > 0 and name[dot:] in _IMAGES:
        name = name[:dot]
    return name.lstrip("0") or "0" if name.isdecimal() else name


def one_form(name: str) -> tuple[str, ...]:
    """Return the folders and the name of an id in the normal form.

    Examples
    --------
    >>> one_form("./Images//007.JPG") == one_form("images/7")
    True
    """
    path = _folded(name.replace("\n", " ")).strip(_EDGES)
    folders = [part for part in path.split("/")[:-1] if part not in ("", ".", "..")]
    return (*folders, _stem(path))


def _alike(
    first: NDArray[np.int64], second: NDArray[np.int64], ids: NDArray[np.str_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the items of the first list that are alike to one of the second list, and the first such item for each."""
    a, b = ([one_form(name) for name in ids[items].tolist()] for items in (first, second))
    found: dict[int, int] = {}
    for names, other_names, is_swapped in ((a, b, False), (b, a, True)):
        places: dict[tuple[str, ...], int] = {}
        for place, path in enumerate(other_names):
            places.setdefault(path, place)
        for place, path in enumerate(names):
            partner = _ending(path, places)
            if partner is not None:
                pair = (partner, place) if is_swapped else (place, partner)
                found.setdefault(*pair)
    rows = np.array(sorted(found), dtype=np.int64)
    return first[rows], second[[found[row] for row in rows.tolist()]]


def _ending(path: Sequence[str], places: dict[tuple[str, ...], int]) -> int | None:
    """Return the position of a path that forms the end of this one, or None."""
    return next((places[end] for n in range(len(path)) if (end := tuple(path[n:])) in places), None)
