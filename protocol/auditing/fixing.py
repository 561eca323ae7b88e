"""Write lists and splits without misplaced items, with a log of the removals, and audit them again."""

import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, Removal
from protocol.auditing.inputs import items_from
from protocol.auditing.kinds import KINDS
from protocol.auditing.reading import Run
from protocol.auditing.split import Split
from protocol.auditing.writing import ordered, summary
from protocol.checks import ProtocolError, one_of, printable
from protocol.inputs.arrays import path_and_key
from protocol.inputs.conversion import is_file
from protocol.provenance.storage import check_writable, explained, replacing
from protocol.splits import SINGLE_LIST, places_of, read_list, read_parts, sole_key, write_items, write_subset

LOG = "fixes.json"
WARNINGS = ("near-duplicate", "known-near-duplicate")
"""Warnings that are fixed by default, like errors. Others are inherent in a protocol and are fixed only on request."""

_Keep = dict[str, NDArray[np.bool_]]  # by partition: the entries to keep


class Audited(Protocol):
    """An `Audit`, which has the methods that write and print it."""

    @property
    def findings(self) -> Mapping[str, Sequence[Finding]]:
        """By split."""

    @property
    def runs(self) -> Sequence[Run]:
        """The splits."""

    @property
    def check(self) -> "Callable[[Sequence[Run]], Audited] | None":
        """Repeats the checks on other splits of the same dataset."""

    @property
    def n_errors(self) -> int:
        """The number of findings that make results wrong."""


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
    places : ndarray of int64
        The positions of the entries in the original list, from 0.
    items : tuple of str
        The names of the entries.
    partners : tuple of str
        For findings on pairs, the items that are kept for them; otherwise ().
    """

    part: str
    finding: str
    kept_in: str
    places: NDArray[np.int64]
    items: tuple[str, ...]
    partners: tuple[str, ...]


@dataclass(frozen=True)
class Fixed:
    """The splits as written, without misplaced items.

    Parameters
    ----------
    folder : Path
    audit : Audit
        The audit of the written files, with the remaining findings.
    removed : sequence of sequence of Removed
        The removals from each split.
    sentences : sequence of str
        A summary of the removals and the remaining findings for each split; the log begins with these.
    """

    folder: Path
    audit: Audited
    removed: Sequence[Sequence[Removed]]
    sentences: Sequence[str]

    @property
    def n_removed(self) -> int:
        """The number of removed entries."""
        return sum(len(one.places) for made in self.removed for one in made)

    def __str__(self) -> str:
        listed = f"All removed items are listed in {self.folder / LOG}"
        return "\n".join(map(printable, [*self.sentences, listed] if self.n_removed else self.sentences))


@dataclass(frozen=True)
class _File:
    """A file to write: its original file or array, its path in the folder, and its partitions by key."""

    source: Any
    target: str
    parts: Mapping[str, str]


def check_folder(folder: str | Path) -> None:
    """Raise ProtocolError unless a folder is new or empty, and can be written."""
    path = Path(folder)
    if path.is_dir() and any(path.iterdir()):
        raise ProtocolError(f"{folder}: expected a new or empty folder, got one that contains files.")
    check_writable(path)


def write_fixed(audit: Audited, folder: str | Path, *, also: Sequence[str] = ()) -> Fixed:
    """Write the splits of an audit without misplaced items; see `Audit.write_fixed`."""
    for name in also:
        one_of(name, (kind.name for kind in KINDS), "also", listing="protocol list findings")
    check_folder(folder)
    files = _files(audit.runs)
    names = [" ".join(str(Path(folder, file.target)) for file in files_of_run) for files_of_run in files]
    audited, keep, removed = _without_faults(audit, names, also)
    compared = zip(audit.runs, audited.runs, removed, strict=True)
    sentences = [_sentence(old, new, removals, audited.findings[new.file]) for old, new, removals in compared]
    with _filling(Path(folder)) as temporary:
        for run, files_of_run, keep_of_run in zip(audited.runs, files, keep, strict=True):
            for file in files_of_run:
                _write(temporary, file, keep_of_run, run)
        _write_log(temporary / LOG, audited, removed, sentences)
    return Fixed(Path(folder), audited, removed, sentences)


# Removing items


def _without_faults(
    audit: Audited, names: Sequence[str], also: Sequence[str]
) -> tuple[Audited, list[_Keep], list[list[Removed]]]:
    """Return the audit of the splits without misplaced items, the entries to keep, and the removed entries.

    Removing items may cause other findings, so the checks are repeated until nothing more must be removed.
    """
    if audit.check is None:
        raise ProtocolError("write_fixed: expected an audit made by protocol.audit, got one without its splits.")
    keep = [
        {part: np.ones(len(entries), dtype=bool) for part, entries in run.split.entries.items()} for run in audit.runs
    ]
    removed: list[list[Removed]] = [[] for _ in audit.runs]
    audited, is_done = audit, False
    while not is_done:
        is_done = True
        for place, run in enumerate(audit.runs):
            for finding in audited.findings[audited.runs[place].file]:
                made = _removed(finding, keep[place], run.split) if _is_fixed(finding, also) else []
                removed[place] += made
                is_done = is_done and not made
        runs = [
            _reduced(run, keep_of_run, name) for run, keep_of_run, name in zip(audit.runs, keep, names, strict=True)
        ]
        audited = audit.check(runs)
    return audited, keep, removed


def _is_fixed(finding: Finding, also: Sequence[str]) -> bool:
    return finding.removals is not None and (finding.severity == "error" or finding.name in (*WARNINGS, *also))


def _removed(finding: Finding, keep: _Keep, split: Split) -> list[Removed]:
    """Remove the entries that a finding requires from `keep`, and return them."""
    made = []
    for removal in finding.removals() if finding.removals is not None else ():
        entries, is_kept = split.entries[removal.part], keep[removal.part]
        places = np.flatnonzero(is_kept & np.isin(entries, removal.items))
        if removal.kept_in == removal.part:  # the first entry of each item is kept
            _, first = np.unique(entries[places], return_index=True)
            places = np.delete(places, first)
        if places.size:
            is_kept[places] = False
            partners = _partners(removal, entries[places])
            names = [tuple(split.dataset.names(items)) for items in (entries[places], partners)]
            made.append(Removed(removal.part, finding.name, removal.kept_in, places, names[0], names[1]))
    return made


def _partners(removal: Removal, items: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first partner of each item, or none."""
    if not len(removal.partners):
        return removal.partners
    distinct, first = np.unique(removal.items, return_index=True)
    return removal.partners[first[np.searchsorted(distinct, items)]]


def _reduced(run: Run, keep: _Keep, name: str) -> Run:
    """Return a run with the entries to keep and without its seed, which no longer determines the split."""
    parts = {part: values[keep[part]] for part, values in run.split.entries.items()}
    for part in ("query", "database"):
        if not len(parts[part]):
            raise ProtocolError(f"{run.file}: expected at least one {part} item that need not be removed, got none.")
    flags = {part: values[keep[part]] for part, values in run.split.flags.items()}
    return dataclasses.replace(run, file=name, split=Split(parts, run.split.dataset, flags), seed=None)


# Writing files


def _files(runs: Sequence[Run]) -> list[list[_File]]:
    """Return the files to write for each run, with their original names if these are distinct."""
    sources = [[*_sources(run)] for run in runs]
    paths = {Path(os.path.abspath(source)) for of_run in sources for source, _ in of_run if is_file(source)}
    flat = len({path.name.lower() for path in paths}) == len(paths)
    parent = Path(os.path.commonpath([path.parent for path in paths])) if paths else Path()
    used: set[str] = {LOG.lower()}
    found = []
    for run, of_run in zip(runs, sources, strict=True):
        files = []
        for source, parts in of_run:
            if is_file(source):
                path = Path(os.path.abspath(source))
                target = path.name if flat else path.relative_to(parent).as_posix()
            else:
                (part,) = parts.values()
                suffix = _suffix(run.split.dataset.names(run.split.entries[part])) if _has_ids(source, part) else ".npy"
                target = f"{part}{suffix}" if len(runs) == 1 else f"{run.file.replace(' ', '-')}/{part}{suffix}"
            folder, _, name = target.rpartition("/")
            while target.lower() in used:  # for example a file with two partitions, or with the name of the log
                name = f"{'-'.join(parts.values())}-{name}"
                target = f"{folder}/{name}" if folder else name
            used.add(target.lower())
            files.append(_File(source, target, parts))
        found.append(files)
    return found


def _sources(run: Run) -> Iterator[tuple[Any, dict[str, str]]]:
    """Yield the files and arrays from which a run was read, each with its partitions by key."""
    parts = [part for part, entries in run.split.entries.items() if len(entries)]
    if is_file(run.given):
        yield run.given, {part: part for part in parts}
        return
    grouped: dict[tuple[Path, int], dict[str, str]] = {}
    for part in parts:
        given = run.given[part]
        if not is_file(given):
            yield given, {SINGLE_LIST: part}
            continue
        path, key = path_and_key(given)
        key = key or sole_key(path)
        turn = sum(key in keys for (other, _), keys in grouped.items() if other == path)  # 1 for a file given twice
        grouped.setdefault((path, turn), {})[key] = part
    for (path, _), keys in grouped.items():
        yield path, keys


def _has_ids(values: Any, role: str) -> bool:
    return items_from(values, role)[0].dtype.kind not in "iu"


def _suffix(names: Sequence[str]) -> str:
    """Return the extension for a list of ids: text if the format allows all ids, otherwise ``.csv``."""
    return ".txt" if all(name.split() == [name] and not {",", ";"} & set(name) for name in names) else ".csv"


@contextlib.contextmanager
def _filling(folder: Path) -> Iterator[Path]:
    """Create a temporary folder, which is renamed to `folder` if the block ends without an error."""
    folder = Path(os.path.realpath(folder))
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        yield temporary
        with explained(folder):
            temporary.chmod(0o777 & ~_umask())
            os.replace(temporary, folder)  # fails unless the folder is still new or empty
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write(folder: Path, file: _File, keep: _Keep, run: Run) -> None:
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
        if not np.array_equal(numbers, expected) or (
            expected_flags is not None and (flags is None or (flags != expected_flags).any())
        ):
            raise ProtocolError(
                f"{file.target}: expected a {part} list with {len(expected):,} items, got other items, because the "
                "format is ambiguous without the removed lines. Save the list as .csv with the header `id`."
            )


def _read(target: Path, file: _File, run: Run) -> dict[str, tuple[NDArray, NDArray | None]]:
    """Return the items and labels of each partition of a written file."""
    if is_file(run.given):
        return {part: (items, None) for part, items in read_parts(target).items()}
    return {
        part: read_list(f"{target}:{key}" if key else target)
        for key, part in file.parts.items()
        if len(run.split.entries[part])
    }


def _sentence(old: Run, new: Run, removed: Sequence[Removed], left: Sequence[Finding]) -> str:
    """Return a summary of the removals from a split, its sizes and the remaining findings."""
    counts: Counter[tuple[str, str]] = Counter()
    for one in removed:
        counts[one.part, one.finding] += len(one.places)
    removals = [f"{count:,} from {part} ({finding})" for (part, finding), count in counts.items()]
    before = {part: len(entries) for part, entries in old.split.entries.items() if len(entries)}
    after = {part: len(new.split.entries[part]) for part in before}
    sizes = [f"{part} {n:,}" + (f" ({before[part]:,} before)" if n < before[part] else "") for part, n in after.items()]
    kinds = dict.fromkeys(
        f"{one.name} ({one.severity})" for _, one in ordered({"": left}) if one.severity != "information"
    )
    return (
        f"{new.file}: {'removed ' if removals else 'nothing to remove'}{', '.join(removals)}. Sizes: {', '.join(sizes)}"
        + (", so results are not comparable with those on the original lists. " if removals else ". ")
        + f"Audited again: {summary({new.file: left})}"
        + (
            f"; remaining, because removing items does not fix them or was not requested: {', '.join(kinds)}."
            if kinds
            else "."
        )
    )


def _write_log(path: Path, audit: Audited, removed: Sequence[Sequence[Removed]], sentences: Sequence[str]) -> None:
    """Write a summary, the remaining findings without their items, and the removals.

    A removal is one line: the partition, the position of the entry from 1, the item, and the reason.
    """
    remaining = [
        {"file": file, "finding": one.name, "severity": one.severity, "count": one.count}
        for file, one in ordered(audit.findings)
    ]
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        head = {"summary": sentences, "remaining": remaining}
        file.write(json.dumps(head, indent=2, ensure_ascii=False)[:-2] + ',\n  "removed": [')
        mark = "\n"
        for run, made in zip(audit.runs, removed, strict=True):
            for row in _rows(run.file, made):
                file.write(f"{mark}    {json.dumps(row, ensure_ascii=False)}")
                mark = ",\n"
        file.write("\n  ]\n}\n")


def _rows(name: str, removed: Sequence[Removed]) -> Iterator[dict[str, Any]]:
    for one in removed:
        partners = one.partners or ("",) * len(one.items)
        for place, item, partner in zip(one.places.tolist(), one.items, partners, strict=True):
            yield {
                "split": name,
                "partition": one.part,
                "entry": place + 1,
                "item": item,
                "finding": one.finding,
                "kept_in": one.kept_in,
                "partner": partner,
            }
