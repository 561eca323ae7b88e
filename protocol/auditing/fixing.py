"""Remove misplaced items from a split, and write it in its original format."""

import csv
import dataclasses
import gzip
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, ordered, summary
from protocol.auditing.items import Split, lists_from
from protocol.auditing.runs import Run, split_of
from protocol.checks import ProtocolError
from protocol.inputs.arrays import ARRAYS, is_file, items_from, npz_keys, path_and_key, read_stored
from protocol.inputs.fields import rows_of_text
from protocol.inputs.text import raw_lines
from protocol.provenance import storage
from protocol.provenance.storage import check_writable, explained
from protocol.scores import tables

_FIXED = "entries were removed from this split (protocol audit --write-fixed)"
WARNINGS = ("near-duplicate", "known-near-duplicate")
"""Warnings that are fixed by default, like errors. Others are inherent in a protocol and are fixed only on request."""

SINGLE_LIST = ""
"""The key for a file that contains a single list."""
Keep = dict[str, NDArray[np.bool_]]
"""By partition, a mask of the entries to keep."""
Removed = Counter[tuple[str, str]]
"""The number of removed entries by partition and by finding."""
Target = tuple[str, Any, dict[str, str]]
"""The name of a file to write, the original file or array, and its partitions by the key in the original's name."""


def check_folder(folder: str | Path) -> None:
    """Raise ProtocolError unless a folder is new or empty, and can be written."""
    path = Path(folder)
    if path.is_dir() and any(path.iterdir()):
        raise ProtocolError(f"{folder}: the folder is not empty. Give a new or empty one.")
    check_writable(path)


def remove(split: Split, findings: Sequence[Finding], also: Sequence[str], keep: Keep) -> Removed:
    """Remove the entries that findings require from `keep`, and return their numbers; `also` as for `write_fixed`."""
    removed: Removed = Counter()
    fixed = [one for one in findings if one.severity == "error" or one.name in (*WARNINGS, *also)]
    for name, removal in [(one.name, removal) for one in fixed for removal in one.removals]:
        entries, is_kept = split.entries[removal.part], keep[removal.part]
        positions = np.flatnonzero(is_kept & np.isin(entries, removal.items))
        if removal.keeps_first:
            positions = np.delete(positions, np.unique(entries[positions], return_index=True)[1])
        if positions.size:
            is_kept[positions] = False
            removed[removal.part, name] += len(positions)
    return removed


def reduced(run: Run, keep: Keep, name: str) -> Run:
    """Return a run with the entries to keep and without its seed, which no longer determines the split."""
    split = run.split
    parts = {part: values[keep[part]] for part, values in split.entries.items()}
    for part in ("query", "database"):
        if not len(parts[part]):
            raise ProtocolError(f"{run.file}: removing the affected items would leave the {part} partition empty.")
    flags = {part: values[keep[part]] for part, values in split.flags.items()}
    known = dataclasses.replace(run.known, codes=None)
    return dataclasses.replace(run, file=name, split=Split(parts, split.dataset, flags), seed=None, known=known)


def targets_of(run: Run) -> list[Target]:
    """Return the files to write, with their original names if these are distinct, otherwise after their partitions."""
    parts = [part for part, entries in run.split.entries.items() if len(entries)]
    if is_file(run.source):
        return [(Path(run.source).name, run.source, {part: part for part in parts})]
    sources = _sources(run.source, parts)
    names = [_name(source, keys) for source, keys in sources]
    counts = Counter(map(str.lower, names))
    return [
        (name if counts[name.lower()] == 1 else f"{'-'.join(keys.values())}-{name}", source, keys)
        for name, (source, keys) in zip(names, sources, strict=True)
    ]


def _sources(lists: Mapping[str, Any], parts: Sequence[str]) -> list[tuple[Any, dict[str, str]]]:
    """Return each file and array among the lists of a split, with its partitions by key."""
    sources: dict[Any, tuple[Any, dict[str, str]]] = {}
    for part in parts:
        source, key = path_and_key(lists[part]) if is_file(lists[part]) else (lists[part], None)
        name, key = source if is_file(source) else part, key or SINGLE_LIST
        if key in sources.get(name, ("", {}))[1]:  # a file that is given twice becomes two
            name = part
        sources.setdefault(name, (source, {}))[1][key] = part
    return list(sources.values())


def _name(source: Any, keys: Mapping[str, str]) -> str:
    """Return the name of a file, or that of the file to which an array is written."""
    if is_file(source):
        return Path(source).name
    return keys[SINGLE_LIST] + (".npy" if items_from(source, "items").dtype.kind in "iu" else ".csv")


def write(folder: Path, run: Run, keep: Keep, targets: Sequence[Target]) -> None:
    """Write the files of a split; the folder has all of them or, after an error, none."""
    folder = Path(os.path.realpath(folder))
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
            files = Path(temporary, folder.name)
            files.mkdir()
            for name, source, parts in targets:
                masks = {key: keep[part] for key, part in parts.items()}
                if any(mask.any() for mask in masks.values()):
                    _write(files / name, source, masks, is_complete=is_file(run.source))
            if not is_file(run.source):
                _check_lists(files, run, keep, targets)
            os.replace(files, folder)  # fails unless the folder is still new or empty


def _write(path: Path, source: Any, masks: Keep, *, is_complete: bool) -> None:
    """Write the entries to keep of a file or an array; `is_complete` if the file is a complete split."""
    if not is_file(source):
        write_items(path, items_from(source, "items")[masks[SINGLE_LIST]])
        return
    if not is_complete:  # the key of a text is its form or a column
        are_arrays = Path(source).suffix.lower() in ARRAYS
        masks = {key or sole_key(source) if are_arrays else SINGLE_LIST: mask for key, mask in masks.items()}
    write_subset(path, source, masks)


def _check_lists(folder: Path, run: Run, keep: Keep, targets: Sequence[Target]) -> None:
    """Read the written lists again, and compare the items and labels with those that were audited."""
    written = {
        part: f"{folder / name}:{key}" if key else str(folder / name)
        for name, _, parts in targets
        for key, part in parts.items()
        if keep[part].any()
    }
    again = split_of(lists_from(written, log=False), run.split.dataset)
    for part in written:
        labels, flags = again.flags.get(part), run.split.flags.get(part)
        has_labels = flags is None or (labels is not None and np.array_equal(labels, flags[keep[part]]))
        if not (has_labels and np.array_equal(again.entries[part], run.split.entries[part][keep[part]])):
            raise ProtocolError(
                f"{Path(written[part]).name}: the format of this {part} list is ambiguous without the removed "
                "lines. Save the list as .csv with the header `id`."
            )


def sentence_about(name: str, keep: Keep, removed: Removed, remaining: Sequence[Finding]) -> str:
    """Return a summary of the removals from a split, its sizes and the remaining findings."""
    removals = ", ".join(f"{count:,} from {part} ({finding})" for (part, finding), count in removed.items())
    sizes = [
        f"{part} {mask.sum():,}" + ("" if mask.all() else f" ({mask.size:,} before)")
        for part, mask in keep.items()
        if mask.size
    ]
    kinds = dict.fromkeys(
        f"{one.name} ({one.severity})" for _, one in ordered({"": remaining}) if one.severity != "information"
    )
    incomparable = ", so results are not comparable with those on the original lists" if removals else ""
    why = "; remaining, because removing items does not fix them or was not requested: " if kinds else ""
    return (
        f"{name}: {f'removed {removals}' if removals else 'nothing to remove'}. Sizes: {', '.join(sizes)}{incomparable}"
        f". Audited again: {summary({name: remaining})}{why}{', '.join(kinds)}."
    )


# Files without some of their entries


def write_subset(target: str | Path, source: str | Path, keep: Mapping[str, NDArray[np.bool_]]) -> None:
    """Write a copy of a list, or of a complete split, without some of its entries.

    Lines of text are copied unchanged, with their order, labels, line ends and header. Arrays keep their dtype. Arrays
    and partitions without remaining entries are omitted.

    Parameters
    ----------
    target : str or Path
        With the extension of `source`.
    source : str or Path
        A file for `protocol.splits.read_list` or `read_parts`.
    keep : mapping of str to ndarray of bool
        The entries to keep, in the order of the file: by array (``.npz``, ``.h5``), by partition (a complete split as
        ``.csv``), or under `SINGLE_LIST` for a file with a single list.

    Raises
    ------
    ProtocolError
        If the source can't be read, or the target can't be written.
    """
    target, source = Path(target), Path(source)
    if source.suffix.lower() in ARRAYS:
        arrays = {key: read_stored(f"{source}:{key}" if key else source)[mask] for key, mask in keep.items()}
        _write_arrays(target, {key: array for key, array in arrays.items() if len(array)})
        return
    with storage.replacing(target) as temporary, open(temporary, "wb") as plain:
        # The compressed bytes do not depend on the time or the name of the temporary file.
        is_packed = target.suffix.lower() == ".gz"
        with gzip.GzipFile("", "wb", fileobj=plain, mtime=0) if is_packed else plain as file:
            file.writelines(_remaining_lines(source, keep))


def write_items(target: Path, items: NDArray) -> None:
    """Write a new list of a partition: row numbers as ``.npy``, or ids, one on each line, as ``.csv``."""
    if items.dtype.kind in "iu":
        _write_arrays(target, {SINGLE_LIST: items})
        return
    with storage.replacing(target) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([["id"], *([tables.safe(name)] for name in items.tolist())])


def sole_key(source: Path) -> str:
    """Return the name of the only array of an ``.npz`` file, or `SINGLE_LIST` for other files."""
    return npz_keys(source)[0] if source.suffix.lower() == ".npz" else SINGLE_LIST


def _write_arrays(target: Path, arrays: Mapping[str, NDArray]) -> None:
    if target.suffix.lower() not in (".npy", ".npz"):
        arrays = {key or "items": array for key, array in arrays.items()}
        storage.write(target, arrays, storage.provenance("split", parameters={}, inputs={}, notes=[_FIXED]))
        return
    with storage.replacing(target) as temporary, open(temporary, "wb") as stream:
        if target.suffix.lower() == ".npy":
            np.save(stream, next(iter(arrays.values())))
        else:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def _remaining_lines(source: Path, keep: Mapping[str, NDArray[np.bool_]]) -> Iterator[bytes]:
    """Yield the lines to keep, as bytes."""
    all_lines = raw_lines(source, "a list of items")
    is_kept = {key: iter(mask.tolist()) for key, mask in keep.items()}
    for numbers, fields in rows_of_text(source):
        if not fields or next(is_kept[SINGLE_LIST if SINGLE_LIST in keep else fields[0]]):
            yield from all_lines[numbers.start - 1 : numbers.stop - 1]
