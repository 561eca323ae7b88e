"""Write lists and splits without misplaced items, with a log of the removals, and audit them again."""

import contextlib
import dataclasses
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding
from protocol.auditing.items import Split, lists_from
from protocol.auditing.runs import Run, split_of
from protocol.auditing.texts import ordered, summary
from protocol.checks import ProtocolError
from protocol.inputs.arrays import path_and_key
from protocol.inputs.conversion import is_file
from protocol.inputs.conversion import items_from as as_items
from protocol.inputs.lists import ARRAYS, Listing
from protocol.provenance.storage import check_writable, explained, replacing
from protocol.splits import SINGLE_LIST, read_parts, sole_key, write_items, write_subset

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
        n_before, names = len(self.removed), self.run.split.dataset.names
        fixed = [one for one in findings if one.severity == "error" or one.name in (*WARNINGS, *also)]
        for name, removal in [(one.name, removal) for one in fixed for removal in one.removals]:
            entries, is_kept = self.run.split.entries[removal.part], self.keep[removal.part]
            positions = np.flatnonzero(is_kept & np.isin(entries, removal.items))
            if removal.kept_in == removal.part:  # the first entry of each item is kept
                positions = np.delete(positions, np.unique(entries[positions], return_index=True)[1])
            if positions.size:
                is_kept[positions] = False
                items, partners = entries[positions], removal.partners
                if len(partners):  # the first one of each item
                    distinct, first = np.unique(removal.items, return_index=True)
                    partners = partners[first[np.searchsorted(distinct, items)]]
                removed = (tuple(names(items)), tuple(names(partners)))
                self.removed.append(Removed(removal.part, name, removal.kept_in, positions, *removed))
        return len(self.removed) - n_before

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
    """A file to write.

    Parameters
    ----------
    source : path or array
        The original file or array.
    target : str
        Its path in the folder.
    parts : mapping of str to str
        Its partitions by the key in the name of the original; `SINGLE_LIST` for a file without a key.
    """

    source: Any
    target: str
    parts: Mapping[str, str]

    def masks(self, keep: Keep, *, is_split: bool) -> Keep:
        """Return the masks of its entries, by the names of its arrays, or by partition for a complete split."""
        masks = {key: keep[part] for key, part in self.parts.items()}
        if is_split or not is_file(self.source):
            return masks
        are_arrays = Path(self.source).suffix.lower() in ARRAYS  # the key of a text is its form or a column
        return {key or sole_key(self.source) if are_arrays else SINGLE_LIST: mask for key, mask in masks.items()}


def files_of(runs: Sequence[Run]) -> list[list[File]]:
    """Return the files to write for each run, with their original names if these are distinct."""
    sources = [_sources(run) for run in runs]
    paths = {Path(os.path.abspath(source)) for of_run in sources for source, _ in of_run if is_file(source)}
    has_names = len({path.name.lower() for path in paths}) == len(paths)
    common = "" if has_names else os.path.commonpath([path.parent for path in paths])
    used, files_of_runs = {LOG.lower()}, []
    for run, of_run in zip(runs, sources, strict=True):
        files = []
        for source, parts in of_run:
            if is_file(source):
                path = Path(os.path.abspath(source))
                target = Path(path.name) if has_names else path.relative_to(common)
            else:
                is_rows = as_items(source, "items").dtype.kind in "iu"
                folder = "" if len(runs) == 1 else run.file.replace(" ", "-")
                target = Path(folder, f"{parts[SINGLE_LIST]}{'.npy' if is_rows else '.csv'}")
            while target.as_posix().lower() in used:  # e.g. a file with two partitions, or with the name of the log
                target = target.with_name(f"{'-'.join(parts.values())}-{target.name}")
            used.add(target.as_posix().lower())
            files.append(File(source, target.as_posix(), parts))
        files_of_runs.append(files)
    return files_of_runs


def _sources(run: Run) -> list[tuple[Any, dict[str, str]]]:
    """Return the files and arrays of which a run consists, each with its partitions by key."""
    parts = [part for part, entries in run.split.entries.items() if len(entries)]
    if is_file(run.source):
        return [(run.source, {part: part for part in parts})]
    sources: list[tuple[Any, dict[str, str]]] = []
    by_path: dict[Path, dict[str, str]] = {}
    for part in parts:
        source, key = run.source[part], None
        if is_file(source):
            source, key = path_and_key(source)
        keys = by_path.get(source) if isinstance(source, Path) else None
        if keys is None or (key or SINGLE_LIST) in keys:  # a file that is given twice becomes two
            keys = {}
            sources.append((source, keys))
            if isinstance(source, Path):
                by_path[source] = keys
        keys[key or SINGLE_LIST] = part
    return sources


@contextlib.contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Create a temporary folder, which is renamed to `folder` if the block ends without an error."""
    folder = Path(os.path.realpath(folder))
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    with explained(folder):
        temporary.mkdir(parents=True)
    try:
        yield temporary
        with explained(folder):
            os.replace(temporary, folder)  # fails unless the folder is still new or empty
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_files(folder: Path, split: Reduction) -> None:
    """Write the files of a split, read them again, and compare the items and labels with those that were audited."""
    written: dict[str, str] = {}
    is_split = is_file(split.run.source)
    for file in split.files:
        target, masks = folder / file.target, file.masks(split.keep, is_split=is_split)
        if not any(mask.any() for mask in masks.values()):
            continue
        if is_file(file.source):
            write_subset(target, file.source, masks)
        else:
            write_items(target, as_items(file.source, "items")[masks[SINGLE_LIST]])
        names = {part: f"{target}:{key}" if key else str(target) for key, part in file.parts.items()}
        written |= {part: name for part, name in names.items() if split.keep[part].any()}
    audited = split.reduced().split
    if is_split:
        parts = read_parts(folder / split.files[0].target)
        lists = {part: Listing(split.run.file, items, None, "") for part, items in parts.items()}
    else:
        lists = lists_from(written, log=False)
    again = split_of(lists, audited.dataset)
    for part in written:
        labels, expected = again.flags.get(part), audited.flags.get(part)
        has_labels = expected is None or (labels is not None and np.array_equal(labels, expected))
        if not (has_labels and np.array_equal(again.entries[part], audited.entries[part])):
            raise ProtocolError(
                f"{Path(written[part]).name}: the format of this {part} list is ambiguous without the removed "
                "lines. Save the list as .csv with the header `id`."
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

    A removal has the partition, the position of the entry from 1, the item, and the reason.
    """
    remaining = [
        {"file": file, "finding": one.name, "severity": one.severity, "count": one.count}
        for file, one in ordered(findings)
    ]
    removed = [
        {
            "split": split.name,
            "partition": one.part,
            "entry": position + 1,
            "item": item,
            "finding": one.finding,
            "kept_in": one.kept_in,
            "partner": partner,
        }
        for split in splits
        for one in split.removed
        for position, item, partner in zip(
            one.positions.tolist(), one.items, one.partners or [""] * len(one.items), strict=True
        )
    ]
    document = {"summary": sentences, "remaining": remaining, "removed": removed}
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
