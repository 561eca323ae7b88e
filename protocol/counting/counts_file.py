"""The file with the counts of one hasher in all runs and splits, which are counted at once or added up from shards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from protocol.counting.counts import HammingCounts, unpack_counts
from protocol.provenance import storage
from protocol.scores.identity import items_sha256
from protocol.truth.relevance import Relevance, ground_truth_sha256


class Counted(NamedTuple):
    """The counts of one split, run and code length that are to be stored.

    ``arrays`` are those of `pack_counts`, ``ground_truths`` is the `truths_record` of the split and run, and
    ``made_of`` is as for `protocol.provenance.reuse.unchanged`.
    """

    group: str
    arrays: Mapping[str, NDArray]
    ground_truths: Mapping[str, Mapping[str, str]]
    made_of: Mapping[str, Any] = {}


def group_of(split: str, run: int, n_bits: int) -> str:
    """Return the group of the file that contains the counts of one split, run and code length."""
    return f"{split}/run{run}/{n_bits}"


def truths_record(truths: Mapping[str, Relevance], rows: Mapping[str, NDArray]) -> dict[str, dict[str, str]]:
    """Return, for each ground truth, its kind (``relevance``) and the digest of the items of the run (``items``).

    Parameters
    ----------
    truths : mapping of str to Relevance
    rows : mapping of str to ndarray of int64
        The rows of the dataset that are queries (``query``) and database items (``database``).
    """
    digests = {part: storage.array_digest(rows[part]) for part in ("query", "database")}
    return {
        name: {"relevance": truth.kind, "items": items_sha256(**digests, ground_truth=ground_truth_sha256(truth))}
        for name, truth in truths.items()
    }


def write_counts(
    path: str | Path,
    counted: Iterable[Counted],
    *,
    cells: Sequence[tuple[str, int]],
    inputs: Mapping[str, Sequence[str | Path]],
) -> None:
    """Write the counts of one hasher with their provenance record; only one group of them is in memory at a time.

    Parameters
    ----------
    path : path
    counted : iterable of Counted
    cells : sequence of (str, int)
        The splits and runs.
    inputs : mapping of str to sequence of path
        The files from which the counts were computed: those of each kind, one for each of the cells.
    """
    files = {
        f"{kind}/{split}/run{run}": file
        for kind, of_kind in inputs.items()
        for (split, run), file in zip(cells, of_kind, strict=True)
    }
    record = storage.provenance("counts", parameters={"ground_truths": {}}, inputs=files, fits={})
    with storage.writing(path, record, compress=True) as file:
        for counts in counted:
            record["parameters"]["ground_truths"][counts.group.rpartition("/")[0]] = counts.ground_truths
            record["fits"][counts.group] = {"made_of": counts.made_of}
            for name, array in sorted(counts.arrays.items()):
                file.put(f"{counts.group}/{name}", array)


@dataclass(frozen=True)
class StoredCounts:
    """The counts of one split, run, code length, extension and ground truth, with its `truths_record`.

    ``n_bits`` is the length of the plain code, and ``counts.n_bits`` that of the extended one.
    """

    split: str
    run: int
    n_bits: int
    extension: str
    extension_bits: int
    ground_truth: str
    relevance: str
    items: str
    counts: HammingCounts


def read_counts(
    path: str | Path,
    extensions: Iterable[tuple[str, int]] = (("none", 0),),
    *,
    split: str | None = None,
) -> Iterator[StoredCounts]:
    """Yield the counts of a file that `write_counts` wrote; those of extended codes follow from the plain codes.

    Parameters
    ----------
    path : path
    extensions : iterable of (str, int)
        The extensions of the codes, with their numbers of bits, as for `HammingCounts.extended`.
    split : str, optional
        The only split whose counts are read; all if None.

    Raises
    ------
    ProtocolError
        The errors of `storage.read`.
    """
    for cell, recorded in storage.read_provenance(path)["parameters"]["ground_truths"].items():
        of_split, run = cell.split("/run")
        groups = storage.grouped(storage.read_group(path, cell)) if split in (None, of_split) else {}
        for n_bits, arrays in groups.items():
            by_truth = unpack_counts(arrays)
            for extension, s in extensions:
                for truth, counts in by_truth.items():
                    key = (of_split, int(run), int(n_bits), extension, int(s), truth)
                    yield StoredCounts(*key, **recorded[truth], counts=counts.extended(extension, s))


def added_counts(paths: Iterable[str | Path], split: str) -> dict[int, dict[str, HammingCounts]]:
    """Return the sums of the counts of one split in the files of several shards, by code length and ground truth."""
    total: dict[int, dict[str, HammingCounts]] = {}
    for path in paths:
        for n_bits, packed in storage.grouped(storage.read_group(path, split)).items():
            before, added = total.get(int(n_bits)), unpack_counts(packed)
            total[int(n_bits)] = {name: before[name] + added[name] for name in added} if before else added
    return total
