"""The result of `evaluate`: its scores, and the scores without some queries."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from protocol import codes as binary
from protocol import metrics as scores
from protocol.checks import ProtocolError, one_of
from protocol.counting import HammingCounts
from protocol.evaluation import output, plots
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.code_utilisation import CodeUtilisation, code_utilisation
from protocol.evaluation.conventions import find
from protocol.evaluation.exclusion import excluded_label, excluded_rows, excluded_sha256
from protocol.evaluation.ground_truth import GroundTruth, NearestItems
from protocol.evaluation.printed import Printed, shown
from protocol.evaluation.scoring import Scores, undefined_queries
from protocol.scores.metadata import method_name
from protocol.scores.tables import Table
from protocol.truth.relevance import LabelRelevance

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Scores, Printed):
    """The scores that `evaluate` returns: those of `Scores`. They are printed as the table of the command line.

    Parameters
    ----------
    codes : CodePair
        The packed codes of queries and database.
    truth : GroundTruth
        The relevance of the database items to the queries.
    counts : HammingCounts or None
        The counts of the Hamming ranking.
    nearest_counts : mapping of int to HammingCounts
        If vectors are the ground truth, the counts for each number of nearest items.
    n_queries : int
        The number of queries.
    n_database : int
        The number of database items that are ranked for each query: without its own, if that is left out.
    n_bits : int
        The code length.
    ranking : str
        How the database is ordered: one of `protocol.scores.metadata.RANKINGS`.
    binarize : str or None
        How real-valued outputs were binarised; None if codes were given.
    relevance : str
        The kind of relevance, as in `protocol.scores.metadata`.
    convention : str
        The name of the convention.
    labels_not_in_database : tuple of int or str, or None
        The labels of queries that no database item has, ascending; for a label matrix, the column numbers from 0.
        None if the ground truth is not labels.
    nearest : NearestItems or None
        The definition of the nearest items; None unless vectors are the ground truth.
    ground_truth_sha256 : str
        Digest of the relevance of items to queries: values per query are compared only if it is equal.
    name : str or None
        The user's name for the codes, see `named`.
    dataset : str or None
        The user's name for the dataset.
    split : str or None
        The user's name for the split.
    ground_truth : str or None
        The user's name for the ground truth.
    inputs : mapping
        The files of the codes, with their encoding, and of the ground truth, by option.
    leave_one_out : bool
        Whether each query left its own row out of the database.
    """

    codes: CodePair
    truth: GroundTruth
    counts: HammingCounts | None
    nearest_counts: Mapping[int, HammingCounts]
    n_queries: int
    n_database: int
    n_bits: int
    ranking: str
    binarize: str | None
    relevance: str
    convention: str
    labels_not_in_database: tuple[int | str, ...] | None
    nearest: NearestItems | None
    ground_truth_sha256: str
    name: str | None = None
    dataset: str | None = None
    split: str | None = None
    ground_truth: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    leave_one_out: bool = False

    @cached_property
    def queries_are_database(self) -> bool:
        """Whether queries and database have equal codes, and labels if they are the ground truth, in every row.

        For the asymmetric ranking, the codes of the queries are the signs of their values. With `leave_one_out`, no
        query finds itself nevertheless.
        """
        relevance = self.truth.relevance
        of_labels = [relevance.labels] if isinstance(relevance, LabelRelevance) else []
        return not self.n_other_codes and all(np.array_equal(*sides) for sides in of_labels)

    @cached_property
    def n_other_codes(self) -> int:
        """The number of rows in which the codes of queries and database differ; all if their numbers do."""
        query, database = self.codes.query, self.codes.database
        if len(query) != len(database):
            return max(len(query), len(database))
        query = query if self.ranking == "hamming" else binary.pack(query > 0)
        return int((query != database).any(axis=1).sum())

    @cached_property
    def metrics(self) -> dict[str, float]:
        """The mean of each metric over the queries; NaN if the convention leaves out every query."""
        return {name: scores.mean(values) for name, values in self.per_query.items()}

    @cached_property
    def n_undefined(self) -> dict[str, int]:
        """The number of queries for which each metric is undefined, whether they count as 0 or are left out.

        If a metric of the pooled queries is undefined, this is the number of all queries.
        """
        return n_undefined(self.is_undefined, self.n_queries)

    @property
    def queries_without_relevant(self) -> int:
        """The number of queries without relevant database items."""
        return int((self.n_relevant == 0).sum())

    @property
    def relevant_per_query(self) -> tuple[int, int]:
        """The smallest and the largest number of relevant database items of a query."""
        return int(self.n_relevant.min()), int(self.n_relevant.max())

    @cached_property
    def pr_curves(self) -> dict[str, scores.PRCurve]:
        """Precision and recall at radius 0, ..., n_bits: ``micro`` and ``macro``; {} if the ranking is not Hamming."""
        if self.counts is None:
            return {}
        undefined = find(self.convention).undefined("precision@rR")
        return {
            average: scores.pr_curve(self.counts, average=average, undefined=undefined) for average in scores.AVERAGES
        }

    @cached_property
    def code_utilisation(self) -> CodeUtilisation:
        """The code utilisation of the database: one code per class, few codes, constant bits."""
        return code_utilisation(self.codes, self.truth.relevance)

    def named(
        self,
        name: str | None = None,
        *,
        dataset: str | None = None,
        split: str | None = None,
        ground_truth: str | None = None,
    ) -> Self:
        """Return the same scores under the user's names; `protocol.compare` compares only scores with equal names.

        Parameters
        ----------
        name : str, optional
            The name of the method.
        dataset : str, optional
            The name of the dataset on which the codes were scored.
        split : str, optional
            The name of its split into queries and database.
        ground_truth : str, optional
            The name of the ground truth; that of nearest items is by default, for example, ``10 nearest by cosine``.
        """
        ground_truth = self.ground_truth if ground_truth is None else ground_truth
        return replace(self, name=name, dataset=dataset, split=split, ground_truth=ground_truth)

    def without(self, queries: Any) -> "WithoutQueries":
        """Return the scores without some queries, for example without those that have a near-duplicate in the database.

        Parameters
        ----------
        queries : array_like of int, str or Path
            Distinct row numbers of queries, from 0, or their file, for example from ``protocol audit
            --write-affected``. A file is either text with one row number per line (``.txt``, ``.csv`` or ``.tsv``,
            possibly ``.gz``; the first column is read), or an array.

        Raises
        ------
        ProtocolError
            If the file can't be read, a row number is out of range or occurs twice, or no query would remain.
        """
        excluded = excluded_rows(queries, self.n_queries)
        remain = np.delete(np.arange(self.n_queries), excluded)
        counts = None if self.counts is None else self.counts.of_queries(remain)
        per_query, is_undefined = {}, {}
        for name, values in self.per_query.items():
            if values.size == self.n_queries:
                per_query[name], is_undefined[name] = values[remain], self.is_undefined[name][remain]
            elif counts is not None:
                undefined = find(self.convention).undefined(name)
                per_query[name] = scores.evaluate(counts, [name], undefined=undefined)[name]
                is_undefined[name] = undefined_queries(counts, name, per_query[name])
        return WithoutQueries(self, excluded, per_query, n_undefined(is_undefined, remain.size))

    def plot(self, kind: str = "precision-recall") -> "alt.Chart":
        """Return a figure. The sum of the figures of several evaluations has a line for each.

        A line is called by the name of the evaluation, or else by its first metric, such as "mAP 0.6418".

        Parameters
        ----------
        kind : {"precision-recall", "precision@K", "recall@K"}
            Precision over recall, with a point for each Hamming radius, for the pooled queries (micro; `pr_curves` has
            both averages); the mean precision or recall of the top K items over N.

        Raises
        ------
        ProtocolError
            If there is no such figure, the evaluation has no such curve, or the package altair is not installed.
        """
        one_of(kind, plots.TITLES, "plot")
        name, mean = next(iter(self.metrics.items()))
        method = method_name(self.name or f"{name} {shown(mean)}", self.ranking)
        if kind != "precision-recall":
            return plots.curves(kind, {method: self.top_k})
        if not self.pr_curves:
            raise ProtocolError(
                f"plot 'precision-recall' needs the Hamming radius, which the {self.ranking} ranking does not have. "
                "Other figures: 'precision@K' and 'recall@K'."
            )
        return plots.curves(kind, {method: self.pr_curves["micro"]})

    content = output.content
    write_json = output.write_json
    write_per_query = output.write_per_query
    write_pr_curves = output.write_pr_curves
    write_top_k_curves = output.write_top_k_curves
    to_trec = output.write_trec

    def parts(self) -> list[str | Table]:
        """Return each mean with its number of undefined values, its ties and its denominator.

        The interpretation of the inputs comes first; then, if vectors are the ground truth, the tables about the
        nearest items; what is conspicuous about the codes, the differences of the convention from its original and the
        spread follow.
        """
        return output.parts(self)


@dataclass(frozen=True, eq=False, repr=False)
class WithoutQueries(Printed):
    """The scores of an evaluation without some of its queries.

    Parameters
    ----------
    evaluation : Evaluation
        The scores of all queries.
    excluded : ndarray of int64, shape (n_excluded,)
        Row numbers of the excluded queries, ascending.
    per_query : dict of str to ndarray of float64
        The values of the remaining queries, as in `Evaluation`; a metric of the pooled queries is computed from these.
    n_undefined : dict of str to int
        The number of remaining queries for which each metric is undefined.
    """

    evaluation: Evaluation
    excluded: NDArray[np.int64]
    per_query: dict[str, NDArray[np.float64]]
    n_undefined: dict[str, int]

    @property
    def n_excluded(self) -> int:
        """The number of excluded queries."""
        return len(self.excluded)

    @property
    def n_queries(self) -> int:
        """The number of remaining queries."""
        return self.evaluation.n_queries - self.n_excluded

    @cached_property
    def metrics(self) -> dict[str, float]:
        """The mean of each metric over the remaining queries."""
        return {name: scores.mean(values) for name, values in self.per_query.items()}

    @property
    def label(self) -> str:
        """The identifier of the excluded set in a comparison, see `excluded_label`."""
        return excluded_label(self.n_excluded, self.sha256)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the excluded row numbers, ascending, one per line."""
        return excluded_sha256(self.excluded.tolist())

    def parts(self) -> list[str | Table]:
        """Return the table of all metrics with and without the excluded queries; the title identifies these queries."""
        cells = []
        for name, mean in self.evaluation.metrics.items():
            without = self.metrics[name]
            difference = without - mean
            moved = "none" if math.isnan(difference) else f"{difference:+.2g}" if difference else "0"
            cells.append((name, shown(mean), shown(without), moved))
        n = self.evaluation.n_queries
        title = f"without {self.n_excluded:,} of {n:,} queries (SHA-256 {self.sha256[:12]})"
        return [Table("without queries", f"{title}:", ("metric", "all queries", "without them", "difference"), cells)]

    def content(self) -> dict[str, Any]:
        """Return the fields of the evaluation, and ``without_queries``: those of the remaining queries."""
        names = ("excluded", "n_excluded", "sha256", "n_queries", "metrics", "n_undefined")
        return self.evaluation.content() | {"without_queries": {name: getattr(self, name) for name in names}}


def n_undefined(masks: Mapping[str, NDArray[np.bool_]], n_queries: int) -> dict[str, int]:
    """Return the number of queries for which metrics are undefined: all of them if a single value for all is."""
    return {name: int(mask.sum()) * (n_queries // mask.size) for name, mask in masks.items()}
