"""Class labels of queries and database: integers, strings, categories, matrices, or lists (`protocol.inputs.lists`)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import filterfalse
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, abridged, counted
from protocol.inputs.arrays import as_integers, is_file, named, path_and_key, path_of
from protocol.inputs.columns import Columns, read_columns
from protocol.inputs.formats import TEXT
from protocol.inputs.forms import paired
from protocol.inputs.lists import Listing, check_distinct, ids_from, read_listings
from protocol.inputs.text import INPUTS, is_running
from protocol.inputs.validation import blocks, class_labels

_NUMBER = re.compile("[0-9]+")
_BLOCK_BYTES = 8 << 20  # of labels that are sorted at once, because a large database may be mapped from a file


class Labelled(NamedTuple):
    """Labels of a dataset's items, the names of the classes 0, 1, ..., and the ids that a list has next to them."""

    labels: NDArray
    """Integers (n,), or bool (n, n_classes)."""
    class_names: tuple[str, ...] = ()
    """Empty if the classes have only numbers."""
    ids: NDArray | None = None


def label_pair(
    query: Any, database: Any, n_queries: int, n_database: int, files: Mapping[str, Any] = MappingProxyType({})
) -> tuple[NDArray, NDArray, tuple[Any, ...], tuple[str, ...]]:
    """Return the labels of queries and database, and the labels of queries that no database item has.

    Parameters
    ----------
    query, database : array_like, str or Path
        Integers or strings, one per item; integers may be stored as floats, as in MATLAB, and in a row or a column.
        Or a matrix of 0 and 1, or of -1 and +1, with a column for each class, which may be sparse. Or several labels
        for each item, as lists of lists or in any form of `protocol.inputs.lists`. Equal strings are equal labels,
        whatever integers pandas uses for its categories.
    n_queries, n_database : int
    files : mapping of str to mapping
        The files of the codes, as in `CodePair`; labels whose ids are also in such a file are put in its order. Or
        ``query_ids`` and ``database_ids``, the ids of the codes, in whose order labels with ids are put instead.

    Returns
    -------
    query, database : ndarray
        One integer per item, (n,), or a bool matrix (n, n_classes).
    lacking : tuple of int or str
        The labels that no database item has, ascending; for a label matrix, the column numbers from 0.
    query_ids : tuple of str
        The ids of the queries; () if they are not known.

    Raises
    ------
    ProtocolError
        If they are anything else or not one per item, if queries and database have different kinds of labels, or if
        no query shares a label with a database item.

    Examples
    --------
    >>> label_pair(["cat", "owl"], ["dog", "cat"], 2, 2)
    (array([0, 2]), array([1, 0]), ('owl',), ())
    """
    sources = {"query labels": query, "database labels": database}
    read = read_listings(sources, has_ids=False, sizes=dict(zip(sources, (n_queries, n_database), strict=True)))
    codes, ids = ([files.get(f"{side}_{kind}") for side in ("query", "database")] for kind in ("codes", "ids"))
    one, other = map(_ordered, read.values(), sources.values(), codes, ids, (n_queries, n_database))
    if [len(one), len(other)] == [n_database, n_queries] and n_queries != n_database:
        swapped = f"{one.name}: {counted(n_database, 'label')} for {counted(n_queries, 'query')}, and {other.name}: "
        swapped += f"{counted(n_queries, 'label')} for {counted(n_database, 'database item')}"
        raise ProtocolError(f"{swapped}. Are queries and database swapped?")
    sides = [_labels(one, n_queries, "query"), _labels(other, n_database, "database item")]
    kinds = list(map(_kind, sides))
    if kinds[0] != kinds[1]:
        raise ProtocolError(f"{other.name}: {kinds[1]}, but {kinds[0]} in {one.name}. Use one form for both.")
    if one.classes != other.classes:
        raise ProtocolError(f"{other.name}: one side names its classes, and the columns of the other have no names.")
    if one.header and other.header and one.header != other.header:
        columns = f"its columns are {abridged(other.header)}, but {abridged(one.header)} in {one.name}"
        raise ProtocolError(f"{other.name}: {columns}. Write both in the same order.")
    used = [_used(side, one.classes or one.header or other.header) for side in sides]
    lacking = tuple(filterfalse(set(used[1]).__contains__, used[0]))
    if len(lacking) == len(used[0]):
        labels = f"{abridged(used[0])} for the queries, {abridged(used[1])} for the database"
        raise ProtocolError(f"labels: queries and database share no label: {labels}.")
    if sides[0].dtype.kind == "U":
        sides = np.split(np.unique(np.concatenate(sides), return_inverse=True)[1], [n_queries])
    if one.ids is None:
        return sides[0], sides[1], lacking, ()
    names = [list(map(str, side.ids.tolist())) for side in (one, other) if side.ids is not None]
    n_same = len(set(names[0]) & set(names[1])) if len(names) > 1 and n_queries < n_database else 0
    if n_same and not is_running(names[0]):
        found = "queries have the id of a database item: perhaps themselves, which are found too easily"
        INPUTS.warning("%s of %s %s", f"{n_same:,}", f"{n_queries:,}", found)
    return sides[0], sides[1], lacking, tuple(names[0])


def _ordered(listing: Listing, source: Any, codes: Any, ids_of_codes: Any, n_items: int) -> Listing:
    """Return labels in the order of the codes, by their ids or those in both files; raise the errors of `check_order`.

    Raises
    ------
    ProtocolError
        Also if there are ids of the codes, but labels without ids, or the file of the codes has them in another order;
        or if that has ids that do not ascend, and the labels have none.
    """
    code_file = (codes or {}).get("file", "")
    if listing.ids is None and ids_of_codes is not None:
        problem = f"labels without ids, so {named(ids_of_codes, 'the ids')} can't order them"
        raise ProtocolError(f"{listing.name}: {problem}.")
    if ids_of_codes is None and not is_file(source):
        return listing
    columns = read_columns(*path_and_key(code_file)) if path_of(code_file).suffix.lower() in TEXT else Columns()
    if listing.ids is None:
        if columns.ids:
            remedy = "Write labels with ids, or the codes without,"
            check_order(code_file, np.array(columns.ids), f"labels in {listing.name}", remedy)
        return listing
    if ids_of_codes is not None:
        name, given = named(ids_of_codes, "the ids"), ids_from(ids_of_codes, f"ids for {listing.name}", n_items)
        for ids in map(list, (columns.ids, *columns.others.values())):
            if ids != given.tolist() and sorted(ids) == sorted(given.tolist()):
                hint = f"Sort the rows of {code_file} like {name}, or leave out query_ids and database_ids"
                raise ProtocolError(f"{name}: the ids in {code_file} are in another order. {hint}.")
        return _in_order(listing, given.astype(np.str_), f"{name}, by id")
    column, cells = _column_of_ids(columns, listing, code_file)
    if cells and not (is_running(cells) and set(cells).isdisjoint(listing.ids.tolist())):
        return _in_order(listing, np.array(cells), f"{code_file}, by {column}")
    other = listing.column or "this file itself as these"
    remedy = f"Pass the ids of the codes, query_ids and database_ids, or {other},"
    check_order(listing.name, listing.ids, "codes", remedy)
    return listing


def _column_of_ids(columns: Columns, listing: Listing, file: Any) -> tuple[str, Sequence[str]]:
    """Return the name and ids of the column of a file of codes that has the name or all ids of the labels' ids.

    Raises
    ------
    ProtocolError
        If several columns have all ids, in different orders, and none has the name.
    """
    if (name := repr(listing.id_column)) in columns.others:
        return name, columns.others[name]
    listed = sorted(map(str, listing.items.tolist()))
    equal = {name: ids for name, ids in columns.others.items() if sorted(ids) == listed}
    if sorted(columns.ids) == listed or not equal:
        return "id", columns.ids
    if len(set(map(tuple, equal.values()))) > 1:
        problem = f"{' and '.join(equal)} both have the ids of {listing.name}, in different orders"
        raise ProtocolError(f"{file}: {problem}. Remove one, or call its header like that of the labels' ids.")
    return next(iter(equal.items()))


def check_order(name: str, ids: NDArray, what: str, remedy: str) -> None:
    """Raise ProtocolError unless the ids of labels ascend, as texts or by their numbers, or are codes.

    Without the ids of the items, nothing else proves that the rows are in their order; shuffled rows would pass.
    """
    texts = list(map(str, ids.tolist()))
    by_number = [_NUMBER.sub(lambda number: number[0].zfill(20), text) for text in texts]
    are_codes = set("".join(texts)) <= {"0", "1"}
    if not are_codes and texts != sorted(texts) and by_number != sorted(by_number):
        first = f"its ids do not ascend (the first is {texts[0]!r})"
        problem = f"{first}, so its rows may not be in the order of the {what}"
        raise ProtocolError(f"{name}: {problem}. {remedy} if its rows are in their order.")
    INPUTS.info("%s: its rows are in the order of the %s, and its ids do not order them", name, what)


def _used(labels: NDArray, classes: Sequence[str]) -> list[Any]:
    """Return the distinct labels of the items, ascending; for a label matrix, the names or numbers of the columns."""
    if labels.ndim == 2:
        columns = np.flatnonzero(labels.any(axis=0)).tolist()
        return [classes[column] for column in columns] if classes else columns
    return sorted({label for block in blocks(labels, _BLOCK_BYTES) for label in np.unique(block).tolist()})


def labels_from(values: Any, role: str, n_items: int | None = None, *, ids: NDArray | None = None) -> Labelled:
    """Return the labels of the items of a dataset, with what a list of labels also says about them.

    Parameters
    ----------
    values : array_like, str, Path or Listing
        As for `label_pair`, or a list that was read.
    role : str
        The name in error messages.
    n_items : int, optional
        The number of items, if it is known.
    ids : ndarray of str, shape (n_items,), optional
        The ids of the items; labels that have ids as well are put in this order.

    Raises
    ------
    ProtocolError
        If they are anything else or not one per item, or an item of `ids` has no label.
    """
    sizes = {role: n_items}
    listing = values if isinstance(values, Listing) else read_listings({role: values}, has_ids=False, sizes=sizes)[role]
    if listing.ids is not None and listing.labels is not None and ids is not None:
        listing = _in_order(listing, ids, "the items, by id")
    labels = _labels(listing, n_items)
    if labels.dtype.kind == "U":
        names, labels = np.unique(labels, return_inverse=True)
        return Labelled(labels, tuple(names.tolist()), listing.ids)
    return Labelled(labels, listing.classes or listing.header, listing.ids)


def _in_order(listing: Listing, ids: NDArray, source: str) -> Listing:
    """Return a list in the order of the given ids, those of a source, and say so if it has another."""
    order = rows_of(ids, listing.items, listing.name, "label")
    unused = f"; {counted(len(listing) - len(ids), 'row')} for no item" * (len(listing) > len(ids))
    if order != [*range(len(listing))]:
        INPUTS.info("%s: its rows are put in the order of %s%s", listing.name, source, unused)
    return replace(listing, ids=ids, labels=listing.labels[order])  # type: ignore[index]


def rows_of(ids: NDArray, listed: NDArray, name: str, noun: str) -> list[int]:
    """Return the row of each id in a file, `name`, whose ids may be in another form (`protocol.inputs.forms`).

    Raises
    ------
    ProtocolError
        If an id in the file is empty or occurs more than once, or an item of `ids` has no row; `noun` is what a row is.
    """
    check_distinct(listed, name)
    rows = {str(one): row for row, one in enumerate(listed.tolist())}
    names = list(map(str, ids.tolist()))
    listed_as = paired(names, list(rows))
    if lacking := [one for one in names if one not in listed_as]:
        items = f"{counted(len(lacking), 'item')}, the first {lacking[0][:80]!r}"
        first = f"The first id in the file is {next(iter(rows))[:80]!r}"
        some = f"; add each {noun}, or delete these items" * (len(lacking) < len(names))
        raise ProtocolError(f"{name}: no {noun} for {items}. {first}{some}.")
    if differing := [one for one in names if listed_as[one] != one]:
        pair = f"{listed_as[differing[0]]!r} for {differing[0]!r}"
        INPUTS.info("%s: %s in another form, matched one to one: %s", name, counted(len(differing), "id"), pair)
    return [rows[listed_as[one]] for one in names]


def order_of_vectors(ids: NDArray, listed: NDArray, name: str, *, are_all: bool = True) -> list[int]:
    """Return the row of each id in a file of vectors, `name`, whose rows have the ids `listed`, and report the match.

    Raises
    ------
    ProtocolError
        As for `rows_of`, or if `are_all` and the file has other rows as well.
    """
    order = rows_of(ids, listed, name, "row")
    if are_all and len(listed) > len(ids):
        more = f"{counted(len(listed), 'row')} for {counted(len(ids), 'item')}"
        raise ProtocolError(f"{name}: {more}, the first for no item is {str(np.delete(listed, order)[0])[:80]!r}.")
    INPUTS.info("%s: its rows are put in the order of the items, by id", name)
    return order


def _labels(listing: Listing, n_items: int | None, noun: str = "item") -> NDArray:
    """Return integers or strings (n_items,), or a bool matrix."""
    name, array = listing.name, listing.labels
    if array is None:
        raise ProtocolError(f"{name}: {listing.form}, so it has no labels.")
    if n_items is None:
        n_items = max(array.shape) if 1 in array.shape else len(listing)
    if array.dtype.kind == "b" and array.shape[1:] == (1,) and listing.ids is None and not listing.classes:
        problem = f"Boolean values of shape {array.shape} may be two classes, or one label that some items have"
        hint = "Pass labels.ravel() for two classes, or numpy.pad(labels, ((0, 0), (0, 1))) for one label."
        raise ProtocolError(f"{name}: {problem}. {hint}")
    array = _exact(array, name)
    if array.dtype.kind != "b" and array.shape in ((n_items, 1), (1, n_items)):
        array = array.ravel()
    if array.dtype.kind != "U":
        array = class_labels(array, n_items, name, noun)
        if array.min(initial=0) < 0:
            INPUTS.info("%s: the label %d is a class like any other, not a mark of unlabelled items", name, array.min())
    elif array.shape != (n_items,):
        raise ProtocolError(f"{name}: labels of shape {array.shape} for {counted(n_items, noun)}.")
    return array


def _exact(array: NDArray, name: str) -> NDArray:
    """Return floats as integers, and others unchanged; raise ProtocolError unless all are integers or strings."""
    if array.dtype.kind not in ("fO" if array.size else "f"):
        return array
    if array.dtype == object:
        values = array.ravel().tolist()
        kind = type(values[0]) if isinstance(values[0], (str, int)) else None
        fit = [type(one) is kind and (isinstance(one, str) or one in range(-(2**63), 2**63)) for one in values]
        odd = fit.index(False) if False in fit else 0
        expected = "a 64-bit integer for each item, or a string for each item"
        raise ProtocolError(f"{name}: expected {expected}, got {values[odd]!r} for item {odd}.")
    return as_integers(array, name, "integers or strings as labels")


def _kind(labels: NDArray) -> str:
    if labels.ndim == 2:
        return f"{labels.shape[1]} columns"
    return "one string per item" if labels.dtype.kind == "U" else "one integer per item"
