"""Remove misplaced items from a split, and write it in its original format."""

import csv
import dataclasses
import gzip
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, ordered, summary
from protocol.auditing.items import Split, lists_from
from protocol.auditing.runs import Run, split_of
from protocol.checks import ProtocolError
from protocol.inputs.arrays import ARRAYS, is_file, path_and_key
from protocol.inputs.fields import rows_of_text
from protocol.inputs.text import raw_lines
from protocol.provenance.storage import check_writable, explained
from protocol.scores import tables
from protocol.splits import read_parts

WARNINGS = ("near-duplicate", "known-near-duplicate")
"""Warnings that are fixed by default, like errors. Others are inherent in a protocol and are fixed only on request."""

_SINGLE = ""  # the key of the entries of a file that contains a single list
Keep = dict[str, NDArray[np.bool_]]
"""By partition, a mask of the entries to keep."""
Removed = Counter[tuple[str, str]]
"""The number of removed entries by partition and by finding."""


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
    return dataclasses.replace(run, file=name, split=Split(parts, split.dataset, flags), seed=None, codes=None)


def files_of(run: Run) -> dict[str, str]:
    """Return the name of the file to write for each partition; lists whose files have equal names get other ones."""
    parts = [part for part, entries in run.split.entries.items() if len(entries)]
    if is_file(run.source):
        path = Path(run.source)
        return dict.fromkeys(parts, path.name if _is_text(path) else f"{path.stem}.npz")
    names = {part: _file_of(part, run.source[part]) for part in parts}
    counts = Counter(map(str.lower, names.values()))
    return {part: name if counts[name.lower()] == 1 else f"{part}-{name}" for part, name in names.items()}


def _is_text(source: Any) -> bool:
    return is_file(source) and Path(path_and_key(source)[0]).suffix.lower() not in ARRAYS


def _file_of(part: str, source: Any) -> str:
    """Return the name of a text file, or that of the file to which an array is written."""
    if _is_text(source):
        return Path(path_and_key(source)[0]).name
    return part + (".npy" if _items(part, source).dtype.kind in "iu" else ".csv")


def _items(part: str, source: Any) -> NDArray:
    return lists_from({part: source}, log=False)[part].items


def write(folder: Path, run: Run, keep: Keep, files: Mapping[str, str]) -> None:
    """Write the files of a split; the folder has all of them or, after an error, none."""
    folder = Path(os.path.realpath(folder))
    remaining = {part: file for part, file in files.items() if keep[part].any()}
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
            path = Path(temporary, folder.name)
            path.mkdir()
            if is_file(run.source):
                _write_split(path / next(iter(files.values())), run.source, {part: keep[part] for part in files})
            else:
                for part, file in remaining.items():
                    _write_list(path / file, part, run.source[part], keep[part])
                _check_lists(path, run, keep, remaining)
            os.replace(path, folder)  # fails unless the folder is still new or empty


def _write_split(path: Path, source: str | Path, keep: Keep) -> None:
    """Write a complete split: the remaining lines of a table, or the row numbers of each partition."""
    if _is_text(source):
        _write_lines(path, source, keep)
        return
    parts = read_parts(source)
    np.savez_compressed(path, **{part: parts[part][mask] for part, mask in keep.items() if mask.any()})  # type: ignore[arg-type]


def _write_list(path: Path, part: str, source: Any, mask: NDArray[np.bool_]) -> None:
    """Write a list: the remaining lines of a text; row numbers as ``.npy``; or ids, one on each line, as ``.csv``."""
    if _is_text(source):
        _write_lines(path, path_and_key(source)[0], {_SINGLE: mask})
    elif path.suffix == ".npy":
        np.save(path, _items(part, source)[mask])
    else:
        with open(path, "w", newline="", encoding="utf-8") as file:
            names = _items(part, source)[mask].tolist()
            csv.writer(file, lineterminator="\n").writerows([["id"], *([tables.safe(name)] for name in names)])


def _write_lines(path: Path, source: str | Path, keep: Keep) -> None:
    """Copy the remaining lines of a list or a split unchanged, with their order, labels, line ends and header."""
    all_lines, is_kept = raw_lines(Path(source), "a list of items"), {key: iter(mask) for key, mask in keep.items()}
    is_packed = path.suffix.lower() == ".gz"
    with gzip.GzipFile(path, "wb", mtime=0) if is_packed else open(path, "wb") as file:
        for numbers, fields in rows_of_text(Path(source)):
            if not fields or next(is_kept[_SINGLE if _SINGLE in keep else fields[0]]):
                file.writelines(all_lines[numbers.start - 1 : numbers.stop - 1])


def _check_lists(folder: Path, run: Run, keep: Keep, files: Mapping[str, str]) -> None:
    """Read the written lists again, and compare the items and labels with those that were audited."""
    written = {}
    for part, file in files.items():
        form = path_and_key(run.source[part])[1] if _is_text(run.source[part]) else None
        written[part] = f"{folder / file}:{form}" if form else str(folder / file)
    again = split_of(lists_from(written, log=False), run.split.dataset)
    for part, file in files.items():
        labels, flags = again.flags.get(part), run.split.flags.get(part) if _is_text(run.source[part]) else None
        has_labels = flags is None or (labels is not None and np.array_equal(labels, flags[keep[part]]))
        if not (has_labels and np.array_equal(again.entries[part], run.split.entries[part][keep[part]])):
            raise ProtocolError(
                f"{file}: the format of this {part} list is ambiguous without the removed lines. Save the list as .csv "
                "with the header `id`."
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
