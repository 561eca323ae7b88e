"""The file with the counts of a complete database, which one job either computes at once or adds up from shards."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import NDArray

from protocol.counting.counts import HammingCounts, unpack_counts
from protocol.provenance import storage
from protocol.scores.identity import items_sha256
from protocol.truth.relevance import Relevance, ground_truth_sha256


def truths_record(truths: Mapping[str, Relevance], chosen: Mapping[str, NDArray]) -> dict[str, dict[str, str]]:
    """Return, for each ground truth, its kind (``relevance``) and the digest of the items of the run (``items``).

    Parameters
    ----------
    truths : mapping of str to Relevance
    chosen : mapping of str to ndarray of int64
        The rows of the dataset that are queries (``query``) and database items (``database``).
    """
    digests = {part: storage.array_digest(rows) for part, rows in chosen.items()}
    return {
        name: {"relevance": truth.kind, "items": items_sha256(**digests, ground_truth=ground_truth_sha256(truth))}
        for name, truth in truths.items()
    }


def write_counts(
    path: str | Path,
    arrays: Mapping[str, NDArray],
    *,
    ground_truths: Mapping[str, Mapping[str, Mapping[str, str]]],
    inputs: Mapping[str, str | Path],
) -> None:
    """Write counts with their provenance record.

    Parameters
    ----------
    path : path
    arrays : mapping of str to ndarray
        Arrays from `pack_counts`, under the names ``split/n_bits/array``.
    ground_truths : mapping
        For each split, the records of its ground truths (`truths_record`).
    inputs : mapping of str to path
        The files from which the counts were computed.
    """
    parameters = {"ground_truths": ground_truths}
    storage.write(path, arrays, storage.provenance("counts", parameters=parameters, inputs=inputs), compress=True)


@dataclass(frozen=True)
class StoredCounts:
    """The counts of one split, code length and ground truth, with what `truths_record` recorded of it."""

    split: str
    n_bits: int
    ground_truth: str
    relevance: str
    items: str
    counts: HammingCounts


def read_counts(path: str | Path, *, split: str | None = None) -> Iterator[StoredCounts]:
    """Yield the counts of a file that `write_counts` wrote, all or those of one split.

    Raises
    ------
    ProtocolError
        The errors of `storage.read`.
    """
    recorded = storage.read_provenance(path)["parameters"]["ground_truths"]
    for name in recorded if split is None else [split]:
        for n_bits, arrays in storage.grouped(storage.read_group(path, name)).items():
            for truth, counts in unpack_counts(arrays).items():
                yield StoredCounts(name, int(n_bits), truth, **recorded[name][truth], counts=counts)


def added_counts(paths: Iterable[str | Path]) -> dict[str, dict[str, dict[str, HammingCounts]]]:
    """Return the sums of the counts in several files, by split, code length and ground truth."""
    total: dict[str, dict[str, dict[str, HammingCounts]]] = {}
    for path in paths:
        for split, of_split in storage.grouped(storage.read(path)).items():
            sums = total.setdefault(split, {})
            for n_bits, packed in storage.grouped(of_split).items():
                before, own = sums.get(n_bits), unpack_counts(packed)
                sums[n_bits] = {truth: before[truth] + own[truth] for truth in own} if before else own
    return total
