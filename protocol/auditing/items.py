"""The items of a split in its original form, the forms of their ids, and tables of items by id or by row number.

Items are the same only if their ids are equal, apart from ``./`` at the start; ids may be alike
(`protocol.inputs.forms`). ``train/a.jpg`` and ``test/a.jpg`` have the same name, which may be the same file in another
folder. Names mean nothing if they are only unique within their folder (``cat/1.jpg``, ``dog/1.jpg``), which is assumed
if more than `REPEATED` of the names in a list repeat; then, names with their last folders are compared
(``train/cat/1.jpg``, ``test/cat/1.jpg``). Names that count files (`n_counters`) may be equal in folders with different
files.
"""

import csv
import functools
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, findings_of
from protocol.checks import ProtocolError, counted
from protocol.inputs.arrays import is_file, items_from, named
from protocol.inputs.forms import Form, alike, one_form
from protocol.inputs.labels import check_order, labels_from
from protocol.inputs.lists import Listing, check_distinct, ids_from, read_listings
from protocol.inputs.text import lines, unsafe, without_dot
from protocol.inputs.validation import rows as row_numbers

REPEATED = 0.01
"""The largest share of repeated names in a list whose names identify files: enough for chance, too few for folders that
number their files, where a list of any size repeats most names."""
_ROW = re.compile(r"[0-9]{1,18}")
_LONG_NUMBER = 19  # digits, too many for the number of a file


@dataclass(frozen=True)
class Dataset:
    """The known properties of the dataset that a split divides.

    Parameters
    ----------
    n_items : int or None
        None if it is not known, as for lists without ids or labels of the dataset.
    ids : ndarray of str, shape (n,), or None
        By item number; None if items are named by their numbers, which are row numbers.
    y : ndarray of int, shape (n,), or of bool, shape (n, n_classes), or None
        Class labels by item number.
    labelled : ndarray of bool, shape (n,), or None
        Items with known labels; None if all labels are known.
    class_names : sequence of str
        Names of the classes 0, 1, ...; if empty, classes are named by their numbers.
    official : mapping of str to ndarray of int64
        Row numbers of the dataset's official splits.
    digest : str or None
        Digest of the file from which this was read; splits that were drawn from that file can be drawn again.
    name : str or None
        The registered dataset from which the file was created.
    ids_of : str or None
        The labels whose ids these are, if nothing else says that they are in the order of the row numbers.
    """

    n_items: int | None = None
    ids: Any = None
    y: NDArray | None = None
    labelled: NDArray[np.bool_] | None = None
    class_names: Sequence[str] = ()
    official: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    digest: str | None = None
    name: str | None = None
    ids_of: str | None = None

    @property
    def has_listed_ids(self) -> bool:
        """Whether the ids are only those in lists, whose order in the dataset is not known."""
        return self.ids is not None and self.n_items is None

    def check_rows(self) -> None:
        """Raise ProtocolError if the only ids are those of labels, and do not ascend, as `check_order`."""
        if self.ids_of is not None:
            remedy = f"Give the ids in the order of the row numbers (ids), or {self.ids_of} itself as ids"
            check_order(self.ids_of, self.ids, "row numbers", remedy)

    def n_rows(self, n_listed: int) -> int:
        """Return the number of items; if it is not known, `n_listed`, the largest listed item number plus one."""
        return n_listed if self.n_items is None else self.n_items

    def names(self, items: NDArray[np.int64]) -> list[str]:
        """Return the names of items."""
        return list(map(str, (items if self.ids is None else self.ids[items]).tolist()))

    def class_labels(self, items: NDArray[np.int64]) -> NDArray | None:
        """Return the labels of items; None if any of them is unknown."""
        if self.y is None or (self.labelled is not None and not self.labelled[items].all()):
            return None
        return self.y[items]


@dataclass(eq=False, repr=False)
class Split:
    """One run of a split in its original form: partitions of item numbers, which may contain duplicates.

    Parameters
    ----------
    entries : mapping of str to ndarray of int64
        Item numbers by partition, in their original order, with duplicates; partitions that were not given are missing.
    dataset : Dataset
    flags : mapping of str to ndarray of int, shape (n,), or of bool, shape (n, n_classes)
        By partition, the labels in its list, one row per entry.

    Attributes
    ----------
    parts : dict of str to ndarray of int64
        The item numbers by partition, ascending, each item once.
    """

    entries: Mapping[str, NDArray[np.int64]]
    dataset: Dataset
    flags: Mapping[str, NDArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parts = {name: np.unique(part) for name, part in self.entries.items()}

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        return self.parts.get(name, np.empty(0, dtype=np.int64))

    @property
    def listed(self) -> NDArray[np.int64]:
        """The items of all partitions, once for each partition."""
        return np.concatenate(list(self.parts.values()))

    def forms(self, items: NDArray[np.int64]) -> list[Form]:
        """Return the ids of items in the normal form."""
        return [self._forms[item] for item in items.tolist()]

    @functools.cached_property
    def _forms(self) -> list[Form]:
        return [one_form(name) for name in self.dataset.ids.tolist()]

    @functools.cached_property
    def name_parts(self) -> int:
        """The number of last parts of a path that hardly repeat within a list: 1 for file names, more with folders.

        It is 0 if no path has more parts than those that would be needed, so that equal names say nothing.
        """
        lists = [self.forms(part) for part in self.parts.values()] if self.dataset.has_listed_ids else []
        for n_parts in range(1, max([2, *(len(form) for forms in lists for form in forms)])):
            n_repeated = [len(forms) - len({form[-n_parts:] for form in forms}) for forms in lists]
            if all(n <= REPEATED * len(forms) for n, forms in zip(n_repeated, lists, strict=True)):
                return n_parts
        return 0

    def shared(self, a: str, b: str) -> NDArray[np.int64]:
        """Return the items that two partitions share."""
        return self[a][np.isin(self[a], self[b])]

    def unclear(self, a: str, b: str) -> NDArray[np.int64]:
        """Return the items of `a` that `b` has under an id of another form, or, if they share no id, by file name."""
        only = [np.setdiff1d(self[x], self[y], assume_unique=True) for x, y in ((a, b), (b, a))]
        n_parts = self.name_parts * (len(only[0]) == len(self[a]))  # 0 for complete paths
        forms = [self.forms(part) if self.dataset.has_listed_ids else [] for part in only]
        return only[0][[*alike(*([form[-n_parts:] for form in of_part] for of_part in forms))]]

    def findings(self, name: str, severity: str, items: NDArray, partners: Any = (), **words: str) -> list[Finding]:
        """Return a finding about items, or about pairs of them, or none if there are no items; see `Finding`."""
        names, others = self.dataset.names(items), self.dataset.names(np.asarray(partners, dtype=np.int64))
        return findings_of(name, severity, len(items), names, others, **words)


# Forms of ids


def n_counters(names: Sequence[str], others: Sequence[str]) -> int:
    """Return how many names may equal one of the others only because both lists count their files.

    A name counts files if it ends in a number, the others have several numbers after the same prefix, and at least half
    of those from their smallest to this one.

    Examples
    --------
    >>> n_counters(["im2", "im900", "b2f7"], ["im1", "im2", "im3", "im900", "b2f7"])
    1
    """
    numbers = defaultdict[str, list[int]](list)
    for prefix, number in sorted({_counter(other) for other in others}):
        numbers[prefix].append(number)
    of_names = [(number, numbers[prefix]) for prefix, number in map(_counter, names) if len(numbers[prefix]) > 1]
    return sum(2 * bisect_right(known, number) > number - known[0] for number, known in of_names)


def _counter(name: str) -> tuple[str, int]:
    """Return the prefix and the number at the end of a name; if it has none, a prefix that no other name has."""
    prefix = name.rstrip("0123456789")
    digits = name[len(prefix) :]
    return (prefix, int(digits)) if 0 < len(digits) < _LONG_NUMBER else (f"{name}/", 0)


def common_numbers(ids: Iterable[NDArray]) -> tuple[list[NDArray[np.int64]], list[str]]:
    """Return for each array of ids their numbers in the list of all distinct ids, and this list."""
    numbers: dict[str, int] = {}
    of_arrays = [[numbers.setdefault(name, len(numbers)) for name in names.tolist()] for names in ids]
    return [np.array(of_array, dtype=np.int64) for of_array in of_arrays], list(numbers)


# Lists


def lists_from(lists: Mapping[str, Any]) -> dict[str, Listing]:
    """Return the items of lists, and their labels if the lists contain them.

    Parameters
    ----------
    lists : mapping of str to path or array_like, shape (n,)
        By partition: a file for `protocol.inputs.lists.read_listings`, or row numbers, or ids (str).

    Raises
    ------
    ProtocolError
        If a file can't be read, or an array is neither of integers nor of strings.
    """
    sources = {part: values if is_file(values) else items_from(values, part) for part, values in lists.items()}
    read = read_listings({part: items for part, items in sources.items() if is_file(items) or len(items)}, has_ids=True)
    return {part: read.get(part, Listing(part, items, None, "no items")) for part, items in sources.items()}


def known_dataset(ids: Any = None, labels: Any = None) -> Dataset:
    """Return a dataset with the ids and labels that the caller gives.

    Parameters
    ----------
    ids : path, array_like of str, or None
        In the order of the row numbers; a file has one id per line.
    labels : path, array_like, or None
        Class labels in the same order, in a form of `protocol.inputs.labels.labels_from`. Labels that have ids are
        matched with `ids`.

    Raises
    ------
    ProtocolError
        If they can't be read or differ in number, or the ids are not distinct strings.
    """
    names = None if ids is None else ids_from(ids, "ids")
    n_items = None if names is None else len(names)
    if names is not None and names.dtype.kind in "iu":
        raise ProtocolError(f"{named(ids, 'ids')}: contains row numbers, not the ids of the dataset.")
    if labels is None:
        return Dataset(n_items=n_items, ids=names)
    labelled = labels_from(labels, "labels", n_items, ids=names)
    ids_of = None
    if names is None and labelled.ids is not None:
        names, ids_of = labelled.ids, named(labels, "labels")
        check_distinct(names, ids_of)
    y, classes = labelled.labels, labelled.class_names
    return Dataset(n_items=len(y), ids=names, y=y, class_names=classes, ids_of=ids_of)


# Tables by id or by row number


def read_table(
    path: Any, what: str, *forms: Sequence[str], hint: str = ""
) -> tuple[Sequence[str], list[tuple[int, dict[str, str]]]]:
    """Return the required columns of a table, and the line number and the cells of each row.

    The csv module reads the table, since the audit of lists runs on NumPy alone; pandas is not installed with it.

    Parameters
    ----------
    path : path
        A table with a header, whose names are read in lower case.
    what : str
        Its content, for error messages.
    *forms : sequence of str
        The columns of which the table needs all; of several possibilities, the first that it has.
    hint : str
        How to get such a table, for the error if columns are missing.

    Raises
    ------
    ProtocolError
        If the file can't be read or has no rows, a column is missing, or rows differ in the number of fields.
    """
    rows = _rows_of(path, what)
    header = [name.lower() for name in rows[0][1]]
    columns = next((form for form in forms or [()] if set(form) <= set(header)), None)
    if columns is None:
        needed = " or ".join(map(",".join, forms))
        raise ProtocolError(f"{path}: the columns must be {needed}, got {','.join(header)[:80]!r}.{hint}")
    if repeated := [name for name in header if header.count(name) > 1]:
        raise ProtocolError(f"{path}: the column {repeated[0]!r} occurs twice. Keep one of them.")
    if len(rows) < 2:
        raise ProtocolError(f"{path}: the file has no rows. It should contain {what}.")
    return columns, [(line, dict(zip(header, row, strict=True))) for line, row in rows[1:]]


def _rows_of(path: Any, what: str) -> list[tuple[int, list[str]]]:
    """Return the number and the cells of each line of a table, at least one; all have the same number of cells."""
    if not is_file(path):
        raise ProtocolError(f"{what}: expected a file, got {type(path).__name__}.")
    reader = csv.reader(lines(Path(path), what), strict=True)
    try:
        rows = [(reader.line_num, [unsafe(field.strip()) for field in row]) for row in reader if row]
    except csv.Error as error:
        raise ProtocolError(f"{path}: can't be read as {what} ({error}).") from error
    for line, row in rows:
        if len(row) != len(rows[0][1]):
            fields = f"{counted(len(row), 'field')}, but the first line has {len(rows[0][1])}"
            raise ProtocolError(f"{path}, line {line}: {fields}: {','.join(row)[:80]!r}.")
    return rows or [(1, [])]


def numbers_of(items: Sequence[str], dataset: Dataset, n_items: int, name: str) -> NDArray[np.int64]:
    """Return the item number of each id or row number in a table, -1 for items that are not in the split.

    Parameters
    ----------
    items : sequence of str
        Ids; or row numbers, if the dataset has no ids, or if it has ids in a known order but none of the items is one.
    dataset : Dataset
    n_items : int
        The number of rows; if it is unknown, the largest listed row number plus one.
    name : str
        Name of the table, for error messages.

    Raises
    ------
    ProtocolError
        If row numbers are expected and one is not an integer >= 0 or is not in the dataset.
    """
    not_a_row = next((item for item in items if not _ROW.fullmatch(item)), None)
    if dataset.ids is not None:
        by_id = numbers_by_id(items, dataset.ids)
        if (by_id >= 0).any() or dataset.n_items is None or not_a_row is not None:
            return by_id
    if not_a_row is not None:
        raise ProtocolError(f"{name}: {str(not_a_row)[:80]!r} is not a row number, but the lists contain row numbers.")
    dataset.check_rows()
    rows = np.array([int(item) for item in items], dtype=np.int64)
    if dataset.n_items is not None and rows.size:
        row_numbers(rows, n_items, name)
    return np.where(rows < n_items, rows, -1)


def numbers_by_id(items: Iterable[Any], ids: NDArray) -> NDArray[np.int64]:
    """Return the item number of each id, -1 for ids that are not in the dataset."""
    numbers = {str(name_of_item): number for number, name_of_item in enumerate(ids.tolist())}
    return np.array([numbers.get(without_dot(str(item)), -1) for item in items], dtype=np.int64)
