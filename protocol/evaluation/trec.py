"""A ranking as run and qrels files of TREC, and the effect of trec_eval's order of ties on its mAP."""

import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from protocol import codes, metrics
from protocol.checks import ProtocolError, integer
from protocol.evaluation.conventions import find
from protocol.evaluation.printed import Printed, shown
from protocol.evaluation.result import Evaluation
from protocol.provenance.storage import check_writable, replacing
from protocol.scores.tables import Table

DEPTH = 1000


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
    metric : str
        The metric to which trec_eval's ``map`` corresponds: mAP, or mAP@K[all] if the run is cut off at K.
    expected : float
        Its mean, as the expected value over ties.
    by_document_id : float
        Its mean with trec_eval's order of ties, by document id, largest first: the value that trec_eval computes.
    """

    run: str
    qrels: str
    depth: int
    metric: str
    expected: float
    by_document_id: float

    @property
    def moved(self) -> float:
        """The difference that trec_eval's order of ties makes to the mean, compared with the expected value."""
        return self.by_document_id - self.expected

    def parts(self) -> list[str | Table]:
        """Return the table of mAP by order of ties; the title gives the files and the effect of trec_eval's order."""
        title = f"TREC files {self.run} and {self.qrels}: {self.depth:,} items per query"
        if not math.isnan(self.moved):
            means = f"from {shown(self.expected)} to {shown(self.by_document_id)}"
            title += f"; trec_eval's tie-breaking moves {self.metric} {means} ({self.moved:+.2g})"
        cells = [
            ("expected over ties", shown(self.expected)),
            ("ties by document id, as trec_eval orders them", shown(self.by_document_id)),
        ]
        return [Table("trec", f"{title}:", (self.metric, "mean"), cells)]

    def content(self) -> dict[str, Any]:
        """Return all fields as ``trec``."""
        return {"trec": asdict(self) | {"moved": self.moved}}


def check_trec(folder: str | Path, depth: int | None) -> None:
    """Raise ProtocolError if the folder is not writable, or the depth is not a positive integer."""
    if depth is not None:
        integer(depth, "trec_depth")
    check_writable(folder)


def write_trec(evaluation: Evaluation, folder: str | Path, depth: int | None = None) -> Trec:
    """Write the run and qrels files of a Hamming ranking; both appear only when they are complete.

    Parameters
    ----------
    evaluation : Evaluation
        Its name is the last column of the run, with blanks replaced by underscores. If its convention counts undefined
        values as 0, a query without relevant items has one judgement of level 0 in qrels, so that trec_eval counts it
        as 0; otherwise, it is left out.
    folder : str or Path
        The folder for the files ``run`` and ``qrels``; created if it is missing.
    depth : int, optional
        The number of items of each query in the run. If None, 1,000, or the size of the database if that is smaller.

    Raises
    ------
    ProtocolError
        If the ranking is not the Hamming ranking, the depth is out of range, or a file can't be written.

    Notes
    -----
    Scores are n_bits - distance. trec_eval ignores ranks, and sorts items of equal scores by document id, largest
    first; the run has this order. Ids are ``q`` or ``d`` and the row number, from 0, padded with zeros so that they
    sort in numerical order. Files are written query by query, so memory grows only with the database.
    """
    pair, counts, leave_one_out = evaluation.codes, evaluation.counts, evaluation.leave_one_out
    if counts is None:
        raise ProtocolError(f"trec needs Hamming distances, which the {evaluation.ranking} ranking does not have.")
    check_trec(folder, depth)
    size, empty = counts.n_database, find(evaluation.convention).empty("mAP")
    depth = min(depth or DEPTH, size)
    files = [Path(folder) / name for name in ("run", "qrels")]
    tag = re.sub(r"\s+", "_", (evaluation.name or "").strip()) or "protocol"
    words, ids = codes.words(pair.database), np.array(_ids("d", 7, len(pair.database)))
    queries, precisions = _ids("q", 6, len(pair.query)), np.full(len(pair.query), np.nan)
    with (
        replacing(files[0]) as to_run,
        replacing(files[1]) as to_qrels,
        open(to_run, "w", encoding="utf-8") as run,
        open(to_qrels, "w", encoding="utf-8") as qrels,
    ):
        for row, (name, code) in enumerate(zip(queries, codes.words(pair.query), strict=True)):
            distances = np.bitwise_count(words ^ code).sum(axis=1, dtype=np.uint16)
            levels, items = np.zeros(len(words), dtype=np.int64), ids
            positions, of_relevant = evaluation.truth.relevance.row(row)
            levels[positions] = of_relevant
            if leave_one_out:
                distances, levels, items = (np.delete(array, row) for array in (distances, levels, ids))
            order = size - 1 - np.argsort(distances[::-1], kind="stable")[:depth]
            scores = pair.n_bits - distances[order].astype(np.int64)
            run.writelines(
                f"{name} Q0 {item} {rank} {score} {tag}\n"
                for rank, (item, score) in enumerate(zip(items[order], scores.tolist(), strict=True), start=1)
            )
            relevant = np.flatnonzero(levels)
            judged = relevant if relevant.size or empty == "drop" else np.arange(1)
            qrels.writelines(f"{name} 0 {items[item]} {levels[item]}\n" for item in judged)
            if relevant.size:
                ranks = np.flatnonzero(levels[order]) + 1
                precisions[row] = (np.arange(1, ranks.size + 1) / ranks).sum() / relevant.size
    metric = "mAP" if depth == size else f"mAP@{depth}[all]"
    return Trec(
        run=str(files[0]),
        qrels=str(files[1]),
        depth=depth,
        metric=metric,
        expected=metrics.mean(metrics.evaluate(counts, [metric], empty=empty)[metric]),
        by_document_id=metrics.mean(np.nan_to_num(precisions) if empty == "zero" else precisions),
    )


def _ids(letter: str, width: int, n: int) -> list[str]:
    """Return the ids of n rows, padded to equal width."""
    width = max(width, len(str(n - 1)))
    return [f"{letter}{row:0{width}d}" for row in range(n)]
