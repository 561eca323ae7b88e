"""Recall lost to binarisation: the share of the nearest items that codes find, re-ranking, and cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer, positive_number
from protocol.evaluation.code_pairs import CodePair, read_codes
from protocol.evaluation.conventions import Scoring
from protocol.evaluation.evaluation import scored
from protocol.evaluation.ground_truth import Nearest, check_sizes, ground_truth
from protocol.evaluation.output import parts
from protocol.evaluation.printed import with_range
from protocol.evaluation.progress import Progress, stage
from protocol.evaluation.result import Evaluation
from protocol.quantisers._quantiser import Quantiser
from protocol.quantisers.representations import Representation, plugin_of, ranked_otherwise, represent, training_rows
from protocol.quantisers.rescoring import Represented, RescoringCurve, by_quantiser, by_vectors, compared, hardly_nearer
from protocol.scores.tables import Table
from protocol.truth import DISTANCES

_GIVEN = ("codes", "outputs")
"""The names of representations that are given."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Quantisation(Evaluation):
    """Recall lost to binarisation: an evaluation with the nearest items as the ground truth, re-ranking and cost.

    Parameters
    ----------
    hashed_by : str or None
        The hasher that computed the codes, with options, its seed, and the vectors on which it was fitted; None if
        codes were given.
    rescoring : tuple of RescoringCurve
        The share of the nearest items after re-ranking by the vectors, and by a quantiser if one is chosen.
    code_bytes : int
        Bytes of a code, or of an output.
    vector_bytes : int
        Bytes of a vector in its stored dtype.
    equal_bytes : tuple of Represented
        The codes and other representations, ascending by size; empty if no other was requested.
    ranked_by : mapping of str to str
        For the codes and each representation that is compared with them, what ranks the items.
    warnings : tuple of str
        Codes that were given, and find hardly more of the nearest items than random ones; outputs that are ranked by
        another distance than the vectors; and queries that are among the training vectors.
    """

    hashed_by: str | None
    rescoring: tuple[RescoringCurve, ...]
    code_bytes: int
    vector_bytes: int
    equal_bytes: tuple[Represented, ...]
    ranked_by: Mapping[str, str]
    warnings: tuple[str, ...]

    def with_code_bytes(self, n_bytes: int) -> Self:
        """Return the result with the bytes of an item as it is stored, if its codes were restored from fewer.

        Raises
        ------
        ProtocolError
            If a hasher computed the codes, or the number is below 1.
        """
        if self.hashed_by is not None:
            raise ProtocolError("code_bytes needs codes of your own; those of a hasher are counted.")
        integer(n_bytes, "code_bytes")
        own = [replace(one, n_bytes=n_bytes) if one.name in _GIVEN else one for one in self.equal_bytes]
        return replace(self, code_bytes=n_bytes, equal_bytes=tuple(sorted(own, key=lambda one: one.n_bytes)))

    def content(self) -> dict[str, Any]:
        """Return the fields of the evaluation and of this class; those that were not requested are left out."""
        content = super().content() | {"hashed_by": self.hashed_by, "rescoring": self.rescoring}
        content["cost"] = {"code_bytes": self.code_bytes, "vector_bytes": self.vector_bytes}
        content |= {"ranked_by": self.ranked_by, "warnings": self.warnings}
        return content | {"equal_bytes": self.equal_bytes} if self.equal_bytes else content

    def parts(self) -> list[str | Table]:
        """Return the parts of an evaluation, with the origin and the cost of the codes, re-ranking and comparison."""
        kind = "output" if self.ranking in DISTANCES else "code"
        lines = [f"{kind}s: {self.hashed_by or 'given'}; {self.code_bytes:,} bytes instead of {self.vector_bytes:,}"]
        lines += (f"warning: {warning}" for warning in self.warnings)
        for ranking in dict.fromkeys(self.ranked_by.values()) if len(self.ranked_by) > 1 else ():
            names = [name for name, words in self.ranked_by.items() if words == ranking]
            lines.append(f"ranked by {ranking}: {', '.join(names)}")
        tables = [_curve_table(curve, kind) for curve in self.rescoring]
        if self.equal_bytes:
            target = self.rescoring[0].target
            tables += (_bytes_table(self.equal_bytes, k, target) for k in self.equal_bytes[0].shares)
        return parts(self, lines, tables)


def quantisation(
    vectors: Nearest,
    codes: str | tuple[Any, Any] = "sign",
    *,
    rescore: str | None = None,
    target: float = 0.95,
    quantisers: Sequence[str] = (),
    seed: int = 0,
    train: Any = None,
    metrics: str | Sequence[str] | None = None,
    threads: int = 1,
    progress: Progress = None,
) -> Quantisation:
    """Measure how many of the nearest items codes find, alone and with re-ranking of the retrieved items.

    Parameters
    ----------
    vectors : Nearest
        The vectors of queries and database, the distance, and the numbers K of nearest items.
    codes : str or pair, default="sign"
        The hasher that computes the codes from the vectors, with options, as in ``itq:n_bits=32``; or the codes of
        queries and database, in any form that `evaluate` accepts. ``sign`` has one bit for each dimension, 1 if the
        value is above 0.
    rescore : str, optional
        A registered quantiser with options, as in ``pq:m=16``, by which the retrieved items are re-ranked as well as by
        their vectors.
    target : float, default=0.95
        The share of the K nearest items, above 0 and at most 1, that the smallest reported factor c must reach, where
        c x K items are retrieved by code and re-ranked, and the first K of them are returned.
    quantisers : sequence of str, default=()
        Other representations of the vectors that are compared with the codes at equal bytes, such as ``["int8",
        "pq:m=16"]``: registered quantisers, and hashers that learn from vectors alone.
    seed : int, default=0
        The seed of the hasher, of the quantisers, and of the sample of the database.
    train : array_like, str or Path, optional
        The vectors (n, d) on which the hasher and the quantisers are fitted. If None, the database, or a sample of
        10,000 of its rows if it has more.
    metrics : str or sequence of str, optional
        Further metrics, as for `evaluate`. Items up to the distance of the K-th nearest one are relevant, see
        `Nearest`.
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
    integer(seed, "seed", minimum=0)
    if not isinstance(vectors, Nearest):
        raise ProtocolError(f"vectors must be Nearest(query, database), got {type(vectors).__name__}.")
    if positive_number(target, "target") > 1:
        raise ProtocolError(f"target must be above 0 and at most 1, got {target!r}.")
    query, database = vectors.vectors()
    scoring = Scoring(f"neighbours@{vectors.numbers(len(database))[0]}" if metrics is None else metrics)
    given = _checked(codes, rescore, query, database)
    training = training_rows(train, database, seed)
    encode = partial(represent, query=query, database=database, distance=vectors.distance, training=training)
    names = dict.fromkeys([*quantisers, *filter(None, [rescore])])
    for name in names:  # before any of them is trained
        if isinstance(plugin := plugin_of(name, database.shape[1]), Quantiser):
            plugin.check_training(*training[0].shape)
    others = {name: encode(name, seed=seed, progress=progress) for name in names}
    truth = ground_truth(vectors, len(query), len(database), scoring, threads=threads, progress=progress)
    by_code = given or others.get(str(codes)) or encode(str(codes), seed=seed, progress=progress)
    pair = cast("CodePair", by_code.codes)
    evaluation = scored(pair, truth, scoring, threads=threads, progress=progress)
    counted = {by_code.name: (by_code.n_bytes, evaluation.nearest_counts)}
    for name in quantisers:  # which may be the name of the codes
        counted[name] = others[name].n_bytes, others[name].counts(truth.by_number, threads, progress)
    curves = [by_vectors(evaluation.nearest_counts, truth.numbers, target)]
    k, share = next((row.neighbours, row.expected) for row in reversed(curves[0].rows) if row.factor == 1)
    if rescore is not None:
        relevances = {k: truth.by_number[k] for k in truth.numbers}
        done = stage(progress, "re-ranking", len(query))
        curves.append(by_quantiser(pair, others[rescore], relevances, target, seed, done))
    warnings = [] if train is None else _taught(query, training[0])
    warnings += ranked_otherwise(pair.ranking, pair[:2], vectors.distance, database)
    warnings += () if given is None else hardly_nearer(by_code.name, share, k, len(database))
    return Quantisation(
        **{field.name: getattr(evaluation, field.name) for field in fields(Evaluation)},
        hashed_by=by_code.fitted_on
        and f"{codes}, {evaluation.n_bits} bits, seed {seed}, fitted on {by_code.fitted_on}",
        rescoring=tuple(curves),
        code_bytes=by_code.n_bytes,
        vector_bytes=database.shape[1] * database.itemsize,
        equal_bytes=compared(counted, truth.numbers, target) if quantisers else (),
        ranked_by={each.name: each.ranked_by for each in (by_code, *others.values())},
        warnings=tuple(warnings),
    )


def _taught(query: NDArray, train: NDArray) -> list[str]:
    """Return a warning if training vectors are among the queries, or []."""
    queries = {row.tobytes() for row in np.asarray(query, dtype=np.float64)}
    n = sum(np.asarray(row, dtype=np.float64).tobytes() in queries for row in train)
    return [f"queries are among the training vectors: {n:,} of {len(train):,}"] * (n > 0)


def _checked(codes: Any, quantiser: str | None, query: NDArray, database: NDArray) -> Representation | None:
    """Return the representation by codes that were given, or None if a hasher computes them.

    Raises ProtocolError unless the codes fit the vectors, and a quantiser can rank what they retrieve again.
    """
    if quantiser is not None and not isinstance(plugin_of(quantiser), Quantiser):
        raise ProtocolError(f"rescore: {quantiser!r} is a hasher, but items are re-ranked by a quantiser.")
    if isinstance(codes, str):
        if isinstance(plugin_of(codes, database.shape[1]), Quantiser):
            raise ProtocolError(f"codes: {codes!r} is a quantiser, but a hasher computes codes.")
        return None
    pair = read_codes(*codes)
    check_sizes(pair.sizes, query, database)
    if quantiser is not None and pair.ranking != "hamming":
        raise ProtocolError(f"rescore needs Hamming distances, which the {pair.ranking} ranking does not have.")
    return Representation.of_codes(_GIVEN[pair.ranking in DISTANCES], pair)


def _curve_table(curve: RescoringCurve, kind: str) -> Table:
    """Return the table of a curve of re-ranking by code or output: a row for each factor, two columns for each K."""
    header, tried = ["c"], " of these" * (curve.by != "vectors")
    smallest = [f"smallest c{tried} for {curve.target:g}"]
    rows: dict[int, list[str]] = {row.factor: [f"{row.factor:,}"] for row in sorted(curve.rows, key=lambda r: r.factor)}
    values = {(row.neighbours, row.factor): (row.expected, row.worst, row.best) for row in curve.rows}
    for number, least in curve.smallest_factor.items():
        header += [f"K = {number:,}", "worst to best"]
        for factor, cells in rows.items():
            cells += with_range(*values[number, factor]) if (number, factor) in values else ["", ""]
        smallest += ["none" if least is None else f"{least:,}", ""]
    by = "the vectors" if curve.by == "vectors" else curve.by
    title = f"share of the K nearest items that are found if c x K items are retrieved by {kind} and re-ranked by {by}"
    return Table(f"re-ranking by {curve.by}", f"{title}:", header, [*rows.values(), smallest])


def _bytes_table(represented: Sequence[Represented], k: int, target: float) -> Table:
    """Return the table of the shares that representations find for one K."""
    cells = []
    for each in represented:
        share = each.shares[k]
        expected, ties = with_range(share.expected, share.worst, share.best)
        expected += "" if math.isnan(share.low) else f" ± {share.high - share.expected:.4f}"
        cells.append([each.name, f"{each.n_bytes:,}", expected, ties, f"{share.first:.4f}", f"{share.factor:,}"])
    header = ["representation", "bytes", "neighbours@K", "worst to best", "1-recall@K", f"c for {target:g}"]
    title = f"K = {k:,}: share of the K nearest items among the first K, with the 95% interval over queries; "
    title += f"c is the smallest with which re-ranking c x K items by the vectors finds {target:g}:"
    return Table(f"equal bytes {k}", title, header, cells)
