"""How an evaluation is printed, and its run and qrels files of TREC."""

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from protocol import codes, metrics, registry
from protocol.checks import ProtocolError, abridged, counted, rounded
from protocol.evaluation.conventions import find
from protocol.evaluation.printed import Printed
from protocol.evaluation.result import Evaluation, ScoredRanking
from protocol.provenance.storage import check_writable, replacing
from protocol.scores.tables import Table
from protocol.truth.relevance import LabelRelevance

DEPTH = 1000
"""The number of items of each query in a run of TREC; all of a smaller database."""
_FEW = 10  # at most this many labels are listed
_MANY, _DEVIATIONS, _LARGE = 100, 3, 0.1
"""Of at least so many queries, a mAP is noted that exceeds another by at most so many standard errors of their
difference, and by at most this share of what the other lacks to 1."""
_COUNTED = {"zero": "as 0", "drop": "left out"}
DISTANCE_NAMES = {"cosine": "cosine", "euclidean": "Euclidean distance", "dot": "inner product"}
_RANKING = {"asymmetric": "asymmetric ranking", "run": "ranked by the scores of a run"} | {
    distance: f"real-valued vectors ranked by {name}" for distance, name in DISTANCE_NAMES.items()
}


def parts(evaluation: Evaluation, lines: Sequence[str] = (), more: Sequence[Table] = ()) -> list[str | Table]:
    """Return the paragraphs and tables of `Evaluation.parts`, with further lines and tables about the codes."""
    about = [*input_lines(evaluation), *_about_own(evaluation), *lines]
    result: list[str | Table] = ["\n".join(about), metrics_table(evaluation), *more]
    if sentences := evaluation.code_utilisation.sentences():
        result.append("\n".join(f"{name}: {text}." for name, text in sentences.items()))
    if not_copied := find(evaluation.convention).not_copied:
        result.append("\n".join(["not copied from the original:", *(f"  {line}" for line in not_copied)]))
    return result


def input_lines(evaluation: ScoredRanking) -> list[str]:
    """Return the line about the inputs, and one for each thing that is unusual about them or about the convention."""
    n, rules = evaluation.n_queries, find(evaluation.convention)
    sizes = [counted(n, "query")]
    if isinstance(evaluation, Evaluation):
        of_database = "" if evaluation.ranking == "hamming" else "database "
        dimensions = [counted(evaluation.codes.query.shape[1], "dimension")] * (evaluation.ranking in DISTANCE_NAMES)
        sizes += [counted(evaluation.n_database, "database item"), *dimensions, counted(evaluation.n_bits, "bit")]
        sizes += [f"{of_database}binarised by {evaluation.binarize}"] if evaluation.binarize else []
    facts = [", ".join(sizes), _RANKING.get(evaluation.ranking, ""), _about_relevance(evaluation)]
    about = f"convention {rules.name}: {rules.summary} [{rules.source}]" if rules.not_copied else ""
    return ["; ".join(filter(None, facts)), *filter(None, [_unusual(evaluation), about])]


def with_ties(fewest: int, most: int, k: int) -> str:
    """Return the numbers of items that count as the k nearest of a query, after a comma; "" if none has more."""
    return "" if most == k else f", with ties {fewest:,} to {most:,} items"


def _about_relevance(evaluation: ScoredRanking) -> str:
    """Return how the ground truth was read, unless it is labels.

    If several items are as far away as the K-th nearest one, all of them are nearest items.
    """
    (fewest, most), nearest = evaluation.relevant_per_query, evaluation.nearest
    if nearest is not None:
        by = f"{DISTANCE_NAMES[nearest.distance]} of the vectors ({nearest.dtype}, dimension {nearest.n_features:,})"
        return f"relevant: the {nearest.relevant:,} nearest by {by}{with_ties(fewest, most, nearest.relevant)}"
    if evaluation.labels_not_in_database is not None:
        return ""
    lowest, highest = evaluation.levels
    levels = f"level {lowest}" if lowest == highest else f"levels {lowest} to {highest}, larger is more relevant"
    items = counted(most, "relevant item") if fewest == most else f"{fewest:,} to {most:,} relevant items"
    kind = "" if evaluation.relevance == "judgments" else "read as "
    return f"relevance {kind}{evaluation.relevance}: {items} per query ({levels})"


def _unusual(evaluation: ScoredRanking) -> str:
    """Return what is unusual about the ground truth."""
    n = evaluation.queries_without_relevant
    facts = [f"{n:,} of {evaluation.n_queries:,} queries {'has' if n == 1 else 'have'} no relevant item"] * (n > 0)
    if evaluation.labels_not_in_database:
        facts.append(f"query labels absent from the database: {abridged(evaluation.labels_not_in_database, _FEW)}")
    is_every = evaluation.relevant_per_query[0] == getattr(evaluation, "n_database", None)
    facts += ["every item is relevant to every query"] * (is_every and evaluation.nearest is None)
    if isinstance(evaluation, Evaluation):
        query, is_left_out = evaluation.codes.query, evaluation.leave_one_out
        is_single = evaluation.n_queries > 1 and bool((query == query[0]).all())
        facts += ["all queries have the same code, so they have the same ranking"] * is_single
        if evaluation.n_queries > len(evaluation.codes.database):
            facts.append("more queries than database items: are these swapped?")
        elif evaluation.counts is not None and "mAP" in evaluation.per_query and not (is_every or is_left_out):
            facts.append(_about_order(evaluation))
    return "; ".join(filter(None, facts))


def _about_order(evaluation: Evaluation) -> str:
    """Return that the mAP is not clearly above that with the codes of the queries exchanged, or nothing."""
    own, others = evaluation.per_query["mAP"][: evaluation.exchanged.size], evaluation.exchanged
    own, others = own[~np.isnan(own)], others[~np.isnan(own)]
    gaps = own - others
    if gaps.size < _MANY or gaps.mean() > min(_DEVIATIONS * gaps.std() / gaps.size**0.5, _LARGE * (1 - others).mean()):
        return ""
    first = f" of the first {gaps.size:,} queries" * (gaps.size < evaluation.n_queries)
    about = f"mAP {rounded(float(own.mean()))}{first} is not clearly above that with the codes of the queries exchanged"
    question = "do the codes and the ground truth belong together, in the same order?"
    return f"{about}, {rounded(float(others.mean()))}: {question}"


def _about_own(evaluation: Evaluation) -> list[str]:
    """Return the line about queries that are database items, if they are, or are left out."""
    if evaluation.leave_one_out:
        n = evaluation.n_other_codes
        other = f"; rows with another code as a query: {n:,}" if n else ""
        return [f"each query's own row is left out of the {evaluation.n_queries:,} database items{other}"]
    if not evaluation.queries_are_database:
        return []
    same = "are" if isinstance(evaluation.truth.relevance, LabelRelevance) else "have the codes of"
    option = "protocol evaluate --leave-one-out (Python: leave_one_out=True)"
    return [f"the queries {same} the database items: each query finds itself first, unless {option} leaves it out"]


def metrics_table(evaluation: ScoredRanking) -> Table:
    """Return the table of the means.

    The row of a metric contains its range over the orders of ties if its worst and its best order were requested; that
    of the mAP of a Hamming ranking also if neither was.
    """
    rules, cells, counts = find(evaluation.convention), [], getattr(evaluation, "counts", None)
    values, orders = evaluation.metrics, ("mAP[worst]", "mAP[best]")
    if counts is not None and "mAP" in values and values.keys().isdisjoint(orders):
        of_ends = metrics.evaluate(counts, orders, undefined=rules.undefined("mAP"))
        values = {name: metrics.mean(of_queries) for name, of_queries in of_ends.items()} | values
    means = {name: rounded(mean) for name, mean in values.items()}
    ends = {name: (metrics.bracketed(name, "worst"), metrics.bracketed(name, "best")) for name in means}
    ranges = {name: both for name, both in ends.items() if means.keys() >= {*both}}
    for name in itertools.filterfalse({*itertools.chain(*ranges.values())}.__contains__, means):
        record, n = registry.METRICS.entry(name), evaluation.n_undefined[name]
        undefined = f"{n:,} {_COUNTED[rules.undefined(name)]}" if n else "none"
        ties = re.split("[,:.]| over ", record.ties)[0].lower()  # "expected value", "relevant items first", "none"
        if name in ranges:
            worst, best = (means[end] for end in ranges[name])
            ties = "no effect" if worst == best else f"{worst} to {best}"
        cells.append((name, means[name], ties, record.denominator, undefined))
    header = ("metric", "mean", "ties", "denominator", "undefined")
    n_columns = len(header) - all(cell[-1] == "none" for cell in cells)
    return Table("metrics", "", header[:n_columns], [cell[:n_columns] for cell in cells])


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
        """Return a sentence with the files and the effect of trec_eval's order of ties on mAP."""
        sentence = f"TREC files {self.run} and {self.qrels}: {self.depth:,} items per query"
        if not math.isnan(self.moved):
            means = f"from {rounded(self.expected)} to {rounded(self.by_document_id)}"
            sentence += f"; trec_eval's tie-breaking moves {self.metric} {means} ({self.moved:+.2g})"
        return [f"{sentence}."]

    def content(self) -> dict[str, Any]:
        """Return all fields as ``trec``."""
        return {"trec": asdict(self) | {"moved": self.moved}}


def write_trec(evaluation: Evaluation, folder: str | Path) -> Trec:
    """Write the run and qrels files of a Hamming ranking; both appear only when they are complete.

    Parameters
    ----------
    evaluation : Evaluation
        Its name is the last column of the run, with blanks replaced by underscores. If its convention counts undefined
        values as 0, a query without relevant items has one judgement of level 0 in qrels, so that trec_eval counts it
        as 0; otherwise, it is left out.
    folder : str or Path
        The folder for the files ``run`` and ``qrels``; created if it is missing.

    Returns
    -------
    Trec
        The names of the files, and the effect of trec_eval's order of ties on their mAP.

    Raises
    ------
    ProtocolError
        If the ranking is not the Hamming ranking, or a file can't be written.

    Notes
    -----
    Scores are n_bits - distance. trec_eval ignores ranks, and sorts items of equal scores by document id, largest
    first; the run has this order. Ids are ``q`` or ``d`` and the row number, from 0, padded with zeros so that they
    sort in numerical order. Files are written query by query, so memory grows only with the database.
    """
    counts = evaluation.counts
    if counts is None:
        raise ProtocolError(f"trec needs Hamming distances, which the {evaluation.ranking} ranking does not have.")
    check_writable(folder)
    undefined, depth = find(evaluation.convention).undefined("mAP"), min(DEPTH, counts.n_database)
    files = [Path(folder) / name for name in ("run", "qrels")]
    with (
        replacing(files[0]) as to_run,
        replacing(files[1]) as to_qrels,
        open(to_run, "w", encoding="utf-8") as run,
        open(to_qrels, "w", encoding="utf-8") as qrels,
    ):
        precisions = _write_queries(evaluation, run, qrels, depth, judge_all=undefined == "zero")
    metric = "mAP" if depth == counts.n_database else f"mAP@{depth}[all]"
    expected = metrics.mean(metrics.evaluate(counts, [metric], undefined=undefined)[metric])
    return Trec(str(files[0]), str(files[1]), depth, metric, expected, by_document_id=metrics.mean(precisions))


def _write_queries(
    evaluation: Evaluation, run: IO[str], qrels: IO[str], depth: int, *, judge_all: bool
) -> NDArray[np.float64]:
    """Write the lines of each query, and return the average precision of its run.

    A query without relevant items has a judgement of level 0 and the value 0 if `judge_all`; otherwise none, and NaN.
    """
    pair, tag = evaluation.codes, re.sub(r"\s+", "_", evaluation.name or "protocol")
    words, ids, precisions = codes.words(pair.database), np.array(_ids("d", 7, len(pair.database))), []
    for row, (name, code) in enumerate(zip(_ids("q", 6, len(pair.query)), codes.words(pair.query), strict=True)):
        distances = np.bitwise_count(words ^ code).sum(axis=1, dtype=np.int64)
        items, levels = ids, np.zeros(len(words), dtype=np.int64)
        positions, of_relevant = evaluation.truth.relevance.row(row)
        levels[positions] = of_relevant
        if evaluation.leave_one_out:
            distances, levels, items = (np.delete(array, row) for array in (distances, levels, ids))
        order = len(items) - 1 - np.argsort(distances[::-1], kind="stable")[:depth]
        ranking = zip(items[order], (pair.n_bits - distances[order]).tolist(), strict=True)
        run.writelines(f"{name} Q0 {item} {rank} {score} {tag}\n" for rank, (item, score) in enumerate(ranking, 1))
        relevant, ranks = np.flatnonzero(levels), np.flatnonzero(levels[order]) + 1
        judged = relevant if relevant.size or not judge_all else [0]
        qrels.writelines(f"{name} 0 {items[item]} {levels[item]}\n" for item in judged)
        precisions.append((np.arange(1, ranks.size + 1) / ranks).sum() / (len(judged) or math.nan))
    return np.array(precisions)


def _ids(letter: str, width: int, n: int) -> list[str]:
    """Return the ids of n rows, padded to equal width."""
    width = max(width, len(str(n - 1)))
    return [f"{letter}{row:0{width}d}" for row in range(n)]
