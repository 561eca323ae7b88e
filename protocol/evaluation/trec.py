"""A ranking as the run and qrels files of TREC, and what trec_eval's order of ties does to its mAP."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol import codes, metrics
from protocol.checks import ProtocolError, integer, one_of
from protocol.ranking import HammingCounts, Relevance
from protocol.storage import check_writable, replacing

TIES = ("expected", "shuffled", "distance")
DEPTH = 1000
_EXACT = 1 << 24  # trec_eval keeps scores in single precision, which has all integers up to here
_OFFSETS = (np.arange(16) + 0.5) / 16  # where the first of evenly spread items may be, in units of their distance


@dataclass(frozen=True)
class TrecOptions:
    """How to write TREC files.

    Parameters
    ----------
    folder : str or Path
        Gets the files ``run`` and ``qrels``; made if it is missing.
    depth : int, optional
        Items of each query in the run. 1,000, or the whole database if None and smaller.
    ties : {"expected", "shuffled", "distance"}, default="expected"
        The order of items at one distance. ``expected``: relevant items are spread evenly over the tie, so that the
        average precision of the order is close to its expected value over all orders. ``shuffled``: at random. Both
        have scores that fall strictly, because trec_eval ignores ranks and sorts by score. ``distance``: tied items
        have the same score, n_bits - distance, and trec_eval sorts them by document id, the largest first.
    seed : int, default=0
        For ``shuffled``.

    Raises
    ------
    ProtocolError
        If an option is out of its range, or the folder can't be written.
    """

    folder: str | Path
    depth: int | None = None
    ties: str = "expected"
    seed: int = 0

    def __post_init__(self) -> None:
        one_of(self.ties, TIES, "trec_ties")
        integer(self.seed, "trec_seed", minimum=0)
        if self.depth is not None:
            integer(self.depth, "trec_depth")
        check_writable(self.folder)


@dataclass(frozen=True)
class Trec:
    """TREC files that were written, and their mAP.

    Parameters
    ----------
    run, qrels : str
        The files.
    depth : int
        Items of each query in the run.
    ties : str
        The order of items at one distance in the run, as in `TrecOptions`.
    seed : int or None
        Of ``shuffled``.
    metric : str
        The metric that trec_eval's ``map`` of the run is: mAP, or mAP@K[all] where the run is cut at K.
    expected : float
        Its mean, expected over ties.
    by_document_id : float
        Its mean with trec_eval's order of ties, by document id, the largest first: what trec_eval computes from scores
        that are distances.
    of_run : float
        Its mean in the order of the run: what trec_eval computes from the files.
    """

    run: str
    qrels: str
    depth: int
    ties: str
    seed: int | None
    metric: str
    expected: float
    by_document_id: float
    of_run: float

    @property
    def moved(self) -> float:
        """By how much trec_eval's order of ties moves the mean from its expected value."""
        return self.by_document_id - self.expected


def write_trec(
    query: NDArray[np.uint8],
    database: NDArray[np.uint8],
    counts: HammingCounts,
    truth: Relevance,
    options: TrecOptions,
    *,
    empty: str = "zero",
    tag: str | None = None,
) -> Trec:
    """Write the run and qrels files of a Hamming ranking; both appear when they are complete.

    Parameters
    ----------
    query, database : ndarray of uint8, shape (n, ceil(n_bits / 8))
        Packed codes.
    counts : HammingCounts
        Of these codes and this ground truth.
    truth : Relevance
    options : TrecOptions
    empty : {"zero", "drop"}, default="zero"
        A query without relevant items: judged by one line of level 0, so that trec_eval counts it as 0; or not in
        qrels, so that trec_eval leaves it out.
    tag : str, optional
        The last column of the run; blanks become underscores. ``protocol`` if None.

    Returns
    -------
    Trec

    Raises
    ------
    ProtocolError
        If a file can't be written, or the run has more than 2^24 items for each query with scores that fall strictly:
        trec_eval keeps scores in single precision.

    Notes
    -----
    Ids are ``q`` or ``d`` and the row number, from 0, padded with zeros, so that they sort as the numbers do. Files are
    written query by query: memory grows with the database only.
    """
    size, n_queries = len(database), len(query)
    depth = min(DEPTH if options.depth is None else options.depth, size)
    if options.ties != "distance" and depth > _EXACT:
        raise ProtocolError(
            f"trec_depth: expected an integer <= {_EXACT}, the scores that trec_eval can tell apart, got {depth}."
        )
    items = np.array(_ids("d", 7, size))
    run, qrels = (Path(options.folder) / name for name in ("run", "qrels"))
    label = re.sub(r"\s+", "_", tag.strip()) if tag and tag.strip() else "protocol"
    precisions = np.full((2, n_queries), np.nan)
    rankings = zip(_ids("q", 6, n_queries), _rankings(query, database, truth, options, depth), strict=True)
    with (
        replacing(run) as to_run,
        replacing(qrels) as to_qrels,
        open(to_run, "w", encoding="utf-8") as run_file,
        open(to_qrels, "w", encoding="utf-8") as qrels_file,
    ):
        for row, (name, (order, by_id, distances, levels)) in enumerate(rankings):
            scores = counts.n_bits - distances[order] if options.ties == "distance" else np.arange(depth, 0, -1)
            n_relevant = np.count_nonzero(levels)
            run_file.writelines(
                f"{name} Q0 {item} {rank} {score} {label}\n"
                for rank, (item, score) in enumerate(zip(items[order], scores.tolist(), strict=True), start=1)
            )
            judged = np.flatnonzero(levels) if n_relevant or empty == "drop" else np.arange(1)
            qrels_file.writelines(f"{name} 0 {items[item]} {levels[item]}\n" for item in judged)
            if n_relevant:
                precisions[:, row] = [_gained(levels[ranked]) / n_relevant for ranked in (by_id, order)]
    metric = "mAP" if depth == size else f"mAP@{depth}[all]"
    if empty == "zero":
        precisions = np.nan_to_num(precisions)
    by_document_id, of_run = map(metrics.mean, precisions)
    return Trec(
        run=str(run),
        qrels=str(qrels),
        depth=depth,
        ties=options.ties,
        seed=options.seed if options.ties == "shuffled" else None,
        metric=metric,
        expected=metrics.mean(metrics.evaluate(counts, [metric], empty=empty)[metric]),
        by_document_id=by_document_id,
        of_run=of_run,
    )


def _ids(letter: str, width: int, n: int) -> list[str]:
    """Return the ids of n rows, as wide as the last needs."""
    width = max(width, len(str(n - 1)))
    return [f"{letter}{row:0{width}d}" for row in range(n)]


def _rankings(
    query: NDArray[np.uint8], database: NDArray[np.uint8], truth: Relevance, options: TrecOptions, depth: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield for each query its order of the top items, that by document id, and all distances and levels."""
    words, of_queries, size = codes.words(database), codes.words(query), len(database)
    for row, code in enumerate(of_queries):
        distances = np.bitwise_count(words ^ code).sum(axis=1, dtype=np.int64)
        levels = np.zeros(size, dtype=np.int64)
        positions, found = truth.row(row)
        levels[positions] = found
        keys = distances.astype(np.uint16)  # which a stable sort sorts by digits
        by_id = size - 1 - np.argsort(keys[::-1], kind="stable")[:depth]
        if options.ties == "distance":
            order = by_id
        elif options.ties == "shuffled":
            shuffled = np.random.default_rng([options.seed, row]).permutation(size)
            order = shuffled[np.argsort(keys[shuffled], kind="stable")[:depth]]
        else:
            order = _spread(keys, levels > 0, depth)
        yield order, by_id, distances, levels


def _gained(levels: NDArray[np.int64]) -> float:
    """Return the sum of the precisions at the relevant items of a ranking."""
    ranks = np.flatnonzero(levels) + 1
    return float((np.arange(1, ranks.size + 1) / ranks).sum())


def _spread(distances: NDArray[np.uint16], relevant: NDArray[np.bool_], depth: int) -> NDArray[np.int64]:
    """Return the top items by distance, the relevant ones of each tie spread evenly over it.

    Evenly spread items are n / m places apart, and the first may be anywhere in the first n / m places. Of some such
    places, that one is taken that brings the sum of precisions of the ties so far closest to its expected value.
    """
    order = np.argsort(distances, kind="stable")
    ends = np.cumsum(np.bincount(distances))
    error, before, relevant_before = 0.0, 0, 0
    for end in ends[: np.searchsorted(ends, depth) + 1].tolist():
        tie = order[before:end]
        is_relevant = relevant[tie]
        n, m = tie.size, int(np.count_nonzero(is_relevant))
        if m:
            places = ((np.arange(m) + _OFFSETS[:, None]) * (n / m)).astype(np.int64)
            ranks = before + 1 + places
            gained = np.where(ranks <= depth, (relevant_before + 1 + np.arange(m)) / ranks, 0.0).sum(axis=1)
            errors = error + gained - _expected(n, m, before, relevant_before, depth)
            best = np.abs(errors).argmin()
            spread = np.zeros(n, dtype=bool)
            spread[places[best]] = True
            order[before:end][spread], order[before:end][~spread] = tie[is_relevant], tie[~is_relevant]
            error = float(errors[best])
        before, relevant_before = end, relevant_before + m
    return order[:depth]


def _expected(n: int, m: int, before: int, relevant_before: int, depth: int) -> float:
    """Return what a tie is expected to add to the sum of precisions, as in `protocol.metrics.average_precision`."""
    inside = np.arange(min(n, depth - before))
    slope = (m - 1) / max(n - 1, 1)
    return float((m / n * (relevant_before + 1 + slope * inside) / (before + 1 + inside)).sum())
