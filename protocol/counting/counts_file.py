"""The file with the counts of one hasher in all runs and splits, which are counted at once or added up from shards."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.counting.counts import HammingCounts, unpack_counts
from protocol.provenance import storage
from protocol.scores.metadata import items_sha256
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
    counts: Iterable[Counted],
    inputs: Mapping[tuple[str, int], Mapping[str, str | Path]],
) -> None:
    """Write the counts of one hasher with their provenance record; only one group of them is in memory at a time.

    Parameters
    ----------
    path : path
    counts : iterable of Counted
    inputs : mapping of (str, int) to mapping of str to path
        The files from which the counts of each split and run were computed, by kind.
    """
    files = {f"{kind}/{split}/run{run}": file for (split, run), own in inputs.items() for kind, file in own.items()}
    record = storage.provenance("counts", parameters={"ground_truths": {}}, inputs=files, fits={})
    with storage.writing(path, record, compress=True) as file:
        for of_length in counts:
            record["parameters"]["ground_truths"][of_length.group.rpartition("/")[0]] = of_length.ground_truths
            record["fits"][of_length.group] = {"made_of": of_length.made_of}
            for name, array in sorted(of_length.arrays.items()):
                file.put(f"{of_length.group}/{name}", array)


@dataclass(frozen=True)
class StoredCounts:
    """The counts of one split, run, code length and ground truth, with its `truths_record`."""

    split: str
    run: int
    n_bits: int
    ground_truth: str
    relevance: str
    items: str
    counts: HammingCounts


def read_counts(
    path: str | Path,
    *,
    split: str | None = None,
    without: Mapping[tuple[str, int], NDArray[np.int64]] = MappingProxyType({}),
) -> Iterator[StoredCounts]:
    """Yield the counts of a file that `write_counts` wrote, all or those of one split.

    Parameters
    ----------
    path : path
    split : str, optional
    without : mapping of (str, int) to ndarray of int64
        By split and run, the positions of queries to leave out. Counts without any other query are not yielded.

    Raises
    ------
    ProtocolError
        The errors of `storage.read`.
    """
    for group, recorded in storage.read_provenance(path)["parameters"]["ground_truths"].items():
        of_split, run = group.split("/run")
        groups = storage.grouped(storage.read_group(path, group)) if split in (None, of_split) else {}
        for n_bits, arrays in groups.items():
            for truth, counts in unpack_counts(arrays).items():
                stored = StoredCounts(of_split, int(run), int(n_bits), truth, **recorded[truth], counts=counts)
                excluded = without.get((of_split, int(run)), np.empty(0, dtype=np.int64))
                remaining = np.delete(np.arange(counts.n_queries), excluded)
                if excluded.size and remaining.size:
                    items = items_sha256(stored.items, "without", storage.array_digest(excluded))
                    yield replace(stored, items=items, counts=counts.of_queries(remaining))
                elif remaining.size:
                    yield stored
