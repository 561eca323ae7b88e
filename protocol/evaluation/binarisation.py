"""Recall lost to binarisation: the share of the nearest items that codes find, re-ranking, and cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from protocol.checks import ProtocolError
from protocol.evaluation import plots
from protocol.evaluation.code_pairs import read_codes, sources
from protocol.evaluation.evaluation import scored
from protocol.evaluation.ground_truth import Nearest, check_sizes, files_of, ground_truth
from protocol.evaluation.output import parts
from protocol.evaluation.printed import with_range
from protocol.evaluation.progress import Progress, stage
from protocol.evaluation.representations import HashedBy, Hashing, Quantisers, encoded, ranking_of, represent
from protocol.evaluation.rescoring import (
    EqualBytes,
    Rescoring,
    RescoringCurve,
    by_quantiser,
    by_vectors,
    compared,
    represented,
)
from protocol.evaluation.result import Evaluation
from protocol.evaluation.scoring import Scoring
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Quantisation(Evaluation):
    """Recall lost to binarisation: an evaluation with the nearest items as the ground truth, re-ranking and cost.

    Parameters
    ----------
    hashed_by : HashedBy or None
        How the codes were computed from the vectors; None if codes were given.
    constant_bits : int
        The number of bits that have the same value in all database codes.
    rescoring : tuple of RescoringCurve
        The share of the nearest items after re-ranking by the vectors, and by a quantiser if one is chosen.
    vector_bytes : int
        Bytes of a vector in its stored dtype.
    equal_bytes : EqualBytes or None
        The codes and other representations, compared at equal bytes; None if none was requested.
    ranked_by : mapping of str to str
        For the codes and each representation that is compared with them, what ranks the items; empty if none is.
    """

    hashed_by: HashedBy | None
    constant_bits: int
    rescoring: tuple[RescoringCurve, ...]
    vector_bytes: int
    equal_bytes: EqualBytes | None = None
    ranked_by: Mapping[str, str] = field(default_factory=dict)

    def plot(self, kind: str = "rescoring") -> "alt.Chart":
        """Return a figure of `Evaluation.plot`, or one of the share of the nearest items.

        Parameters
        ----------
        kind : str
            ``rescoring``: over the factor c; ``bytes``: of all representations, over the bytes of a vector.
        """
        if kind == "bytes" and self.equal_bytes is not None:
            return plots.equal_bytes(self.equal_bytes.points(), self.name or "Nearest items found at equal bytes")
        if kind != "rescoring":
            return super().plot(kind)
        points = [
            {"by": curve.by, "K": row.neighbours, "c": row.factor, "worst": row.worst, "share": row.expected}
            | {"best": row.best}
            for curve in self.rescoring
            for row in curve.rows
        ]
        return plots.rescoring(points, self.name or "Nearest items found after re-ranking")

    def content(self) -> dict[str, Any]:
        """Return the fields of the evaluation and of this class; those that were not requested are left out."""
        names = ("hashed_by", "constant_bits", "rescoring")
        content = super().content() | {name: getattr(self, name) for name in names}
        content["cost"] = {"code_bytes": self.codes.database.shape[1], "vector_bytes": self.vector_bytes}
        if self.ranked_by:
            content["ranked_by"] = self.ranked_by
        return content if self.equal_bytes is None else content | {"equal_bytes": self.equal_bytes}

    def parts(self) -> list[str | Table]:
        """Return the parts of an evaluation, with the origin and the cost of the codes, re-ranking and comparison."""
        lines = [] if self.hashed_by is None else [f"codes: {self.hashed_by}"]
        if self.constant_bits:
            verb = "bits has" if self.constant_bits == 1 else "bits have"
            lines.append(f"{self.constant_bits:,} of the {self.n_bits:,} {verb} the same value in the whole database")
        for ranking in dict.fromkeys(self.ranked_by.values()):
            names = [name for name, own in self.ranked_by.items() if own == ranking]
            lines.append(f"ranked by {ranking}: {', '.join(names)}")
        tables, n_bytes = list(map(_curve_table, self.rescoring)), self.codes.database.shape[1]
        cells = [["code", f"{n_bytes:,}", f"1/{self.vector_bytes / n_bytes:.4g}"]]
        cells.append(["vector", f"{self.vector_bytes:,}", ""])
        tables.append(Table("cost", "cost of an item:", ["stored", "bytes", "share of the vector"], cells))
        if self.equal_bytes is not None:
            lines.append(self.equal_bytes.answer)
            tables += map(self.equal_bytes.table, self.equal_bytes.represented[0].shares)
        return parts(self, lines, tables)


def quantisation(
    vectors: Nearest,
    codes: Hashing | tuple[Any, Any] | None = None,
    *,
    rescoring: Rescoring | None = None,
    quantisers: Quantisers | Sequence[str] = (),
    metrics: str | Sequence[str] | None = None,
    convention: str = "default",
    spread: bool = False,
    threads: int = 1,
    progress: Progress = None,
) -> Quantisation:
    """Measure how many of the nearest items codes find, alone and with re-ranking of the retrieved items.

    Parameters
    ----------
    vectors : Nearest
        The vectors of queries and database, the distance, and the numbers K of nearest items.
    codes : Hashing or pair, optional
        The hasher that computes the codes from the vectors; or the codes of queries and database, in any form that
        `evaluate` accepts. If None, the signs of the vectors.
    rescoring : Rescoring, optional
        The numbers of items that are re-ranked; a quantiser that re-ranks them in addition to the vectors.
    quantisers : Quantisers or sequence of str, default=()
        Other representations of the vectors, such as ``["int8", "pq:m=16"]``, which are compared with the codes at
        equal bytes; the seed and the training vectors of all quantisers.
    metrics : str or sequence of str, optional
        Registered metrics, as for `evaluate`. Items up to the distance of the K-th nearest one are relevant, see
        `Nearest`.
    convention : str, default="default"
        Determines how undefined values count, and the default metrics.
    spread : bool, default=False
        Whether to compute, in addition, all values that published conventions report as mAP.
    threads : int, default=1
        Threads for the search of the nearest items and for counting.
    progress : callable, optional
        Called as ``progress(done, total, stage)``, as by `evaluate`.

    Returns
    -------
    Quantisation

    Raises
    ------
    ProtocolError
        If an input is unusable.

    Examples
    --------
    >>> line = np.arange(-4.0, 4.0)[:, None]
    >>> result = quantisation(Nearest(line[:2], line, k=2, distance="euclidean"))
    >>> result.metrics["neighbours@2"], result.rescoring[0].smallest_factor[2].expected
    (0.5, 3)
    """
    scoring, rescoring = Scoring(metrics, convention, spread), rescoring or Rescoring()
    against = quantisers if isinstance(quantisers, Quantisers) else Quantisers(tuple(quantisers))
    query, database = vectors.vectors()
    again = [] if rescoring.quantiser is None else [rescoring.quantiser]
    if any(isinstance(against.plugin(name), Hashing) for name in again):
        raise ProtocolError(f"rescore: {again[0]!r} is a hasher, but items are re-ranked by a quantiser.")
    hashing, hashed_by = codes or Hashing(), None
    if isinstance(hashing, Hashing):
        hashing.check(query.shape[1])
    else:
        pair = read_codes(*hashing)
        check_sizes(pair.sizes, query, database)
        if pair.ranking != "hamming" and again:
            raise ProtocolError(f"rescore needs Hamming distances, which the {pair.ranking} ranking does not have.")
    others = {
        name: represent(against, name, query, database, vectors.distance, progress)
        for name in dict.fromkeys([*against.names, *again])
    }
    sizes = len(query), len(database)
    truth = ground_truth(vectors, *sizes, metrics=scoring.of_nearest, threads=threads, progress=progress)
    if isinstance(hashing, Hashing):
        model, hashed_by = hashing.fit(database)
        pair = encoded(model, query, database, progress)
    evaluation = scored(pair, truth, scoring, threads=threads, progress=progress)
    relevances = {k: relevance for k, relevance in truth.by_number.items() if f"neighbours@{k}" in evaluation.metrics}
    curves = [by_vectors(evaluation.nearest_counts, list(relevances), rescoring)]
    for name in again:
        done = stage(progress, "re-ranking", len(query))
        curves.append(by_quantiser(pair, others[name], relevances, rescoring, seed=against.seed, progress=done))
    equal, ranked_by = None, {}
    if others:
        name = "codes" if hashed_by is None else hashed_by.spec(database.shape[1])
        ranked_by = {name: ranking_of(pair)} | {one.name: one.ranked_by for one in others.values()}
    if against.names:
        rows = [represented(name, pair.database.shape[1], evaluation.nearest_counts, list(relevances), rescoring)]
        every = {k: truth.by_number[k] for k in {1, *relevances}}
        for other in (others[one] for one in dict.fromkeys(against.names)):
            counts = other.counts(every, threads, progress)
            rows.append(represented(other.name, other.n_bytes, counts, list(relevances), rescoring))
        rows = rows[name in against.names :]  # another representation may have the name of the codes
        equal = compared(rows, against.n_bytes or -(-database.shape[1] // 8))
    varying = np.bitwise_or.reduce(pair.database, axis=0) ^ np.bitwise_and.reduce(pair.database, axis=0)
    return Quantisation(
        **{field.name: getattr(evaluation, field.name) for field in fields(Evaluation) if field.name != "inputs"},
        inputs=(sources(*codes) if isinstance(codes, tuple) else {}) | files_of(vectors),
        hashed_by=hashed_by,
        constant_bits=pair.n_bits - int(np.bitwise_count(varying).sum()),
        rescoring=tuple(curves),
        vector_bytes=database.shape[1] * database.itemsize,
        equal_bytes=equal,
        ranked_by=ranked_by,
    )


def _curve_table(curve: RescoringCurve) -> Table:
    """Return the table of a curve of re-ranking: a row for each factor, two columns for each K."""
    header, smallest = ["c"], [f"smallest c for {curve.target:g}"]
    rows: dict[int, list[str]] = {row.factor: [f"{row.factor:,}"] for row in sorted(curve.rows, key=lambda r: r.factor)}
    values = {(row.neighbours, row.factor): (row.expected, row.worst, row.best) for row in curve.rows}
    for number, factors in curve.smallest_factor.items():
        header += [f"K = {number:,}", "worst to best"]
        for factor, cells in rows.items():
            cells += with_range(*values[number, factor]) if (number, factor) in values else ["", ""]
        worst, expected, best = ("none" if factor is None else f"{factor:,}" for factor in factors)
        smallest += [expected, "" if worst == expected == best else f"{worst} to {best}"]
    by = "the vectors" if curve.by == "vectors" else curve.by
    title = f"share of the K nearest items that are found if c x K items are retrieved by code and re-ranked by {by}"
    return Table(f"re-ranking by {curve.by}", f"{title}:", header, [*rows.values(), smallest])
