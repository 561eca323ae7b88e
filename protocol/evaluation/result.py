"""The result of `evaluate`: its scores, how they are printed and written, and the scores without some queries."""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from protocol import __version__, registry
from protocol import codes as binary
from protocol import metrics as scores
from protocol.checks import ProtocolError, need, one_of
from protocol.counting import HammingCounts
from protocol.evaluation import plots
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.code_utilisation import CodeUtilisation, code_utilisation
from protocol.evaluation.conventions import find
from protocol.evaluation.exclusion import excluded_label, excluded_rows, excluded_sha256
from protocol.evaluation.ground_truth import GroundTruth, NearestItems
from protocol.evaluation.printed import Printed, json_text, shown
from protocol.evaluation.scoring import Scores, undefined
from protocol.evaluation.trec import Trec, TrecOptions, write_trec
from protocol.inputs.labels import brief
from protocol.provenance.storage import file_sha256, replacing
from protocol.scores.metadata import NONE_EXCLUDED, NOTED, SCORE, method_name
from protocol.scores.tables import DIGITS, Table, write_csv
from protocol.truth.relevance import LabelRelevance, labels_sha256

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_METADATA = (
    "name",
    "dataset",
    "ground_truth",
    "relevance",
    "split",
    "n_queries",
    "n_database",
    "n_bits",
    "ranking",
    "binarize",
    "convention",
    "ground_truth_sha256",
)
_FEW = 10  # at most this many labels are listed
_COUNTED = {"zero": "counted as 0", "drop": "left out"}
_RANKING = {"hamming": "Hamming", "asymmetric": "asymmetric"}
_SPREAD = {("zero",): "counted as 0", ("drop",): "left out", ("zero", "drop"): "make no difference"}
_DISTANCES = {"cosine": "cosine", "euclidean": "Euclidean distance", "dot": "inner product"}


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
        return not self._n_other_codes and all(np.array_equal(*sides) for sides in of_labels)

    @cached_property
    def _n_other_codes(self) -> int:
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
    def undefined(self) -> dict[str, int]:
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
        empty = find(self.convention).empty("precision@rR")
        return {average: scores.pr_curve(self.counts, average=average, empty=empty) for average in scores.AVERAGES}

    @cached_property
    def code_utilisation(self) -> CodeUtilisation:
        """The code utilisation of the database: one code per class, few codes, constant bits."""
        empty = find(self.convention).empty("mAP")
        # With leave_one_out, the mAP of these counts is not that of predicted classes, which have no own item.
        counts = None if self.leave_one_out else self.counts
        return code_utilisation(self.codes, self.truth.relevance, counts, empty=empty)

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
                empty = find(self.convention).empty(name)
                per_query[name] = scores.evaluate(counts, [name], empty=empty)[name]
                is_undefined[name] = undefined(counts, name, per_query[name])
        return WithoutQueries(self, excluded, per_query, n_undefined(is_undefined, remain.size))

    def to_trec(self, options: str | Path | TrecOptions) -> Trec:
        """Write the ranking as run and qrels files of TREC.

        Parameters
        ----------
        options : str, Path or TrecOptions
            The folder; or `TrecOptions` with the folder, depth, order of ties and seed.

        Returns
        -------
        Trec
            The names of the files, and the effect of trec_eval's order of ties on their mAP.

        Raises
        ------
        ProtocolError
            If the ranking is not the Hamming ranking, an option is out of range, or a file can't be written.
        """
        if self.counts is None:
            raise ProtocolError(f"trec needs Hamming distances, which the {self.ranking} ranking does not have.")
        options = options if isinstance(options, TrecOptions) else TrecOptions(options)
        empty = find(self.convention).empty("mAP")
        return write_trec(
            self.codes,
            self.counts,
            self.truth.relevance,
            options,
            empty=empty,
            leave_one_out=self.leave_one_out,
            tag=self.name,
        )

    def to_frame(self) -> "pd.DataFrame":
        """Return a data frame with a row for each metric: its mean, and the fields that identify the score."""
        records = self._records(self.metrics, self.undefined, {"excluded_queries": NONE_EXCLUDED})
        return need("pandas", "report").DataFrame(records)

    def plot(self, kind: str = "precision-recall") -> "alt.Chart":
        """Return a figure. The sum of the figures of several evaluations has a line for each.

        A line is called by the name of the evaluation, or else by its first metric, such as "mAP 0.6418".

        Parameters
        ----------
        kind : {"precision-recall", "precision@N", "recall@N"}
            Precision over recall, with a point for each Hamming radius, for the pooled queries (micro; `pr_curves` has
            both averages); the mean precision or recall of the top N items over N.

        Raises
        ------
        ProtocolError
            If there is no such figure, the evaluation has no such curve, or the package altair is not installed.
        """
        one_of(kind, plots.TITLES, "plot")
        name, mean = next(iter(self.metrics.items()))
        method = method_name(self.name or f"{name} {shown(mean)}", self.ranking)
        if kind != "precision-recall":
            return plots.curves(kind, {method: self.top_n})
        if not self.pr_curves:
            raise ProtocolError(
                f"plot 'precision-recall' needs the Hamming radius, which the {self.ranking} ranking does not have. "
                "Other figures: 'precision@N' and 'recall@N'."
            )
        return plots.curves(kind, {method: self.pr_curves["micro"]})

    def write_json(
        self,
        path: str | Path,
        *others: Printed,
        per_query: str | Path | None = None,
        pr_curves: str | Path | None = None,
        top_n_curves: str | Path | None = None,
        lists: Mapping[str, str | Path] | None = None,
    ) -> None:
        """Write the JSON of `to_json` and the names of the input files, a record that `protocol.verify` checks.

        Names are relative to the JSON file, which appears under `path` only when it is complete.

        Parameters
        ----------
        path : str or Path
        *others : WithoutQueries, Trec, BucketSearches or LookupTimes
            Further results about the same codes, whose fields are added.
        per_query : str or Path, optional
            The file that `write_per_query` wrote, for `compare`. Its name and its SHA-256 are added under this key.
        pr_curves : str or Path, optional
            The file that `write_pr_curves` wrote, likewise.
        top_n_curves : str or Path, optional
            The file that `write_top_n_curves` wrote, likewise.
        lists : mapping of str to str or Path, optional
            The lists of the split by partition (``query``, ``database``, ``train``), or its file as ``split``. Their
            names and their SHA-256 are added as ``lists``.
        """
        folder, content = Path(path).parent, self.content()
        for other in others:
            content |= other.content()
        if self.inputs:
            content["inputs"] = {
                role: value | {"file": _relative(value["file"], folder)}
                if isinstance(value, dict)
                else _relative(value, folder)
                for role, value in self.inputs.items()
            }
        files = {"per_query": per_query, "pr_curves": pr_curves, "top_n_curves": top_n_curves}
        content |= {key: _reference(file, folder) for key, file in files.items() if file is not None}
        if lists:
            content["lists"] = {part: _reference(file, folder) for part, file in lists.items()}
        with replacing(path) as temporary:
            temporary.write_text(json_text(content) + "\n", encoding="utf-8")

    def write_per_query(self, path: str | Path) -> None:
        """Write a CSV row per query, with nine digits; the value of a query that is left out is empty.

        Metrics of the pooled queries or of the database have no value per query, and therefore no column.
        """
        columns = {name: values for name, values in self.per_query.items() if values.size == self.n_queries}
        self._write_columns(path, "query", range(self.n_queries), columns)

    def write_pr_curves(self, path: str | Path) -> None:
        """Write precision and recall, micro and macro, at every radius as CSV with nine digits; NaN is an empty field.

        Raises
        ------
        ProtocolError
            If the ranking has no radius.
        """
        if not self.pr_curves:
            raise ProtocolError(f"pr_curves needs the Hamming radius, which the {self.ranking} ranking does not have.")
        columns = {
            f"{kind}_{average}": values
            for average, curve in self.pr_curves.items()
            for kind, values in curve._asdict().items()
        }
        self._write_columns(path, "radius", range(self.n_bits + 1), columns)

    def write_top_n_curves(self, path: str | Path) -> None:
        """Write precision and recall of the top N items for each N as CSV with nine digits; NaN is an empty field."""
        n, precision, recall = self.top_n
        self._write_columns(path, "n", n.tolist(), {"precision": precision, "recall": recall})

    def _write_columns(
        self, path: str | Path, index: str, rows: Sequence[int], columns: Mapping[str, NDArray[np.float64]]
    ) -> None:
        def cell(value: float) -> str:
            return "" if math.isnan(value) else DIGITS % value

        cells = ((row, self.ranking, *(cell(values[at]) for values in columns.values())) for at, row in enumerate(rows))
        write_csv(path, (index, "ranking", *columns), cells)

    def _records(
        self, means: Mapping[str, float], n_undefined: Mapping[str, int], queries: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """Yield a record for each metric; `queries` are the fields of the queries that were scored."""
        rules = find(self.convention)
        shared = {name: getattr(self, name) for name in _METADATA} | {"version": __version__} | queries
        for metric, mean in means.items():
            complete = shared | {"empty": rules.empty(metric), "ties": registry.METRICS.entry(metric).ties}
            yield {"name": self.name, "metric": metric, "value": mean, "undefined": n_undefined[metric]} | {
                column: metric if column == "metric" else complete[column]
                for column in (*SCORE, "ranking", "binarize", *NOTED)
            }

    def content(self) -> dict[str, Any]:
        """Return the means and the fields that identify them.

        The keys are the names, sizes, options and digest of the evaluation, and its fields about relevance; and, for
        each metric, ``metrics`` (the means), ``undefined`` (numbers of queries), ``empty`` and ``ties``;
        ``codes_sha256``; ``labels_sha256`` if labels are the ground truth; ``nearest`` if vectors are; ``spread`` if it
        was requested; ``leave_one_out`` and ``queries_are_database`` if they are true; ``code_utilisation`` if the
        codes follow the labels, are few, or have constant bits.
        """
        rules = find(self.convention)
        content: dict[str, Any] = {name: getattr(self, name) for name in _METADATA} | {"version": __version__}
        relevant = ("queries_without_relevant", "labels_not_in_database", "relevant_per_query", "levels")
        content |= {name: getattr(self, name) for name in relevant}
        content |= {"metrics": self.metrics, "undefined": self.undefined}
        content["empty"] = {name: rules.empty(name) for name in self.metrics}
        content["ties"] = {name: registry.METRICS.entry(name).ties for name in self.metrics}
        content["codes_sha256"] = self.codes.sha256
        digests = labels_sha256(self.truth.relevance)
        optional = {"labels_sha256": digests, "nearest": self.nearest, "spread": self.spread}
        optional |= {name: getattr(self, name) for name in ("leave_one_out", "queries_are_database")}
        return content | {name: value for name, value in optional.items() if value} | self.code_utilisation.content()

    def parts(self) -> list[str | Table]:
        """Return each mean with its number of undefined values, its ties and its denominator.

        The interpretation of the inputs comes first; then, if vectors are the ground truth, the tables about the
        nearest items; what is conspicuous about the codes, the differences of the convention from its original and the
        spread follow.
        """
        rules = find(self.convention)
        of_database = "" if self.ranking == "hamming" else "database "
        binarized = f", {of_database}binarised by {self.binarize}" if self.binarize else ""
        sizes = (
            f"{self.n_queries:,} queries, {self.n_database:,} database items, {self.n_bits} bits{binarized}; "
            f"{_RANKING[self.ranking]} ranking; convention {self.convention}"
        )
        parts: list[str | Table] = [
            "\n".join([sizes, *self._about_own(), *self._about_items(), rules.summary, f"[{rules.source}]"])
        ]
        parts += [*self._about_nearest(), self._table()]
        if found := self.code_utilisation.sentences():
            parts.append("\n".join(f"{name}: {text}." for name, text in found.items()))
        if rules.not_copied:
            parts.append("\n".join(["not copied from the original:", *(f"  {line}" for line in rules.not_copied)]))
        return [*parts, *self._spread_tables()]

    def _about_own(self) -> list[str]:
        """Return the line about queries that are database items, if they are, or are left out."""
        if self.leave_one_out:
            n = self._n_other_codes
            other = f"; {n:,} of them {'has' if n == 1 else 'have'} another code as a query" if n else ""
            return [f"each query's own row is left out of the {self.n_queries:,} database items{other}"]
        if not self.queries_are_database:
            return []
        are_labels = isinstance(self.truth.relevance, LabelRelevance)
        same = "are the database items" if are_labels else "have the codes of the database items"
        option = "`protocol evaluate --leave-one-out` (Python: leave_one_out=True)"
        return [f"the queries {same}: each query finds itself first; {option} leaves each query out of its own ranking"]

    def _about_items(self) -> list[str]:
        """Return the lines about the interpretation of the ground truth.

        If several items are as far away as the K-th nearest one, all of them are nearest items.
        """
        fewest, most = self.relevant_per_query
        if self.nearest is not None:
            k = self.nearest.relevant
            ties = "" if most == k else f"; with ties {fewest:,} to {most:,} items for K = {k:,}"
            vectors = f"{self.nearest.dtype}, dimension {self.nearest.n_features:,}"
            return [f"nearest items: by {_DISTANCES[self.nearest.distance]} of the vectors ({vectors}){ties}"]
        n = self.queries_without_relevant
        parts = [f"{n:,} of {self.n_queries:,} queries {'has' if n == 1 else 'have'} no relevant item"]
        if self.labels_not_in_database is not None:
            parts.append(f"query labels absent from the database: {brief(self.labels_not_in_database, _FEW)}")
        else:
            lowest, highest = self.levels
            levels = (
                f"level {lowest}" if lowest == highest else f"levels {lowest} to {highest} (larger is more relevant)"
            )
            items = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
            parts.append(f"relevance read as {self.relevance}: {items} items per query, {levels}")
        if fewest == self.n_database:
            parts.append("every item is relevant to every query")
        return ["; ".join(parts)]

    def _about_nearest(self) -> list[Table]:
        """Return the table of the shares of nearest items, if vectors are the ground truth."""
        if self.nearest is None:
            return []
        cells = []
        for number in self.nearest.numbers:
            row = [f"{number:,}"]
            for name in (f"neighbours@{number}", f"1-recall@{number}"):
                row += with_range(*(self.metrics[f"{name}{ties}"] for ties in ("", "[worst]", "[best]")))
            cells.append(row)
        title = (
            "share of the K nearest items among the top K by code, and of queries with their nearest item there; "
            "expected over ties"
        )
        return [
            Table(
                "nearest items",
                f"{title}:",
                ("K", "neighbours@K", "worst to best", "1-recall@K", "worst to best"),
                cells,
            )
        ]

    def _table(self) -> Table:
        rules, cells, title = find(self.convention), [], ""
        if self.nearest is not None:
            title = f"other metrics, with the {self.nearest.relevant:,} nearest items of each query as relevant:"
        for name, mean in self.metrics.items():
            record = registry.METRICS.entry(name)
            if self.nearest is not None and record.relevant:
                continue  # it has a separate table
            n = self.undefined[name]
            empty = f"{n:,}, {_COUNTED[rules.empty(name)]}" if n else "none"
            ties = re.split("[,:.]| over ", record.ties)[0].lower()  # "expected value", "relevant items first", "none"
            cells.append((name, shown(mean), empty, ties, record.denominator))
        return Table("metrics", title, ("metric", "mean", "undefined values", "ties", "denominator"), cells)

    def _spread_tables(self) -> list[Table]:
        """Return the table of the values that conventions report as mAP, and that of the other variants of mAP."""
        if not self.spread:
            return []
        cells = [(row.metric, shown(row.value), _SPREAD[row.empty], ", ".join(row.conventions)) for row in self.spread]
        values = [row.value for row in self.spread if row.conventions and not math.isnan(row.value)]
        title = f"values that published conventions report as mAP, from {min(values):.4f} to {max(values):.4f}"
        header = ("metric", "mean", "undefined values", "reported as mAP by")
        tables = [Table("spread", f"{title}:", header, [row for row in cells if row[-1]])]
        others = [row[:-1] for row in cells if not row[-1]]
        title = "variants of mAP that none of these conventions reports:"
        return tables + [Table("other variants", title, header[:-1], others)] * bool(others)


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
    undefined : dict of str to int
        The number of remaining queries for which each metric is undefined.
    """

    evaluation: Evaluation
    excluded: NDArray[np.int64]
    per_query: dict[str, NDArray[np.float64]]
    undefined: dict[str, int]

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
    def sha256(self) -> str:
        """The SHA-256 of the excluded row numbers, ascending, one per line."""
        return excluded_sha256(self.excluded.tolist())

    @property
    def label(self) -> str:
        """The identifier of the excluded set in a comparison, see `excluded_label`."""
        return excluded_label(self.n_excluded, self.sha256)

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
        names = ("excluded", "n_excluded", "sha256", "n_queries", "metrics", "undefined")
        return self.evaluation.content() | {"without_queries": {name: getattr(self, name) for name in names}}

    def to_frame(self) -> "pd.DataFrame":
        """Return the data frame of the evaluation, followed by the rows of the remaining queries."""
        queries = {"excluded_queries": self.label, "n_queries": self.n_queries}
        records = self.evaluation._records(self.metrics, self.undefined, queries)
        pd = need("pandas", "report")
        return pd.concat([self.evaluation.to_frame(), pd.DataFrame(records)], ignore_index=True)


def _relative(file: str | Path, folder: Path) -> str:
    return Path(os.path.relpath(file, folder)).as_posix()


def _reference(file: str | Path, folder: Path) -> dict[str, str]:
    return {"file": _relative(file, folder), "sha256": file_sha256(file)}


def n_undefined(masks: Mapping[str, NDArray[np.bool_]], n_queries: int) -> dict[str, int]:
    """Return the number of queries for which metrics are undefined: all of them if a single value for all is."""
    return {name: int(mask.sum()) * (n_queries // mask.size) for name, mask in masks.items()}


def with_range(expected: float, worst: float, best: float) -> list[str]:
    """Return the cells of an expected value, and of its range over the orders of ties if that is visible."""
    cells = [f"{value:.4f}" for value in (expected, worst, best)]
    return [cells[0], "" if len(set(cells)) == 1 else f"{cells[1]} to {cells[2]}"]
