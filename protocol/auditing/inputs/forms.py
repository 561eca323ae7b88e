"""Normal forms of ids, to find ids that two lists write in different forms, which would hide an overlap.

Items are the same only if their ids are equal. Ids are alike if they differ only in case, Unicode normalisation,
invisible characters, percent-encoding, surrounding blanks or quotes, the direction of slashes, an image's extensions
and what follows them in a URL, the notation of a number, or leading folders that one of them lacks: ``./a.jpg``,
``/data/a.jpg``, ``a.jpg?raw=1`` and ``A.png``, but not ``train/a.jpg`` and ``test/a.jpg``. The latter have the same
name, which may be the same file in another folder. They mean nothing if names are only unique within their folder
(``cat/1.jpg``, ``dog/1.jpg``), which is assumed if more than `REPEATED` of the names in a list repeat.
"""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs.images import EXTENSIONS, OTHER_EXTENSIONS

REPEATED = 0.01
"""The largest share of repeated names in a list whose names identify files: enough for chance, too few for folders that
number their files, where a list of any size repeats most names."""
_BATCH = 65_536
_EDGES = "\"'/ \t\r\n\f\v"
_EXTENSIONS = "|".join(re.escape(suffix) for suffix in sorted(EXTENSIONS | OTHER_EXTENSIONS | {".npy"}))
_AT_END = re.compile(rf"(?<=[^/])(?:{_EXTENSIONS})+$")
_IN_URL = re.compile(rf"({_EXTENSIONS})[?#].*$", re.MULTILINE)
_DIGITS = 1000  # of the longest number; Python refuses to print much longer ones
_NUMBER = re.compile(
    r"\+?(?:(?P<hex>0x[0-9a-f]+)|(?P<digits>\d{1,3}(?:[,_' ]\d{3})+|\d+)(?P<rest>(?:\.\d*)?(?:e\+?\d\d?)?))"
)
_INVISIBLE = frozenset(["\u034f", "\u115f", "\u1160", *map(chr, range(0xFE00, 0xFE10))])
"""Joiners, fillers and variation selectors: invisible, but not of the Unicode category Cf."""
_ONE_SIGN = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u00ab\u00bb"), '"')
_ONE_SIGN |= dict.fromkeys(map(ord, "\u2018\u2019\u201a"), "'") | {ord("\u0131"): "i"}


def form_keys(ids: NDArray[np.str_]) -> NDArray[np.int64]:
    """Return a key for each id; ids that are alike have equal keys, but equal keys do not imply that ids are alike."""
    keys = np.empty(len(ids), dtype=np.int64)
    for start in range(0, len(ids), _BATCH):
        names = ids[start : start + _BATCH].tolist()
        text = "\n".join(names)
        if text.count("\n") >= len(names):
            text = "\n".join([name.replace("\n", " ") for name in names])
        keys[start : start + _BATCH] = [hash(_stem(path)) for path in _folded(text).split("\n")]
    return keys


def names_repeat(lists: Iterable[NDArray[np.int64]]) -> bool:
    """Return whether names are only unique within their folder, by the keys of the ids in each list."""
    return any(len(keys) - len(np.unique(keys)) > REPEATED * len(keys) for keys in lists)


def has_folders(ids: Any) -> bool:
    """Return whether any id has a folder."""
    return any("/" in name or "\\" in name or "%" in name for name in ids.tolist())


def with_same_name(
    first: NDArray[np.int64], second: NDArray[np.int64], ids: NDArray[np.str_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the items of the first list whose name, without folders, is in the second, and the first such item."""
    a, b = ([one_form(name)[-1] for name in ids[items].tolist()] for items in (first, second))
    other_with = dict(zip(b[::-1], second[::-1].tolist(), strict=True))
    rows = [row for row, name in enumerate(a) if name in other_with]
    return first[rows], np.array([other_with[a[row]] for row in rows], dtype=np.int64)


def _folded(text: str) -> str:
    """Return lines of text with normalised case, Unicode, encoding, quotes and slashes."""
    if "%" in text:
        text = unquote(re.sub("%0a", " ", text, flags=re.IGNORECASE))
    text = text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        invisible = {ord(sign): "" for sign in set(text) if unicodedata.category(sign) == "Cf" or sign in _INVISIBLE}
        text = text.replace("i\u0307", "i").translate(_ONE_SIGN | invisible)
    return _IN_URL.sub(r"\1", text.replace("\\", "/"))


def _stem(path: str) -> str:
    """Return the last part of a path, without an image's extensions; a number in plain digits."""
    name = path.strip(_EDGES)
    name = name[name.rfind("/") + 1 :]
    if "." in name:
        name = _AT_END.sub("", name)
    if name.isdecimal() and name.isascii():  # ten times as fast as the general case
        return name.lstrip("0") or "0"
    number = _number(name) if name[:1].isdecimal() or name[:1] == "+" else None
    return name if number is None else str(number)


def _number(name: str) -> int | None:
    """Return the integer that a folded name represents in some notation: 7 for ``007``, ``7.0``, ``+7`` and ``0x7``."""
    match = _NUMBER.fullmatch(name)
    if match is None or len(name) > _DIGITS:
        return None
    if match["hex"]:
        return int(match["hex"], 16)
    number = Decimal(re.sub(r"\D", "", match["digits"]) + match["rest"])
    return int(number) if number == number.to_integral_value() else None


def check_numbers(lists: Iterable[tuple[str, NDArray[np.str_]]]) -> None:
    """Raise ProtocolError if all ids in named lists are numbers, and one number is written in two notations."""
    forms: dict[int, tuple[str, str]] = {}
    two_forms = ""
    for name, ids in lists:
        for item in ids.tolist():
            number = int(item) if item.isdecimal() and len(item) <= _DIGITS else _number(_folded(item).strip(_EDGES))
            if number is None:
                return
            first, other = forms.setdefault(number, (item, name))
            if first != item and not two_forms:
                two_forms = (
                    f"{name}: {item!r} and {first!r} in {other} are the same number, so an overlap would not be found. "
                    f"Write row numbers in all lists as plain digits, such as {number}."
                )
    if two_forms:
        raise ProtocolError(two_forms)


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


def alike(
    first: NDArray[np.int64], second: NDArray[np.int64], ids: NDArray[np.str_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the items of the first list that are alike to one of the second list, and the first such item for each."""
    a, b = ([one_form(name) for name in ids[items].tolist()] for items in (first, second))
    matches = _matches(a, b) + [(row, other) for other, row in _matches(b, a)]
    partners = dict(matches[::-1])  # the last assignment wins, so this keeps the first of several partners
    rows = np.array(sorted(partners), dtype=np.int64)
    return first[rows], second[[partners[row] for row in rows.tolist()]]


def _matches(paths: list[tuple[str, ...]], other_paths: list[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Return the paths that are equal to one of the others without any leading folders, and the first such path."""
    first_with = {path: row for row, path in reversed(list(enumerate(other_paths)))}
    matches = []
    for row, path in enumerate(paths):
        endings = (path[n:] for n in range(len(path)))
        matches += [(row, first_with[ending]) for ending in endings if ending in first_with][:1]
    return matches
