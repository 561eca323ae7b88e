"""Read doubts about labels: annotators' votes, tables of suggested labels, and the answers of cleanlab/label-errors."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.inputs.items import name_of, numbers_of, read_json, read_rows
from protocol.auditing.inputs.split import Dataset, Split
from protocol.checks import ProtocolError, counted, number
from protocol.inputs.arrays import read_array
from protocol.inputs.conversion import as_numpy, is_file
from protocol.inputs.text import lines

AGREEMENT = 0.5
"""The minimum share of annotators that must agree with a label: half of them, similar to Northcutt et al. (2021),
who require the majority of five workers."""

_MOST = 2**53  # upper bound of a count of answers
_ALIGNED = 0.5  # minimum share of items whose given label must be the annotators' most frequent one
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "index", "item", "row", "image", "file", "filename", "path", "query"),
    "given": ("given", "given_label", "label", "original_label", "given_original_label"),
    "suggested": ("suggested", "suggested_label", "guessed_label", "our_guessed_label", "human_label", "new_label"),
    "agreement": ("agreement",),
}
_STANDARD_NAMES = {name: column for column, names in _COLUMNS.items() for name in names}
_ANSWERS = ("given", "guessed", "neither", "both")


@dataclass(frozen=True)
class LabelIssues:
    """The items of a dataset that have doubtful labels.

    Parameters
    ----------
    doubtful : ndarray of bool, shape (n_items,)
        The items with doubtful labels.
    judged : ndarray of bool, shape (n_items,), or None
        The items that were examined; None if the source lists only doubtful items.
    source : str
        The origin of the doubts, for the reader.
    why : str
        The criterion, for the reader.
    """

    doubtful: NDArray[np.bool_]
    judged: NDArray[np.bool_] | None
    source: str
    why: str

    def queries(self, split: Split) -> NDArray[np.int64]:
        """Return the positions, from 0, of the queries with doubtful labels in the original list of queries.

        The codes of queries are in the order of that list, so these are the rows that an evaluation excludes.
        """
        return np.flatnonzero(self.doubtful[split.entries["query"]])

    def about(self, split: Split) -> str:
        """Return a sentence about the origin of the doubts and the number of examined queries."""
        queries = split["query"]
        sentence = f"Doubtful labels from {self.source}"
        if self.judged is None:
            return f"{sentence}, which lists only doubtful items."
        n_judged = int(self.judged[queries].sum())
        others = "" if n_judged == len(queries) else "; the others were not checked"
        return f"{sentence}, which covers {n_judged:,} of {len(queries):,} queries{others}."


@dataclass(frozen=True)
class _Reader:
    """Reads the issues of one dataset: the dataset, its size, the source's name, and the minimum agreement."""

    dataset: Dataset
    n_items: int
    name: str
    agreement: float

    def issues(
        self, rows: NDArray, doubtful: NDArray[np.bool_], judged: NDArray[np.bool_] | None, where: str, why: str
    ) -> LabelIssues:
        """Return issues by item number from issues by row; rows of item -1 are skipped."""
        n_flags = self.n_items if self.dataset.ids is None else len(self.dataset.ids)
        flags = np.zeros((2, n_flags), dtype=np.bool_)
        for by_item, by_row in zip(flags, (doubtful, judged), strict=True):
            if by_row is not None:
                by_item[rows[(rows >= 0) & by_row]] = True
        return LabelIssues(flags[0], None if judged is None else flags[1], f"{self.name}{where}", why)

    def issues_of_counts(
        self, rows: NDArray, counts: NDArray[np.float64], n_agreeing: NDArray[np.float64], where: str, why: str
    ) -> LabelIssues:
        """Return issues from the number of annotators who gave each answer, and of those who gave the dataset's."""
        total = counts.sum(axis=1)
        shares = np.divide(n_agreeing, total, out=np.zeros_like(n_agreeing), where=total > 0)
        doubtful = (n_agreeing < counts.max(axis=1)) | (shares < self.agreement)
        return self.issues(rows, doubtful & (total > 0), total > 0, where, why)

    def labels(self, purpose: str, problem: str = "") -> NDArray:
        """Return the labels of the dataset, one per item in a known order."""
        y = self.dataset.y
        if y is None or y.ndim != 1 or self.dataset.n_items is None:
            raise ProtocolError(
                f"{self.name}: the dataset's labels are needed (labels), one per item in the order of the row numbers, "
                f"to compare them with {purpose}{problem}."
            )
        return y


def label_issues_from(values: Any, dataset: Dataset, n_listed: int, *, agreement: float = AGREEMENT) -> LabelIssues:
    """Return the items with doubtful labels.

    Parameters
    ----------
    values : path, or array_like of shape (n, n_classes) or (n,)
        The number or share of annotators who gave each class, one row per item (``.npy`` and similar files, such as
        CIFAR-10H's ``cifar10h-probs.npy`` and ``cifar10h-counts.npy``). Or ``.csv`` with a header: ``id`` and any of
        ``given``, ``suggested`` (several are separated by ``;``) and ``agreement``; without these, and without a
        header, all listed items are doubtful. Or ``.json`` as in https://github.com/cleanlab/label-errors
        (``mturk``): ``id``, ``given_original_label``, and in ``mturk`` the answers ``given``, ``guessed``, ``neither``
        and ``both``. Or an array of doubtful ids or row numbers.
    dataset : Dataset
    n_listed : int
        The largest item number of the split plus one.
    agreement : float, default=0.5
        A label is doubtful if a smaller share of annotators gave it, or if another label is more frequent.

    Raises
    ------
    ProtocolError
        If the file can't be read or does not match the dataset.
    """
    number(agreement, "label_agreement", maximum=1)
    reader = _Reader(dataset, dataset.n_rows(n_listed), name_of(values, "label_issues"), agreement)
    suffix = Path(values).suffix.lower() if is_file(values) else None
    if suffix == ".json":
        return _from_answers(reader, Path(values))
    if suffix in (".csv", ".txt", ""):
        return _from_table(reader, *_read_table(Path(values)))
    array = read_array(values) if is_file(values) else as_numpy(values, "label_issues")
    if array.ndim == 1 and suffix is None:
        return _from_table(reader, ("id",), [{"id": item} for item in array.tolist()])
    return _from_annotators(reader, array)


# Tables with one row per item: the number of annotators who gave each class


def _from_annotators(reader: _Reader, array: NDArray) -> LabelIssues:
    is_matrix = reader.dataset.y is not None and reader.dataset.y.ndim == 2
    y = reader.labels("those of the annotators", "; the dataset has several per item" if is_matrix else "")
    if array.ndim != 2 or array.dtype.kind not in "iufb" or array.shape[1] < 2 or not len(array):
        raise ProtocolError(
            f"{reader.name}: expected the number of annotators who gave each class, shape (n_items, n_classes), got "
            f"{array.dtype} of shape {array.shape}."
        )
    counts = np.asarray(array, dtype=np.float64)
    if not np.isfinite(counts).all() or counts.min() < 0:
        raise ProtocolError(f"{reader.name}: counts or shares of annotators can't be negative, NaN or infinite.")
    rows, where = _rows_of(counts, reader, y)
    why = f"annotators gave another one more often, or fewer than {reader.agreement:.0%} of them gave this one"
    return reader.issues_of_counts(rows, counts, counts[np.arange(len(counts)), y[rows]], where, why)


def _rows_of(counts: NDArray[np.float64], reader: _Reader, y: NDArray) -> tuple[NDArray[np.int64], str]:
    """Return the items to which the rows of a table belong, and a description of this choice.

    The table has a row for each item, or for each item of an official split, or for the first or the last items:
    CIFAR-10H covers the 10,000 test images among 60,000. For more than half of these items, the most frequent label
    must be the given one.
    """
    candidates = _candidates(len(counts), reader.dataset, len(y))
    if not candidates or y.max() >= counts.shape[1] or y.min() < 0:
        raise ProtocolError(
            f"{reader.name}: shape {counts.shape} fits neither all {len(y):,} items of {int(y.max()) + 1} classes nor "
            "the first or last of them."
        )
    shares = {where: float((counts.argmax(axis=1) == y[rows]).mean()) for where, rows in candidates.items()}
    best = max(shares, key=lambda where: shares[where])
    if shares[best] <= _ALIGNED:
        raise ProtocolError(
            f"{reader.name}: the annotators' most frequent label is that of the dataset for only {shares[best]:.1%} of "
            "the items. Check that the rows are in the order of the dataset."
        )
    if len(candidates) > 1 and min(shares.values()) == shares[best]:
        raise ProtocolError(
            f"{reader.name}: {counted(len(counts), 'row')} for {len(y):,} items, which may be the first or the last "
            "ones. Give a .csv file with row numbers instead."
        )
    return candidates[best], f" (its rows are assumed to be {best})" if best else ""


def _candidates(n_rows: int, dataset: Dataset, n_items: int) -> dict[str, NDArray[np.int64]]:
    """Return the items to which the rows of a table may belong, by their description."""
    parts = {f"the part {part!r}": rows for part, rows in dataset.official.items() if len(rows) == n_rows}
    if parts or n_rows > n_items:
        return parts
    if n_rows == n_items:
        return {"": np.arange(n_items)}
    last, first = f"the last {n_rows:,} items", f"the first {n_rows:,} items"
    return {last: np.arange(n_items - n_rows, n_items), first: np.arange(n_rows)}


# Tables of items


def _read_table(path: Path) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the columns of a table, by their standard names, and its rows."""
    rows = [row for _, row in read_rows(path, "a table of doubtful labels")]
    header = [_STANDARD_NAMES.get(name.lower(), "") for name in rows[0]]
    if "id" in header:
        del rows[0]
    elif len(header) == 1:
        header = ["id"]
    else:
        got = ", ".join(rows[0])[:80]
        raise ProtocolError(f"{path}: expected a header with id and given, suggested or agreement, got {got!r}.")
    repeated = next((column for column in header if column and header.count(column) > 1), None)
    if repeated:
        raise ProtocolError(f"{path}: {header.count(repeated)} columns for {repeated}. Keep one of them.")
    return tuple(filter(None, header)), [dict(zip(header, row, strict=True)) for row in rows]


def _from_table(reader: _Reader, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> LabelIssues:
    name, dataset = reader.name, reader.dataset
    items = numbers_of([row["id"] for row in rows], dataset, reader.n_items, name)
    if len(items) and not (items >= 0).any():
        raise ProtocolError(f"{name}: no item is in the split.")
    if not {"suggested", "agreement"} & set(columns):
        return reader.issues(items, np.ones(len(rows), dtype=np.bool_), None, "", "listed as doubtful")
    numbers = {str(class_name): str(label) for label, class_name in enumerate(dataset.class_names)}
    verdicts = [_verdicts(row, item, numbers, reader) for row, item in zip(rows, items.tolist(), strict=True)]
    doubtful, judged = (np.array(list(map(some, verdicts)), dtype=np.bool_) for some in (any, bool))
    why = ["another one is suggested"] if "suggested" in columns else []
    why += [f"agreement is below {reader.agreement:.0%}"] if "agreement" in columns else []
    return reader.issues(items, doubtful, judged, "", ", or ".join(why))


def _verdicts(row: Mapping[str, Any], item: int, numbers: Mapping[str, str], reader: _Reader) -> list[bool]:
    """Return whether a label is doubtful by each of the criteria that its row has."""
    verdicts = []
    if row.get("suggested"):
        dataset, name = reader.dataset, reader.name
        given = _labels(row["given"], numbers) if row.get("given") else _dataset_labels(item, dataset, name)
        verdicts += [_labels(row["suggested"], numbers) != given] if given else []
    if row.get("agreement"):
        verdicts.append(_share(row["agreement"], f"{reader.name}: {row['id']}") < reader.agreement)
    return verdicts


def _labels(text: str, numbers: Mapping[str, str]) -> frozenset[str]:
    """Return one or several labels as text; class names are replaced by their numbers."""
    parts = (part.strip() for part in re.split("[;|]", text))
    return frozenset(numbers.get(part, part) for part in parts if part)


def _dataset_labels(item: int, dataset: Dataset, name: str) -> frozenset[str]:
    """Return the dataset's labels of an item; empty if they are not known."""
    if dataset.y is None:
        raise ProtocolError(f"{name}: needs a column `given`, or the dataset's labels (labels).")
    if item < 0 or (dataset.labelled is not None and not dataset.labelled[item]):
        return frozenset()
    labels = np.flatnonzero(dataset.y[item]) if dataset.y.ndim == 2 else [dataset.y[item]]
    return frozenset(str(int(label)) for label in labels)


def _share(text: str, where: str) -> float:
    """Return the share of annotators who gave a label."""
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ProtocolError(f"{where}: agreement: expected a share from 0 to 1, got {text[:40]!r}.")
    return share


# Answers in the format of cleanlab/label-errors


def _from_answers(reader: _Reader, path: Path) -> LabelIssues:
    expected = "a list of objects with id and mturk"
    entries = read_json(path, lines(path, expected), expected)
    if not isinstance(entries, list) or not entries:
        got = "an empty list" if entries == [] else type(entries).__name__
        raise ProtocolError(f"{path}: expected {expected}, got {got}.")
    for position, entry in enumerate(entries, start=1):
        if not _has_answers(entry):
            raise ProtocolError(
                f"{path}: entry {position}: expected id and, in mturk, the counts given, guessed, neither and both, "
                f"got {str(entry)[:80]!r}."
            )
    rows, where = _rows_of_answers(reader, entries)
    counts = np.array([[entry["mturk"][key] for key in _ANSWERS] for entry in entries], dtype=np.float64)
    why = f"annotators chose another answer more often, or fewer than {reader.agreement:.0%} of them chose it"
    return reader.issues_of_counts(rows, counts, counts[:, 0], where, why)


def _has_answers(entry: Any) -> bool:
    answers = entry.get("mturk") if isinstance(entry, dict) and "id" in entry else None
    if not isinstance(answers, dict) or set(answers) != set(_ANSWERS):
        return False
    return all(type(count) is int and 0 <= count < _MOST for count in answers.values())


def _rows_of_answers(reader: _Reader, entries: Sequence[Mapping[str, Any]]) -> tuple[NDArray[np.int64], str]:
    """Return the item of each entry; ids are positions in the test set, which may be a part of the dataset.

    The labels in the entries must agree with those of the dataset.
    """
    y = reader.labels("given_original_label")
    numbers = numbers_of([entry["id"] for entry in entries], Dataset(), 2**62, reader.name)
    candidates = {"": np.where(numbers < reader.n_items, numbers, -1)}
    test = reader.dataset.official.get("test")
    if test is not None and len(test):
        rows = np.where(numbers < len(test), test[np.minimum(numbers, len(test) - 1)], -1)
        candidates = {" (its ids are assumed to be positions in the part 'test')": rows} | candidates
    labels = [entry.get("given_original_label") for entry in entries]
    given = np.array([label if isinstance(label, int) else -1 for label in labels], dtype=object)
    for where, rows in candidates.items():
        known = rows >= 0
        if known.any() and (y[rows[known]] == given[known]).all():
            return rows, where
    raise ProtocolError(
        f"{reader.name}: given_original_label differs from the dataset's labels. Check that the labels are those of "
        "the test set in its order, or give a .csv file with your own row numbers."
    )
