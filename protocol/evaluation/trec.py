"""A ranking as run and qrels files of TREC, and the effect of trec_eval's order of ties on its mAP."""

import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import codes, metrics
from protocol.checks import ProtocolError, integer, one_of
from protocol.counting import HammingCounts
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.printed import Printed, shown
from protocol.provenance.storage import check_writable, replacing
from protocol.scores.tables import Table
from protocol.truth.relevance import Relevance

TIES = ("expected", "shuffled", "distance")
DEPTH = 1000
_EXACT = 1 << 24  # trec_eval stores scores in single precision, which is exact for integers up to this one
_OFFSETS = (np.arange(16) + 0.5) / 16  # where the first of evenly spread items may be, in units of their distance


@dataclass(frozen=True)
class TrecOptions:
    """How to write TREC files.

    Parameters
    ----------
    folder : str or Path
        The folder for the files ``run`` and ``qrels``; created if it is missing.
    depth : int, optional
        The number of items of each query in the run. If None, 1,000, or the size of the database if that is smaller.
    ties : {"expected", "shuffled", "distance"}, default="expected"
        The order of items at equal distance. ``expected``: relevant items are spread evenly over the tie, so that the
        average precision is close to its expected value over all orders. ``shuffled``: the order is random. Both give
        strictly decreasing scores, because trec_eval ignores ranks and sorts by score. ``distance``: tied items have
        equal scores, n_bits - distance, and trec_eval sorts them by document id, largest first.
    seed : int, default=0
        The seed for ``shuffled``.

    Raises
    ------
    ProtocolError
        If an option is out of range, or the folder is not writable.
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


@dataclass(frozen=True, repr=False)
class Trec(Printed):
    """TREC files that were written, and their mAP.

    Parameters
    ----------
    run : str
        The name of the file with the ranking.
    qrels : str
        The name of the file with the relevant items.
    depth : int
        The number of items of each query in the run.
    ties : str
        The order of items at equal distance in the run, as in `TrecOptions`.
    seed : int or None
        The seed of ``shuffled``.
    metric : str
        The metric to which trec_eval's ``map`` corresponds: mAP, or mAP@K[all] if the run is cut off at K.
    expected : float
        Its mean, as the expected value over ties.
    by_document_id : float
        Its mean with trec_eval's order of ties, by document id, largest first: the value that trec_eval computes if
        scores are distances.
    of_run : float
        Its mean in the order of the run: the value that trec_eval computes from the files.
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
        """The difference that trec_eval's order of ties makes to the mean, compared with the expected value."""
        return self.by_document_id - self.expected

    def parts(self) -> list[str | Table]:
        """Return the table of mAP by order of ties; the title gives the files and the effect of trec_eval's order."""
        cells = [
            ("expected over ties", shown(self.expected)),
            ("ties by document id, as trec_eval orders them", shown(self.by_document_id)),
            ("in the order of the run", shown(self.of_run)),
        ]
        ties = self.ties if self.seed is None else f"{self.ties} with seed {self.seed}"
        title = f"TREC files {self.run} and {self.qrels}: {self.depth:,} items per query, ties {ties}"
        if not math.isnan(self.moved):
            means = f"from {shown(self.expected)} to {shown(self.by_document_id)}"
            title += f"; trec_eval's tie-breaking moves {self.metric} {means} ({self.moved:+.2g})"
        return [Table("trec", f"{title}:", (self.metric, "mean"), cells)]

    def content(self) -> dict[str, Any]:
        """Return all fields as ``trec``."""
        return {"trec": asdict(self) | {"moved": self.moved}}


def write_trec(
    pair: CodePair,
    counts: HammingCounts,
    truth: Relevance,
    options: TrecOptions,
    *,
    empty: str = "zero",
    leave_one_out: bool = False,
    tag: str | None = None,
) -> Trec:
    """Write the run and qrels files of a Hamming ranking; both appear only when they are complete.

    Parameters
    ----------
    pair : CodePair
        The codes of queries and database.
    counts : HammingCounts
        The counts of these codes with this ground truth.
    truth : Relevance
    options : TrecOptions
    empty : {"zero", "drop"}, default="zero"
        The treatment of queries without relevant items: ``zero`` writes one judgement of level 0, so that trec_eval
        counts the query as 0; ``drop`` omits the query from qrels, so that trec_eval leaves it out.
    leave_one_out : bool, default=False
        Whether item i is left out of the run and of the qrels of query i, as it was from the counts.
    tag : str, optional
        The last column of the run, with blanks replaced by underscores; ``protocol`` if None.

    Returns
    -------
    Trec

    Raises
    ------
    ProtocolError
        If a file can't be written, or a run with strictly decreasing scores has more than 2^24 items for each query,
        because trec_eval stores scores in single precision.

    Notes
    -----
    Ids are ``q`` or ``d`` and the row number, from 0, padded with zeros so that they sort in numerical order. Files are
    written query by query, so memory grows only with the database.
    """
    size = counts.n_database
    depth = min(DEPTH if options.depth is None else options.depth, size)
    if options.ties != "distance" and depth > _EXACT:
        raise ProtocolError(
            f"trec_depth must be at most {_EXACT:,}, the number of scores that trec_eval can distinguish, got "
            f"{depth:,}."
        )
    run, qrels = (Path(options.folder) / name for name in ("run", "qrels"))
    label = re.sub(r"\s+", "_", (tag or "").strip()) or "protocol"
    with replacing(run) as to_run, replacing(qrels) as to_qrels:
        precisions = _write((to_run, to_qrels), pair, truth, options, depth, label, empty, leave_one_out)
    metric = "mAP" if depth == size else f"mAP@{depth}[all]"
    by_document_id, of_run = map(metrics.mean, np.nan_to_num(precisions) if empty == "zero" else precisions)
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


def _write(
    files: tuple[Path, Path],
    pair: CodePair,
    truth: Relevance,
    options: TrecOptions,
    depth: int,
    label: str,
    empty: str,
    leave_one_out: bool,
) -> NDArray[np.float64]:
    """Write run and qrels; return the average precision of each query by document id and in the order of the run.

    The result is (2, n_queries), with NaN for queries without relevant items.
    """
    ids, queries = np.array(_ids("d", 7, len(pair.database))), _ids("q", 6, len(pair.query))
    precisions = np.full((2, len(queries)), np.nan)
    with open(files[0], "w", encoding="utf-8") as run, open(files[1], "w", encoding="utf-8") as qrels:
        for row, (order, by_id, distances, levels) in enumerate(_rankings(pair, truth, options, depth, leave_one_out)):
            items = np.delete(ids, row) if leave_one_out else ids
            name, n_relevant = queries[row], np.count_nonzero(levels)
            scores = pair.n_bits - distances[order] if options.ties == "distance" else np.arange(depth, 0, -1)
            run.writelines(
                f"{name} Q0 {item} {rank} {score} {label}\n"
                for rank, (item, score) in enumerate(zip(items[order], scores.tolist(), strict=True), start=1)
            )
            judged = np.flatnonzero(levels) if n_relevant or empty == "drop" else np.arange(1)
            qrels.writelines(f"{name} 0 {items[item]} {levels[item]}\n" for item in judged)
            if n_relevant:
                precisions[:, row] = [_gained(levels[ranked]) / n_relevant for ranked in (by_id, order)]
    return precisions


def _ids(letter: str, width: int, n: int) -> list[str]:
    """Return the ids of n rows, padded to equal width."""
    width = max(width, len(str(n - 1)))
    return [f"{letter}{row:0{width}d}" for row in range(n)]


def _rankings(
    pair: CodePair, truth: Relevance, options: TrecOptions, depth: int, leave_one_out: bool
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, for each query, the top items in its order and in that of document ids, and all distances and levels.

    With `leave_one_out`, the positions are those of the database without the item of the query.
    """
    words, of_queries = codes.words(pair.database), codes.words(pair.query)
    for row, code in enumerate(of_queries):
        distances = np.bitwise_count(words ^ code).sum(axis=1, dtype=np.int64)
        levels = np.zeros(len(words), dtype=np.int64)
        positions, of_relevant = truth.row(row)
        levels[positions] = of_relevant
        if leave_one_out:
            distances, levels = np.delete(distances, row), np.delete(levels, row)
        size = len(distances)
        keys = distances.astype(np.uint16)  # NumPy uses radix sort for a stable sort of this type
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
    """Return the sum of the precisions at the ranks of the relevant items."""
    ranks = np.flatnonzero(levels) + 1
    return float((np.arange(1, ranks.size + 1) / ranks).sum())


def _spread(distances: NDArray[np.uint16], relevant: NDArray[np.bool_], depth: int) -> NDArray[np.int64]:
    """Return the top items by distance, with the relevant items of each tie spread evenly over it.

    Evenly spread items are n / m places apart, and the first may be anywhere in the first n / m places. Of several such
    places, we choose the one for which the sum of precisions up to this tie is closest to its expected value.
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
    """Return the expected sum of precisions in a tie, as in `protocol.metrics.average_precision`."""
    inside = np.arange(min(n, depth - before))
    slope = (m - 1) / max(n - 1, 1)
    return float((m / n * (relevant_before + 1 + slope * inside) / (before + 1 + inside)).sum())
