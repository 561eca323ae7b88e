"""The counts of one hasher in all splits and runs: counted, or added up from those of shards of the database."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from protocol import codes
from protocol.counting.counting import count
from protocol.counting.counts import HammingCounts, pack_counts, unpack_counts
from protocol.counting.counts_file import Counted, truths_record
from protocol.provenance import reuse, storage
from protocol.truth.relevance import Relevance, relevances_from_arrays


def counted(
    split: str,
    run: int,
    files: Mapping[str, str | Path],
    *,
    code: str,
    index_order: bool,
    calls: int,
    earlier: str | Path,
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
    calls : int
        The number of such calls in the job.
    earlier : path
        The output of the job. Counts of an earlier run are reused if nothing that they depend on has changed.
    """
    rows = storage.read(files["splits"], ["query", "database"])
    pairs = codes.of_split(storage.read(files["codes"]), rows["database"], split)
    truths = _truths(files["ground_truths"], split, len(next(iter(pairs.values()))["database"]))
    recorded, made_of = truths_record(truths, rows), {}
    for n_bits, pair in pairs.items():
        digests = {part: storage.array_digest(packed) for part, packed in pair.items()}
        origin = {"code": code, "index_order": index_order, "ground_truths": recorded, "codes": digests}
        made_of[_group(split, run, n_bits)] = origin
    reusable = reuse.unchanged([earlier], made_of)
    for group, (n_bits, pair) in zip(made_of, pairs.items(), strict=True):
        if group in reusable:
            (arrays,) = reusable[group].arrays()
        else:
            both = pair["query"], pair["database"]
            arrays = pack_counts(count(*both, n_bits, truths, index_order=index_order, calls=calls * len(pairs)))
        yield Counted(group, arrays, recorded, made_of[group])


def added(split: str, run: int, shards: Iterable[str | Path], files: Mapping[str, str | Path]) -> Iterator[Counted]:
    """Add up the counts of all shards of the database, for one split and run of a hasher at every code length.

    `shards` are the files with their counts; the other parameters are those of `counted`.
    """
    total = _sums(shards, split)
    truths = _truths(files["ground_truths"], split, next(iter(next(iter(total.values())).values())).n_database)
    recorded = truths_record(truths, storage.read(files["splits"], ["query", "database"]))
    for n_bits, counts in total.items():
        yield Counted(_group(split, run, n_bits), pack_counts(counts), recorded)


def _sums(paths: Iterable[str | Path], split: str) -> dict[int, dict[str, HammingCounts]]:
    total: dict[int, dict[str, HammingCounts]] = {}
    for path in paths:
        for n_bits, packed in storage.grouped(storage.read_group(path, split)).items():
            before, added = total.get(int(n_bits)), unpack_counts(packed)
            total[int(n_bits)] = {name: before[name] + added[name] for name in added} if before else added
    return total


def _truths(path: str | Path, split: str, n_database: int) -> dict[str, Relevance]:
    return relevances_from_arrays(storage.grouped(storage.read_group(path, split)), n_database)


def _group(split: str, run: int, n_bits: int) -> str:
    return f"{split}/run{run}/{n_bits}"
