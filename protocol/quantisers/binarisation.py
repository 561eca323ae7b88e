"""Recall lost to binarisation: the share of the nearest items that codes find, re-ranking, and cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from protocol.checks import ProtocolError, need
from protocol.evaluation.code_pairs import CodePair, read_codes
from protocol.evaluation.conventions import Scoring
from protocol.evaluation.evaluation import scored
from protocol.evaluation.ground_truth import GroundTruth, Nearest, check_sizes, ground_truth
from protocol.evaluation.output import parts
from protocol.evaluation.plots import SIDE
from protocol.evaluation.printed import with_range
from protocol.evaluation.progress import Progress, stage
from protocol.evaluation.result import Evaluation
from protocol.quantisers.representations import (
    HashedBy,
    Hashing,
    Quantisers,
    Representation,
    represent,
)
from protocol.quantisers.rescoring import (
    EqualBytes,
    Rescoring,
    RescoringCurve,
    by_quantiser,
    by_vectors,
)
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import altair as alt


_DEFAULT = Rescoring()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Quantisation(Evaluation):
    """Recall lost to binarisation: an evaluation with the nearest items as the ground truth, re-ranking and cost.

    Parameters
    ----------
    hashed_by : HashedBy or None
        How the codes were computed from the vectors; None if codes were given.
    rescoring : tuple of RescoringCurve
        The share of the nearest items after re-ranking by the vectors, and by a quantiser if one is chosen.
    vector_bytes : int
        Bytes of a vector in its stored dtype.
    equal_bytes : EqualBytes or None
        The codes and other representations, compared at equal bytes; None if none was requested.
    ranked_by : mapping of str to str
        For the codes and each representation that is compared with them, what ranks the items.
    """

    hashed_by: HashedBy | None
    rescoring: tuple[RescoringCurve, ...]
    vector_bytes: int
    equal_bytes: EqualBytes | None
    ranked_by: Mapping[str, str]

    def plot(self, kind: str = "bytes") -> "alt.Chart":
        """Return a figure of `Evaluation.plot`, or of the share of the nearest items over ``bytes`` of a vector."""
        if kind == "bytes" and self.equal_bytes is not None:
            return _bytes_chart(self.equal_bytes, self.name or "Nearest items found at equal bytes")
        return super().plot(kind)

    def content(self) -> dict[str, Any]:
        """Return the fields of the evaluation and of this class; those that were not requested are left out."""
        content = super().content() | {"hashed_by": self.hashed_by, "rescoring": self.rescoring}
        content["cost"] = {"code_bytes": self.codes.database.shape[1], "vector_bytes": self.vector_bytes}
        content["ranked_by"] = self.ranked_by
        return content if self.equal_bytes is None else content | {"equal_bytes": self.equal_bytes}

    def parts(self) -> list[str | Table]:
        """Return the parts of an evaluation, with the origin and the cost of the codes, re-ranking and comparison."""
        lines = [] if self.hashed_by is None else [f"codes: {self.hashed_by}"]
        for ranking in dict.fromkeys(self.ranked_by.values()) if len(self.ranked_by) > 1 else ():
            names = [name for name, words in self.ranked_by.items() if words == ranking]
            lines.append(f"ranked by {ranking}: {', '.join(names)}")
        tables, n_bytes = list(map(_curve_table, self.rescoring)), self.codes.database.shape[1]
        cells = [["code", f"{n_bytes:,}", f"1/{self.vector_bytes / n_bytes:.4g}"]]
        cells.append(["vector", f"{self.vector_bytes:,}", ""])
        tables.append(Table("cost", "cost of an item:", ["stored", "bytes", "share of the vector"], cells))
        if self.equal_bytes is not None:
            tables += map(self.equal_bytes.table, self.equal_bytes.represented[0].shares)
        return parts(self, lines, tables)


def quantisation(
    vectors: Nearest,
    codes: Hashing | tuple[Any, Any] | None = None,
    *,
    rescoring: Rescoring = _DEFAULT,
    quantisers: Quantisers | Sequence[str] = (),
    metrics: str | Sequence[str] | None = None,
    convention: str = "default",
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
    rescoring : Rescoring, default=Rescoring()
        The numbers of items that are re-ranked; a quantiser that re-ranks them in addition to the vectors.
    quantisers : Quantisers or sequence of str, default=()
        Other representations of the vectors, such as ``["int8", "pq:m=16"]``, which are compared with the codes at
        equal bytes; the seed and the training vectors of all quantisers.
    metrics : str or sequence of str, optional
        Registered metrics, as for `evaluate`. Items up to the distance of the K-th nearest one are relevant, see
        `Nearest`.
    convention : str, default="default"
        Determines how undefined values count, and the default metrics.
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
    >>> import numpy as np
    >>> line = np.arange(-4.0, 4.0)[:, None]
    >>> result = quantisation(Nearest(line[:2], line, k=2, distance="euclidean"))
    >>> result.metrics["neighbours@2"], result.rescoring[0].smallest_factor[2]
    (0.5, 3)
    """
    scoring = Scoring(metrics, convention)
    quantisers = quantisers if isinstance(quantisers, Quantisers) else Quantisers(tuple(quantisers))
    query, database = vectors.vectors()
    source = _checked(codes or Hashing(), query, database)
    _check_rescoring(rescoring.quantiser, quantisers, source)
    names = dict.fromkeys([*quantisers.names, *filter(None, [rescoring.quantiser])])
    others = {name: represent(quantisers, name, query, database, vectors.distance, progress) for name in names}
    truth = ground_truth(vectors, len(query), len(database), scoring, threads=threads, progress=progress)
    pair, hashed_by = (source, None) if isinstance(source, CodePair) else source.codes(query, database, progress)
    evaluation = scored(pair, truth, scoring, threads=threads, progress=progress)
    by_code = Representation.of_codes("codes" if hashed_by is None else hashed_by.spec(database.shape[1]), pair)
    counted = {by_code.name: (by_code.n_bytes, evaluation.nearest_counts)}
    for name in quantisers.names:  # which may be the name of the codes
        counted[name] = others[name].n_bytes, others[name].counts(truth.by_number, threads, progress)
    return Quantisation(
        **{field.name: getattr(evaluation, field.name) for field in fields(Evaluation)},
        hashed_by=hashed_by,
        rescoring=tuple(_curves(evaluation, truth, rescoring, others, quantisers.seed, progress)),
        vector_bytes=database.shape[1] * database.itemsize,
        equal_bytes=EqualBytes.of(counted, truth.numbers, rescoring) if quantisers.names else None,
        ranked_by={each.name: each.ranked_by for each in (by_code, *others.values())},
    )


def _curves(
    evaluation: Evaluation,
    truth: GroundTruth,
    rescoring: Rescoring,
    others: Mapping[str, Representation],
    seed: int,
    progress: Progress,
) -> Iterator[RescoringCurve]:
    """Yield the curve of re-ranking by the vectors, and by a quantiser if one is chosen."""
    yield by_vectors(evaluation.nearest_counts, truth.numbers, rescoring)
    if rescoring.quantiser is not None:
        relevances = {k: truth.by_number[k] for k in truth.numbers}
        done = stage(progress, "re-ranking", len(evaluation.codes.query))
        yield by_quantiser(evaluation.codes, others[rescoring.quantiser], relevances, rescoring, seed, done)


def _checked(codes: Hashing | tuple[Any, Any], query: NDArray, database: NDArray) -> Hashing | CodePair:
    """Return the codes that were given, or the hasher that computes them, if they fit the vectors."""
    if isinstance(codes, Hashing):
        codes.check(query.shape[1])
        return codes
    pair = read_codes(*codes)
    check_sizes(pair.sizes, query, database)
    return pair


def _check_rescoring(name: str | None, quantisers: Quantisers, source: Hashing | CodePair) -> None:
    """Raise ProtocolError unless items that are retrieved by code can be ranked again by a quantiser."""
    if name is None:
        return
    if isinstance(quantisers.plugin(name), Hashing):
        raise ProtocolError(f"rescore: {name!r} is a hasher, but items are re-ranked by a quantiser.")
    if isinstance(source, CodePair) and source.ranking != "hamming":
        raise ProtocolError(f"rescore needs Hamming distances, which the {source.ranking} ranking does not have.")


def _curve_table(curve: RescoringCurve) -> Table:
    """Return the table of a curve of re-ranking: a row for each factor, two columns for each K."""
    header, smallest = ["c"], [f"smallest c for {curve.target:g}"]
    rows: dict[int, list[str]] = {row.factor: [f"{row.factor:,}"] for row in sorted(curve.rows, key=lambda r: r.factor)}
    values = {(row.neighbours, row.factor): (row.expected, row.worst, row.best) for row in curve.rows}
    for number, least in curve.smallest_factor.items():
        header += [f"K = {number:,}", "worst to best"]
        for factor, cells in rows.items():
            cells += with_range(*values[number, factor]) if (number, factor) in values else ["", ""]
        smallest += ["none" if least is None else f"{least:,}", ""]
    by = "the vectors" if curve.by == "vectors" else curve.by
    title = f"share of the K nearest items that are found if c x K items are retrieved by code and re-ranked by {by}"
    return Table(f"re-ranking by {curve.by}", f"{title}:", header, [*rows.values(), smallest])


def _bytes_chart(equal: EqualBytes, title: str) -> Any:
    """Return a chart of the share of the nearest items over the bytes of a vector, with a panel for each K.

    A line connects the points of names that differ in options only. Rules are intervals.
    """
    alt = need("altair", "report")
    points = [
        {"panel": f"K = {k:,}", "name": one.name, "method": one.name.partition(":")[0], "bytes": one.n_bytes}
        | {"share": share.expected, "low": share.low, "high": share.high}
        for one in equal.represented
        for k, share in one.shares.items()
    ]
    share = alt.Scale(domain=[0, 1])
    base = alt.Chart().encode(
        x=alt.X("bytes:Q", scale=alt.Scale(type="log", base=2), title="bytes a vector"),
        color=alt.Color("method:N", sort=None, title=None, scale=alt.Scale(scheme="tableau20")),
    )
    bars = base.mark_rule().encode(y=alt.Y("low:Q", scale=share, title="share of the K nearest items"), y2="high:Q")
    line = base.mark_line(point=True).encode(
        y=alt.Y("share:Q", scale=share), tooltip=["name:N", "bytes:Q", "share:Q", "low:Q", "high:Q"]
    )
    panel = alt.layer(bars, line).properties(width=SIDE, height=SIDE)
    return panel.facet(alt.Column("panel:N", sort=None, title=None), data=alt.Data(values=points), title=title)
