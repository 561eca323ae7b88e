"""Write lists and splits without misplaced items, with a log of the removals, and audit them again."""

import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding
from protocol.auditing.inputs.items import Files, items_from
from protocol.auditing.inputs.reading import Run, numbered
from protocol.auditing.inputs.split import Split
from protocol.auditing.output.texts import ordered, summary
from protocol.checks import ProtocolError
from protocol.inputs.arrays import path_and_key
from protocol.inputs.conversion import is_file
from protocol.inputs.lists import Listing
from protocol.provenance.storage import check_writable, explained, replacing
from protocol.splits import SINGLE_LIST, places_of, read_parts, sole_key, write_items, write_subset

LOG = "fixes.json"
WARNINGS = ("near-duplicate", "known-near-duplicate")
"""Warnings that are fixed by default, like errors. Others are inherent in a protocol and are fixed only on request."""

Keep = dict[str, NDArray[np.bool_]]
"""By partition, a mask of the entries to keep."""


@dataclass(frozen=True)
class Removed:
    """Entries that were removed from one partition for one finding.

    Parameters
    ----------
    part : str
        The partition.
    finding : str
        The name of the finding.
    kept_in : str
        The partition that keeps the items, or their partners.
    positions : ndarray of int64
        The positions of the entries in the original list, from 0.
    items : tuple of str
        The names of the entries.
    partners : tuple of str
        For findings on pairs, the items that are kept for them; otherwise ().
    """

    part: str
    finding: str
    kept_in: str
    positions: NDArray[np.int64]
    items: tuple[str, ...]
    partners: tuple[str, ...]


def check_folder(folder: str | Path) -> None:
    """Raise ProtocolError unless a folder is new or empty, and can be written."""
    path = Path(folder)
    if path.is_dir() and any(path.iterdir()):
        raise ProtocolError(f"{folder}: the folder is not empty. Give a new or empty one.")
    check_writable(path)


# Removing items


def _remove(findings: Sequence[Finding], keep: Keep, split: Split, also: Sequence[str]) -> list[Removed]:
    removed = []
    for finding in findings:
        is_fixed = finding.severity == "error" or finding.name in (*WARNINGS, *also)
        for removal in finding.removals if is_fixed else ():
            entries, is_kept = split.entries[removal.part], keep[removal.part]
            positions = np.flatnonzero(is_kept & np.isin(entries, removal.items))
            if removal.kept_in == removal.part:  # the first entry of each item is kept
                _, first = np.unique(entries[positions], return_index=True)
                positions = np.delete(positions, first)
            if positions.size:
                is_kept[positions] = False
                items, partners = entries[positions], removal.partners
                if len(partners):  # the first one of each item
                    distinct, first = np.unique(removal.items, return_index=True)
                    partners = partners[first[np.searchsorted(distinct, items)]]
                names, partner_names = (tuple(split.dataset.names(one)) for one in (items, partners))
                removed.append(Removed(removal.part, finding.name, removal.kept_in, positions, names, partner_names))
    return removed


class Reduction:
    """A split from which items are removed.

    Parameters
    ----------
    run : Run
        The original split.
    files : sequence of File
        The files to write.
    folder : str or Path

    Attributes
    ----------
    name : str
        The written files, joined by blanks.
    keep : Keep
    removed : list of Removed
    """

    def __init__(self, run: Run, files: Sequence["File"], folder: str | Path) -> None:
        self.run, self.files = run, files
        self.name = " ".join(str(Path(folder, file.target)) for file in files)
        self.keep: Keep = {part: np.ones(len(entries), dtype=bool) for part, entries in run.split.entries.items()}
        self.removed: list[Removed] = []

    def remove(self, findings: Sequence[Finding], also: Sequence[str]) -> int:
        """Remove the entries that findings require, and return the number of removals; `also` as for `write_fixed`."""
        removed = _remove(findings, self.keep, self.run.split, also)
        self.removed += removed
        return len(removed)

    def reduced(self) -> Run:
        """Return a run with the entries to keep and without its seed, which no longer determines the split."""
        split = self.run.split
        parts = {part: values[self.keep[part]] for part, values in split.entries.items()}
        for part in ("query", "database"):
            if not len(parts[part]):
                raise ProtocolError(
                    f"{self.run.file}: removing the affected items would leave the {part} partition empty."
                )
        flags = {part: values[self.keep[part]] for part, values in split.flags.items()}
        return dataclasses.replace(self.run, file=self.name, split=Split(parts, split.dataset, flags), seed=None)


# Writing files


@dataclass(frozen=True)
class File:
    """A file to write: its original file or array, its path in the folder, its partitions by key, and its entries."""

    source: Any
    target: str
    parts: Mapping[str, str]
    entries: slice

    def keep(self, keep: Keep) -> Keep:
        """Return the masks of its entries, by partition."""
        return {part: keep[part][self.entries] for part in self.parts.values()}


def files_of(runs: Sequence[Run]) -> list[list[File]]:
    """Return the files to write for each run, with their original names if these are distinct."""
    sources = [[*_sources(run)] for run in runs]
    originals = _original_names({_absolute(file) for of_run in sources for file, *_ in of_run if is_file(file)})
    used, files_of_runs = {LOG.lower()}, []
    for run, of_run in zip(runs, sources, strict=True):
        files = []
        for source, parts, entries in of_run:
            if is_file(source):
                target = originals[_absolute(source)]
            else:
                (part,) = parts.values()
                folder = "" if len(runs) == 1 else run.file.replace(" ", "-")
                target = Path(folder, f"{part}{_suffix(run, part, source)}")
            while target.as_posix().lower() in used:  # e.g. a file with two partitions, or with the name of the log
                target = target.with_name(f"{'-'.join(parts.values())}-{target.name}")
            used.add(target.as_posix().lower())
            files.append(File(source, target.as_posix(), parts, entries))
        files_of_runs.append(files)
    return files_of_runs


def _absolute(file: Any) -> Path:
    return Path(os.path.abspath(file))


def _original_names(paths: Set[Path]) -> dict[Path, Path]:
    """Return the names of files if these are distinct, otherwise their paths in their common folder."""
    if len({path.name.lower() for path in paths}) == len(paths):
        return {path: Path(path.name) for path in paths}
    common = os.path.commonpath([path.parent for path in paths])
    return {path: path.relative_to(common) for path in paths}


def _suffix(run: Run, part: str, items: Any) -> str:
    """Return the format in which an array is written: text if the format allows all ids."""
    if items_from(items, part).items.dtype.kind in "iu":
        return ".npy"
    names = run.split.dataset.names(run.split.entries[part])
    is_plain = all(name.split() == [name] and not {",", ";"} & set(name) for name in names)
    return ".txt" if is_plain else ".csv"


def _sources(run: Run) -> Iterator[tuple[Any, dict[str, str], slice]]:
    """Yield the files and arrays from which a run was read, each with its partitions by key and its entries of them."""
    every = slice(None)
    parts = [part for part, entries in run.split.entries.items() if len(entries)]
    if is_file(run.source):
        yield run.source, {part: part for part in parts}, every
        return
    grouped: dict[tuple[Path, int], dict[str, str]] = {}
    for part in parts:
        source, start = run.source[part], 0
        if isinstance(source, Files):
            for file in source:
                stop = start + len(items_from(file, part))
                path, key = _path_and_key(file)
                yield path, {key: part}, slice(start, stop)
                start = stop
        elif is_file(source):
            path, key = _path_and_key(source)
            turn = sum(key in keys for (other, _), keys in grouped.items() if other == path)  # 1 for a file given twice
            grouped.setdefault((path, turn), {})[key] = part
        else:
            yield source, {SINGLE_LIST: part}, every
    for (path, _), keys in grouped.items():
        yield path, keys, every


def _path_and_key(file: Any) -> tuple[Path, str]:
    path, key = path_and_key(file)
    return path, key or sole_key(path)


@contextlib.contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Create a temporary folder, which is renamed to `folder` if the block ends without an error."""
    folder = Path(os.path.realpath(folder))
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
        umask = os.umask(0)
        os.umask(umask)
    try:
        yield temporary
        with explained(folder):
            temporary.chmod(0o777 & ~umask)
            os.replace(temporary, folder)  # fails unless the folder is still new or empty
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_files(folder: Path, split: Reduction) -> None:
    """Write the files of a split, read them again, and compare the items with those that were audited."""
    audited = split.reduced().split
    for file in split.files:
        keep = file.keep(split.keep)
        target, masks = folder / file.target, {key: keep[part] for key, part in file.parts.items()}
        if not any(mask.any() for mask in masks.values()):
            continue
        if is_file(file.source):
            write_subset(target, file.source, masks)
        else:
            write_items(target, items_from(file.source, "items").items[masks[SINGLE_LIST]])
        for part, listing in _read(target, file, split).items():
            first = int(split.keep[part][: file.entries.start or 0].sum())
            _check_written(audited, part, listing, file.target, slice(first, first + int(keep[part].sum())))


def _read(target: Path, file: File, split: Reduction) -> dict[str, Listing]:
    """Return the items and labels of each partition of a written file."""
    if is_file(split.run.source):
        return {part: Listing(str(target), items, None, "") for part, items in read_parts(target).items()}
    written = {key: part for key, part in file.parts.items() if file.keep(split.keep)[part].any()}
    return {part: items_from(f"{target}:{key}" if key else target, part) for key, part in written.items()}


def _check_written(audited: Split, part: str, listing: Listing, file: str, written: slice) -> None:
    """Raise ProtocolError unless the items and labels of a written list are those of the audited split."""
    ids, expected, labels = audited.dataset.ids, audited.entries[part][written], audited.flags.get(part)
    numbers = listing.items if ids is None else places_of(listing.items, ids, file)
    found = numbered({part: listing}, audited.dataset)[1].get(part)
    has_labels = labels is None or (found is not None and np.array_equal(found, labels[written]))
    if not (np.array_equal(numbers, expected) and has_labels):
        raise ProtocolError(
            f"{file}: the format of this {part} list is ambiguous without the removed lines. Save the list as .csv "
            "with the header `id`."
        )


def sentence_about(split: Reduction, remaining: Sequence[Finding]) -> str:
    """Return a summary of the removals from a split, its sizes and the remaining findings."""
    counts: Counter[tuple[str, str]] = Counter()
    for one in split.removed:
        counts[one.part, one.finding] += len(one.positions)
    removals = ", ".join(f"{count:,} from {part} ({finding})" for (part, finding), count in counts.items())
    sizes = []
    for part, keep in split.keep.items():
        if keep.size:
            sizes.append(f"{part} {keep.sum():,}" + ("" if keep.all() else f" ({keep.size:,} before)"))
    kinds = dict.fromkeys(
        f"{one.name} ({one.severity})" for _, one in ordered({"": remaining}) if one.severity != "information"
    )
    text, incomparable = "nothing to remove", ""
    if removals:
        text = f"removed {removals}"
        incomparable = ", so results are not comparable with those on the original lists"
    why = "; remaining, because removing items does not fix them or was not requested: " if kinds else ""
    return (
        f"{split.name}: {text}. Sizes: {', '.join(sizes)}{incomparable}. "
        f"Audited again: {summary({split.name: remaining})}{why}{', '.join(kinds)}."
    )


def write_log(
    path: Path, sentences: Sequence[str], findings: Mapping[str, Sequence[Finding]], splits: Sequence[Reduction]
) -> None:
    """Write a summary, the remaining findings without their items, and the removals by file.

    A removal is one line: the partition, the position of the entry from 1, the item, and the reason.
    """
    remaining = [
        {"file": file, "finding": one.name, "severity": one.severity, "count": one.count}
        for file, one in ordered(findings)
    ]
    rows = [json.dumps(row, ensure_ascii=False) for split in splits for row in _rows(split)]
    head = json.dumps({"summary": sentences, "remaining": remaining}, indent=2, ensure_ascii=False)[:-2]
    lines = ",".join(f"\n    {row}" for row in rows)
    with replacing(path) as temporary:
        temporary.write_text(f'{head},\n  "removed": [{lines}\n  ]\n}}\n', encoding="utf-8")


def _rows(split: Reduction) -> Iterator[dict[str, Any]]:
    for one in split.removed:
        partners = one.partners or ("",) * len(one.items)
        for position, item, partner in zip(one.positions.tolist(), one.items, partners, strict=True):
            yield {
                "split": split.name,
                "partition": one.part,
                "entry": position + 1,
                "item": item,
                "finding": one.finding,
                "kept_in": one.kept_in,
                "partner": partner,
            }
