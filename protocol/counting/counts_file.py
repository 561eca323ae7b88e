"""The file with the counts of one hasher in all splits and runs: counted, or added up from those of shards."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.counting.counting import count
from protocol.counting.counts import HammingCounts, Integers, pack_counts, total_of, unpack_counts
from protocol.provenance import reuse, storage
from protocol.scores.metadata import items_sha256
from protocol.truth.relevance import Relevance, ground_truth_sha256, relevance_from_arrays

Counted = tuple[str, Mapping[str, NDArray], Mapping[str, Mapping[str, str]], Mapping[str, Any]]
"""The counts of one split, run and code length that are to be stored: the name of their group, the arrays of
`pack_counts`, the `truths_record` of the split and run, and ``made_of`` as for `reuse.unchanged`."""


def truths_record(truths: Mapping[str, Relevance], rows: Mapping[str, NDArray]) -> dict[str, dict[str, str]]:
    """Return, for each ground truth, its kind (``relevance``) and the digest of the items of the run (``items``).

    Parameters
    ----------
    truths : mapping of str to Relevance
    rows : mapping of str to ndarray of int64
        The rows of the dataset that are queries (``query``) and database items (``database``).
    """
    digests = {part: storage.array_digest(rows[part]) for part in ("query", "database")}
    items = {name: items_sha256(**digests, ground_truth=ground_truth_sha256(one)) for name, one in truths.items()}
    return {name: {"relevance": truth.kind, "items": items[name]} for name, truth in truths.items()}


def counted(
    split: str, run: int, files: Mapping[str, str | Path], *, code: str, index_order: bool, earlier: str | Path
) -> Iterator[Counted]:
    """Count one split and run of a hasher at every code length, or reuse what an earlier run of the job counted.

    Parameters
    ----------
    split : str
    run : int
    files : mapping of str to path
        ``codes``, ``ground_truths`` and ``splits``.
    code : str
        The digest of the code that counts.
    index_order : bool
        As for `protocol.counting.count`.
    earlier : path
        The output of the job. Counts of an earlier run are reused if nothing that they depend on has changed.
    """
    rows = storage.read(files["splits"], ["query", "database"])
    pairs = codes.of_split(storage.read(files["codes"]), rows, split)
    truths = read_truths(files["ground_truths"], split, len(next(iter(pairs.values()))["database"]))
    recorded, made_of = truths_record(truths, rows), {}
    for n_bits, pair in pairs.items():
        digests = {part: storage.array_digest(packed) for part, packed in pair.items()}
        origin = {"code": code, "index_order": index_order, "ground_truths": recorded, "codes": digests}
        made_of[f"{split}/run{run}/{n_bits}"] = origin
    reusable = reuse.unchanged([earlier], made_of)
    for group, (n_bits, pair) in zip(made_of, pairs.items(), strict=True):
        if group in reusable:
            (arrays,) = reuse.arrays([earlier], group)
        else:
            arrays = pack_counts(count(pair["query"], pair["database"], n_bits, truths, index_order=index_order))
        yield group, arrays, recorded, made_of[group]


def added(split: str, run: int, shards: Iterable[str | Path], files: Mapping[str, str | Path]) -> Iterator[Counted]:
    """Add up the counts of all shards of the database, for one split and run of a hasher at every code length.

    `shards` are the files with their counts; the other parameters are those of `counted`.
    """
    total = defaultdict[int, dict[str, HammingCounts]](dict)
    for path in shards:
        for n_bits, packed in storage.grouped(storage.read_group(path, split)).items():
            total[int(n_bits)] = total_of(total[int(n_bits)], unpack_counts(packed))
    truths = read_truths(files["ground_truths"], split, next(iter(next(iter(total.values())).values())).n_database)
    recorded = truths_record(truths, storage.read(files["splits"], ["query", "database"]))
    for length, counts in total.items():
        yield f"{split}/run{run}/{length}", pack_counts(counts), recorded, {}


def read_truths(path: str | Path, split: str, n_database: int) -> dict[str, Relevance]:
    """Return the relevance by each ground truth in a file, for one split."""
    rules = storage.grouped(storage.read_group(path, split))
    return {name: relevance_from_arrays(arrays, n_database) for name, arrays in rules.items()}


def write_counts(
    path: str | Path, counts: Iterable[Counted], inputs: Mapping[tuple[str, int], Mapping[str, str | Path]]
) -> None:
    """Write the counts of one hasher with their provenance record; only one group of them is in memory at a time.

    Parameters
    ----------
    path : path
    counts : iterable of Counted
    inputs : mapping of (str, int) to mapping of str to path
        The files from which the counts of each split and run were computed, by kind.
    """
    files = {f"{kind}/{split}/run{run}": file for (split, run), paths in inputs.items() for kind, file in paths.items()}
    record = storage.provenance("counts", parameters={"ground_truths": {}}, inputs=files, fits={})
    with storage.writing(path, record, compress=True) as file:
        for group, arrays, ground_truths, made_of in counts:
            record["parameters"]["ground_truths"][group.rpartition("/")[0]] = ground_truths
            record["fits"][group] = {"made_of": made_of}
            for name, array in sorted(arrays.items()):
                file.put(f"{group}/{name}", array)


class StoredCounts(NamedTuple):
    """The counts of one split, run, code length and ground truth, with its `truths_record`."""

    split: str
    run: int
    n_bits: int
    ground_truth: str
    relevance: str
    items: str
    counts: HammingCounts


def read_counts(
    path: str | Path, *, split: str | None = None, without: Mapping[tuple[str, int], Integers] = MappingProxyType({})
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
    truths = storage.read_provenance(path)["parameters"]["ground_truths"]
    wanted = [group for group in truths if split in (None, group.split("/run")[0])]
    for group, of_run in zip(wanted, storage.read_groups(path, wanted), strict=True):
        (of_split, run), recorded = group.split("/run"), truths[group]
        for n_bits, arrays in storage.grouped(of_run).items():
            for truth, counts in unpack_counts(arrays).items():
                excluded = without.get((of_split, int(run)), np.empty(0, dtype=np.int64))
                remaining = np.delete(np.arange(counts.n_queries), excluded)
                if remaining.size:
                    one = StoredCounts(of_split, int(run), int(n_bits), truth, **recorded[truth], counts=counts)
                    kept = counts.of_queries(remaining) if excluded.size else counts
                    yield one._replace(items=items_without(one.items, excluded), counts=kept)


def items_without(items: str, excluded: Integers) -> str:
    """Return the digest of a run's items without queries at some positions."""
    return items_sha256(items, "without", storage.array_digest(excluded)) if excluded.size else items
