"""The loss of codes compared with their vectors, as lines and tables of an evaluation, and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from protocol.evaluation.cost import Cost
from protocol.evaluation.data import EvaluationData
from protocol.evaluation.rescoring import Rescoring

_Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]  # title, header, cells
_DISTANCES = {"cosine": "cosine", "euclidean": "Euclidean distance", "dot": "inner product"}


def loss_head(evaluation: EvaluationData) -> list[str]:
    """Return the lines above the tables, about the codes and the nearest items; [] without vectors.

    If several items are as far away as the K-th nearest one, all of them are nearest items; a line gives their number.
    """
    nearest = evaluation.nearest
    if nearest is None:
        return []
    codes = [] if nearest.codes is None else [f"codes: {nearest.codes}"]
    if nearest.constant_bits:
        verb = "bits has" if nearest.constant_bits == 1 else "bits have"
        codes.append(
            f"{nearest.constant_bits:,} of the {evaluation.n_bits:,} {verb} the same value in the whole database"
        )
    fewest, most = evaluation.relevant_per_query
    ties = "" if most == nearest.relevant else f"; with ties {fewest:,} to {most:,} items for K = {nearest.relevant:,}"
    codes += [f"second codes: {curve.codes}" for curve in evaluation.rescoring if curve.codes]
    vectors = f"{nearest.dtype}, dimension {nearest.n_features:,}"
    return [*codes, f"nearest items: by {_DISTANCES[nearest.distance]} of the vectors ({vectors}){ties}"]


def loss_tables(evaluation: EvaluationData) -> list[_Table]:
    """Return the title, the header and the rows of each table about the loss; [] without vectors."""
    if evaluation.nearest is None or evaluation.cost is None:
        return []
    return [_found(evaluation), *map(_curve, evaluation.rescoring), _cost(evaluation.cost)]


def loss_content(evaluation: EvaluationData) -> dict[str, Any]:
    """Return the fields about the loss for JSON: ``nearest``, ``rescoring`` and ``cost``; {} without vectors."""
    if evaluation.nearest is None or evaluation.cost is None:
        return {}
    cost = asdict(evaluation.cost)
    if evaluation.cost.speed is None:
        del cost["speed"]
    return {
        "nearest": asdict(evaluation.nearest),
        "rescoring": [
            {
                "by": curve.by,
                "n_bits": curve.n_bits,
                "codes": None if curve.codes is None else asdict(curve.codes),
                "target": curve.target,
                "rows": [row._asdict() for row in curve.rows],
                "smallest_factor": {str(number): found._asdict() for number, found in curve.smallest.items()},
            }
            for curve in evaluation.rescoring
        ],
        "cost": cost,
    }


def _found(evaluation: EvaluationData) -> _Table:
    numbers = evaluation.nearest.numbers if evaluation.nearest else ()
    cells = []
    for number in numbers:
        row = [f"{number:,}"]
        for name in (f"neighbours@{number}", f"1-recall@{number}"):
            values = (evaluation.metrics[f"{name}{ties}"] for ties in ("", "[worst]", "[best]"))
            row += _with_range(*values)
        cells.append(row)
    header = ("K", "neighbours@K", "worst to best", "1-recall@K", "worst to best")
    title = (
        "share of the K nearest items among the top K by code, and of queries with their nearest item there; "
        "expected over ties"
    )
    return title, header, cells


def _curve(curve: Rescoring) -> _Table:
    """Return the table of a curve of re-ranking: a row for each factor, two columns for each K."""
    numbers = list(curve.smallest)
    header = ["c"]
    for number in numbers:
        header += [f"K = {number:,}", "worst to best"]
    values = {(row.neighbours, row.factor): (row.expected, row.worst, row.best) for row in curve.rows}
    cells = []
    for factor in sorted({row.factor for row in curve.rows}):
        row = [f"{factor:,}"]
        for number in numbers:
            row += _with_range(*values[number, factor]) if (number, factor) in values else ["", ""]
        cells.append(row)
    smallest = [f"smallest c for {curve.target:g}"]
    for found in curve.smallest.values():
        reached = f"{_or_none(found.worst)} to {_or_none(found.best)}"
        smallest += [_or_none(found.expected), "" if len(set(found)) == 1 else reached]
    again = "the vectors" if curve.by == "vectors" else f"the second codes of {curve.n_bits:,} bits"
    title = f"share of the K nearest items that remain if c x K items are retrieved by code and re-ranked by {again}"
    return title, header, [*cells, smallest]


def _with_range(expected: float, worst: float, best: float) -> list[str]:
    shown = [f"{value:.4f}" for value in (expected, worst, best)]
    return [shown[0], "" if len(set(shown)) == 1 else f"{shown[1]} to {shown[2]}"]


def _or_none(factor: int | None) -> str:
    return "none" if factor is None else f"{factor:,}"


def _cost(cost: Cost) -> _Table:
    """Return the table of the cost. If the speed was measured, the title names the machine."""
    speeds: dict[str, float] = {}
    title, header = "cost of an item", ["stored", "bytes", "share of the vector"]
    if cost.speed is not None:
        speeds = {"code": cost.speed.codes, "vector": cost.speed.vectors}
        header.append("queries per second")
        title += f"; speed of our own exact scan with one thread on {cost.speed.machine}, not that of any index"
    stored = {"code": cost.code_bytes, "second code": cost.rescore_code_bytes, "vector": cost.vector_bytes}
    cells = []
    for what, n_bytes in stored.items():
        if n_bytes is not None:
            row = [what, f"{n_bytes:,}", f"1/{cost.vector_bytes / n_bytes:.4g}" if what != "vector" else ""]
            cells.append([*row, *([f"{speeds[what]:,.0f}" if what in speeds else ""] if speeds else [])])
    return title, header, cells
