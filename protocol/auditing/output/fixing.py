"""Write lists and splits without misplaced items, with a log of the removals, and audit them again."""

import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding
from protocol.auditing.inputs.items import items_from
from protocol.auditing.inputs.reading import Run
from protocol.auditing.inputs.split import Split
from protocol.auditing.output.texts import ordered, summary
from protocol.checks import ProtocolError
from protocol.inputs.arrays import path_and_key
from protocol.inputs.conversion import is_file
from protocol.provenance.storage import check_writable, explained, replacing
from protocol.splits import SINGLE_LIST, places_of, read_list, read_parts, sole_key, write_items, write_subset

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
        raise ProtocolError(f"{folder}: expected a new or empty folder, got one that contains files.")
    check_writable(path)


# Removing items


def remove(findings: Sequence[Finding], keep: Keep, split: Split, also: Sequence[str]) -> list[Removed]:
    """Remove the entries that findings on a split require from `keep`, and return them; `also` as for `write_fixed`."""
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


def reduced(run: Run, keep: Keep, name: str) -> Run:
    """Return a run with the entries to keep and without its seed, which no longer determines the split."""
    parts = {part: values[keep[part]] for part, values in run.split.entries.items()}
    for part in ("query", "database"):
        if not len(parts[part]):
            raise ProtocolError(f"{run.file}: expected at least one {part} item that need not be removed, got none.")
    flags = {part: values[keep[part]] for part, values in run.split.flags.items()}
    return dataclasses.replace(run, file=name, split=Split(parts, run.split.dataset, flags), seed=None)


# Writing files


@dataclass(frozen=True)
class File:
    """A file to write: its original file or array, its path in the folder, and its partitions by key."""

    source: Any
    target: str
    parts: Mapping[str, str]


def files_of(runs: Sequence[Run]) -> list[list[File]]:
    """Return the files to write for each run, with their original names if these are distinct."""
    sources = [[*_sources(run)] for run in runs]
    paths = {Path(os.path.abspath(source)) for of_run in sources for source, _ in of_run if is_file(source)}
    flat = len({path.name.lower() for path in paths}) == len(paths)
    parent = Path(os.path.commonpath([path.parent for path in paths])) if paths else Path()
    used: set[str] = {LOG.lower()}
    files_of_runs = []
    for run, of_run in zip(runs, sources, strict=True):
        files = []
        for source, parts in of_run:
            if is_file(source):
                path = Path(os.path.abspath(source))
                target = path.name if flat else path.relative_to(parent).as_posix()
            else:
                (part,) = parts.values()
                suffix = ".npy"
                if items_from(source, part)[0].dtype.kind not in "iu":
                    names = run.split.dataset.names(run.split.entries[part])
                    is_plain = all(name.split() == [name] and not {",", ";"} & set(name) for name in names)
                    suffix = ".txt" if is_plain else ".csv"  # text if the format allows all ids
                target = f"{part}{suffix}" if len(runs) == 1 else f"{run.file.replace(' ', '-')}/{part}{suffix}"
            folder, _, name = target.rpartition("/")
            while target.lower() in used:  # for example a file with two partitions, or with the name of the log
                name = f"{'-'.join(parts.values())}-{name}"
                target = f"{folder}/{name}" if folder else name
            used.add(target.lower())
            files.append(File(source, target, parts))
        files_of_runs.append(files)
    return files_of_runs


def _sources(run: Run) -> Iterator[tuple[Any, dict[str, str]]]:
    """Yield the files and arrays from which a run was read, each with its partitions by key."""
    parts = [part for part, entries in run.split.entries.items() if len(entries)]
    if is_file(run.source):
        yield run.source, {part: part for part in parts}
        return
    grouped: dict[tuple[Path, int], dict[str, str]] = {}
    for part in parts:
        source = run.source[part]
        if not is_file(source):
            yield source, {SINGLE_LIST: part}
            continue
        path, key = path_and_key(source)
        key = key or sole_key(path)
        turn = sum(key in keys for (other, _), keys in grouped.items() if other == path)  # 1 for a file given twice
        grouped.setdefault((path, turn), {})[key] = part
    for (path, _), keys in grouped.items():
        yield path, keys


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


def write_file(folder: Path, file: File, keep: Keep, run: Run) -> None:
    """Write one file, read it again, and compare the items with those that were audited."""
    target = folder / file.target
    keep_by_key = {key: keep[part] for key, part in file.parts.items()}
    if not any(mask.any() for mask in keep_by_key.values()):
        return
    if is_file(file.source):
        write_subset(target, file.source, keep_by_key)
    else:
        write_items(target, items_from(file.source, "items")[0][keep_by_key[SINGLE_LIST]])
    for part, (items, flags) in _read(target, file, run).items():
        ids, expected = run.split.dataset.ids, run.split.entries[part]
        numbers = items if ids is None else places_of(items, ids, str(target))
        expected_flags = run.split.flags.get(part)
        is_equal = np.array_equal(numbers, expected)
        if expected_flags is not None:
            is_equal = is_equal and flags is not None and bool((flags == expected_flags).all())
        if not is_equal:
            raise ProtocolError(
                f"{file.target}: expected a {part} list with {len(expected):,} items, got other items, because the "
                "format is ambiguous without the removed lines. Save the list as .csv with the header `id`."
            )


def _read(target: Path, file: File, run: Run) -> dict[str, tuple[NDArray, NDArray | None]]:
    """Return the items and labels of each partition of a written file."""
    if is_file(run.source):
        return {part: (items, None) for part, items in read_parts(target).items()}
    return {
        part: read_list(f"{target}:{key}" if key else target)
        for key, part in file.parts.items()
        if len(run.split.entries[part])
    }


def sentence_about(old: Run, new: Run, removed: Sequence[Removed], remaining: Sequence[Finding]) -> str:
    """Return a summary of the removals from a split, its sizes and the remaining findings."""
    counts: Counter[tuple[str, str]] = Counter()
    for one in removed:
        counts[one.part, one.finding] += len(one.positions)
    removals = ", ".join(f"{count:,} from {part} ({finding})" for (part, finding), count in counts.items())
    before = {part: len(entries) for part, entries in old.split.entries.items() if len(entries)}
    after = {part: len(new.split.entries[part]) for part in before}
    sizes = [f"{part} {n:,}" + (f" ({before[part]:,} before)" if n < before[part] else "") for part, n in after.items()]
    kinds = dict.fromkeys(
        f"{one.name} ({one.severity})" for _, one in ordered({"": remaining}) if one.severity != "information"
    )
    incomparable = ", so results are not comparable with those on the original lists" if removals else ""
    why = "; remaining, because removing items does not fix them or was not requested: " if kinds else ""
    return (
        f"{new.file}: {f'removed {removals}' if removals else 'nothing to remove'}. Sizes: {', '.join(sizes)}"
        f"{incomparable}. Audited again: {summary({new.file: remaining})}{why}{', '.join(kinds)}."
    )


def write_log(
    path: Path,
    sentences: Sequence[str],
    findings: Mapping[str, Sequence[Finding]],
    removed: Mapping[str, Sequence[Removed]],
) -> None:
    """Write a summary, the remaining findings without their items, and the removals by file.

    A removal is one line: the partition, the position of the entry from 1, the item, and the reason.
    """
    remaining = [
        {"file": file, "finding": one.name, "severity": one.severity, "count": one.count}
        for file, one in ordered(findings)
    ]
    rows = [json.dumps(row, ensure_ascii=False) for file, of_file in removed.items() for row in _rows(file, of_file)]
    head = json.dumps({"summary": sentences, "remaining": remaining}, indent=2, ensure_ascii=False)[:-2]
    lines = ",".join(f"\n    {row}" for row in rows)
    with replacing(path) as temporary:
        temporary.write_text(f'{head},\n  "removed": [{lines}\n  ]\n}}\n', encoding="utf-8")


def _rows(file: str, removed: Sequence[Removed]) -> Iterator[dict[str, Any]]:
    for one in removed:
        partners = one.partners or ("",) * len(one.items)
        for position, item, partner in zip(one.positions.tolist(), one.items, partners, strict=True):
            yield {
                "split": file,
                "partition": one.part,
                "entry": position + 1,
                "item": item,
                "finding": one.finding,
                "kept_in": one.kept_in,
                "partner": partner,
            }
