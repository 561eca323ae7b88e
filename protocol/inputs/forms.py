"""The forms of ids: those of two lists that differ only in form, and the pairs of such ids.

Ids are alike if they are equal in their normal form: NFKC without case, with slashes, without an image's extension, and
numbers by their value (``007``, ``7.0``); or if one of them only lacks leading folders: ``a.jpg``, ``/data/a.jpg`` and
``A.png``, but not ``train/a.jpg`` and ``test/a.jpg``.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import groupby

from protocol.checks import abridged
from protocol.inputs.images import EXTENSIONS, UNSUPPORTED
from protocol.inputs.text import INPUTS

_EXTENSIONS = EXTENSIONS | UNSUPPORTED | {".npy"}
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d{1,3})?")
Form = tuple[str | Decimal, ...]
"""The folders and the name of an id in the normal form."""


def one_form(name: str) -> Form:
    """Return the folders and the name of an id in the normal form; a name that is a number is that number.

    Examples
    --------
    >>> one_form("./Images//007.JPG") == one_form("images/7")
    True
    """
    path = _folded(name).replace("\\", "/")
    *folders, last = [part for part in path.strip().split("/") if part not in ("", ".", "..")] or [path]
    stem, dot, extension = last.rpartition(".")
    last = stem if stem and dot + extension in _EXTENSIONS else last
    return (*folders, Decimal(last) if _NUMBER.fullmatch(last) else last)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def warn_alike(classes: Iterable[str], source: str) -> None:
    """Report names of classes that differ only in case or in the form of Unicode, which stay different classes."""
    groups = [sorted(names) for _, names in groupby(sorted(classes, key=_folded), _folded)]
    pairs = [" and ".join(map(ascii, names)) for names in groups if len(names) > 1]
    if pairs:
        INPUTS.warning("%s: %s are different classes, though they differ only in form or case", source, abridged(pairs))


def alike(first: Sequence[Form], second: Sequence[Form]) -> dict[int, int]:
    """Return the positions in the first list of ids that are alike to one of the second list, each with its position.

    Two ids are alike if they are equal, or one of them only lacks leading folders of the other.
    """
    whole, endings = dict[Form, int](), dict[Form, int]()
    for position, form in reversed(list(enumerate(second))):  # so that the first of several partners stays
        whole[form] = position
        endings |= {form[n:]: position for n in range(len(form))}
    partners = dict[int, int]()
    for position, form in enumerate(first):
        candidates = [endings.get(form), *(whole.get(form[n:]) for n in range(1, len(form)))]
        if known := [partner for partner in candidates if partner is not None]:
            partners[position] = known[0]
    return partners


def paired(ids: Sequence[str], listed: Sequence[str]) -> dict[str, str]:
    """Return the listed id of each item: the same one, or, if a list lacks some, the only one that is alike.

    Examples
    --------
    >>> paired(["a.png", "b.png", "c.png"], ["imgs/a.png", "B.JPG", "cat/c.png", "dog/c.png"])
    {'a.png': 'imgs/a.png', 'b.png': 'B.JPG'}
    """
    if {*ids} <= {*listed}:
        return dict(zip(ids, ids, strict=True))
    forms = list(map(one_form, ids)), list(map(one_form, listed))
    partners, back = alike(*forms), alike(*reversed(forms))
    n_items, n_listed = Counter(partners.values()), Counter(back.values())
    return {ids[row]: listed[at] for row, at in partners.items() if n_items[at] == n_listed[row] == 1}
