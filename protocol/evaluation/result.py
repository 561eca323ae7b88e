"""The result of `evaluate`, as data and files. What prints and draws it is in `output`, `plots` and `exclusion`."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from protocol import codes, metrics, registry
from protocol.counting import HammingCounts
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.code_utilisation import CodeUtilisation, code_utilisation
from protocol.evaluation.conventions import find
from protocol.evaluation.ground_truth import GroundTruth, NearestItems
from protocol.evaluation.printed import Printed, json_text
from protocol.evaluation.scoring import Scores, Spread, counted, spread_names, spread_of
from protocol.inputs.lists import ids_from
from protocol.provenance import VERSION
from protocol.provenance.storage import file_sha256, write_text
from protocol.scores.tables import DIGITS, Table, write_csv
from protocol.truth.relevance import LabelRelevance, labels_sha256

if TYPE_CHECKING:
    import altair as alt

    from protocol.evaluation.exclusion import WithoutQueries
    from protocol.evaluation.output import Trec


_NAMES = ("name", "supervision", "dataset", "ground_truth", "relevance", "split")
_RANKED = ("n_queries", "n_database", "n_bits", "ranking", "binarize", "convention", "ground_truth_sha256")
_SAMPLE = 500
_RELEVANT = ("queries_without_relevant", "labels_not_in_database", "relevant_per_query", "levels")


def check_lists(lists: Mapping[str, str | Path | None], recorded: Mapping[str, Any]) -> None:
    """Raise ProtocolError if the list of a side has another number of items than its codes, by the recorded fields."""
    n_database = recorded.get("n_database") and recorded["n_database"] + int(recorded.get("leave_one_out") or 0)
    for part, n_items in (("query", recorded["n_queries"]), ("database", n_database)):
        if (file := lists.get(part)) is not None:
            ids_from(file, f"{part} list", n_items, noun="code")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoredRanking(Scores, Printed):
    """The scores of a ranking, and what identifies them.

    Parameters
    ----------
    n_queries : int
        The number of queries.
    ranking : str
        How the database is ordered: one of `protocol.scores.metadata.RANKINGS`; or ``run``, by the scores of a run.
    relevance : str
        The kind of relevance, as in `protocol.scores.metadata`; or ``judgments``.
    convention : str
        The name of the convention.
    ground_truth_sha256 : str
        Digest of the relevance of items to queries: values per query are compared only if it is equal.
    name : str or None
        The user's name for the codes, see `named`.
    supervision : str or None
        What the codes were learned from in addition to training vectors, see `named`.
    dataset : str or None
        The user's name for the dataset.
    split : str or None
        The user's name for the split.
    ground_truth : str or None
        The user's name for the ground truth.
    inputs : mapping
        The files that were read, by option; those of codes with their encoding.
    query_ids : tuple of str
        The ids of the queries; () if they are numbered by row.
    nearest : NearestItems or None
        The definition of the nearest items; None unless vectors are the ground truth.
    labels_not_in_database : tuple of int or str, or None
        The labels of queries that no database item has, ascending; for a label matrix, the column numbers from 0.
        None if the ground truth is not labels.
    """

    n_queries: int
    ranking: str
    relevance: str
    convention: str
    ground_truth_sha256: str
    name: str | None = None
    supervision: str | None = None
    dataset: str | None = None
    split: str | None = None
    ground_truth: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    query_ids: tuple[str, ...] = ()
    nearest: NearestItems | None = None
    labels_not_in_database: tuple[int | str, ...] | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError, with where the scores are."""
            message = f"{type(self).__name__!r} object has no attribute {name!r}."
            hint = "Scores are in its attribute metrics, as in result.metrics['mAP']."
            raise AttributeError(f"{message} {hint}", name=name, obj=self)

    @cached_property
    def metrics(self) -> dict[str, float]:
        """The mean of each metric over the queries; NaN if the convention leaves out every query."""
        return {name: metrics.mean(values) for name, values in self.per_query.items()}

    @cached_property
    def n_undefined(self) -> dict[str, int]:
        """The number of queries for which each metric is undefined, whether they count as 0 or are left out.

        If a metric of the pooled queries is undefined, this is the number of all queries.
        """
        return {name: int(mask.sum()) * (self.n_queries // mask.size) for name, mask in self.is_undefined.items()}

    @property
    def queries_without_relevant(self) -> int:
        """The number of queries without relevant database items."""
        return int((self.n_relevant == 0).sum())

    @property
    def relevant_per_query(self) -> tuple[int, int]:
        """The smallest and the largest number of relevant database items of a query."""
        return int(self.n_relevant.min()), int(self.n_relevant.max())

    def named(
        self,
        name: str | None = None,
        *,
        dataset: str | None = None,
        split: str | None = None,
        ground_truth: str | None = None,
        supervision: str | None = None,
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
        supervision : str, optional
            What the codes were learned from in addition to training vectors, such as ``labels``, or ``none``.
        """
        truth = self.ground_truth if ground_truth is None else ground_truth
        return replace(self, name=name, dataset=dataset, split=split, ground_truth=truth, supervision=supervision)

    def content(self) -> dict[str, Any]:
        """Return the means and the fields that identify them.

        The keys are the names, sizes, options and digest of the evaluation, and its fields about relevance; and, for
        each metric, ``metrics`` (the means), ``n_undefined`` (numbers of queries), ``undefined`` and ``ties``.
        """
        rules, metrics = find(self.convention), self.metrics
        fields: dict[str, Any] = {name: getattr(self, name) for name in (*_NAMES, *_RANKED) if hasattr(self, name)}
        fields |= {"version": VERSION} | {name: getattr(self, name) for name in (*_RELEVANT, "metrics", "n_undefined")}
        fields["undefined"] = {name: rules.undefined(name) for name in metrics}
        return fields | {"ties": {name: registry.METRICS.entry(name).ties for name in metrics}}

    def write_json(
        self,
        path: str | Path,
        *others: Printed,
        per_query: str | Path | None = None,
        lists: Mapping[str, str | Path | None] | None = None,
    ) -> None:
        """Write the JSON of `to_json` and the names of the input files, a record that `protocol.verify` checks.

        Names are relative to the JSON file, which appears under `path` only when it is complete.

        Parameters
        ----------
        path : str or Path
        *others : WithoutQueries, Spread, Trec or BucketSearches
            Further results about the same codes, whose fields are added.
        per_query : str or Path, optional
            The file that `write_per_query` wrote. Its name and its SHA-256 are added.
        lists : mapping of str to str or Path, optional
            The lists of the split by partition (``query``, ``database``, ``train``), or its file as ``split``. Their
            names and their SHA-256 are added as ``lists``.

        Raises
        ------
        ProtocolError
            If the list of the queries or of the database can't be read, or has more or fewer items than the codes.
        """
        check_lists(lists or {}, vars(self))

        def relative(file: str | Path) -> str:
            return Path(os.path.relpath(file, Path(path).parent)).as_posix()

        def references(named: Mapping[str, str | Path | None]) -> dict[str, Any]:
            given = {key: file for key, file in named.items() if file is not None}
            return {key: {"file": relative(file), "sha256": file_sha256(file)} for key, file in given.items()}

        fields = self.content()
        for other in others:
            fields |= other.content()
        inputs = {
            role: value | {"file": relative(value["file"])} if isinstance(value, dict) else relative(value)
            for role, value in self.inputs.items()
        }
        optional = {"inputs": inputs} | references({"per_query": per_query}) | {"lists": references(lists or {})}
        fields |= {key: value for key, value in optional.items() if value}
        write_text(path, json_text(fields) + "\n")

    def write_per_query(self, path: str | Path) -> None:
        """Write the values of each query as CSV with nine digits; ``query`` is its id, or its row if no id is known.

        Metrics of the pooled queries or of the database have no value per query, and therefore no column. NaN, as the
        value of a query that is left out, is an empty field.
        """
        columns = {name: array for name, array in self.per_query.items() if array.size == self.n_queries}
        rows = self.query_ids or range(self.n_queries)
        cells = np.array(list(columns.values())).reshape(-1, len(rows)).T
        texts = (["" if math.isnan(value) else DIGITS % value for value in of_row] for of_row in cells.tolist())
        lines = ([row, self.ranking, *of_row] for row, of_row in zip(rows, texts, strict=True))
        write_csv(path, ("query", "ranking", *columns), lines)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Evaluation(ScoredRanking):
    """The scores that `evaluate` returns: those of `ScoredRanking`. They are printed as the table of the command line.

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
    n_database : int
        The number of database items that are ranked for each query: without its own, if that is left out.
    n_bits : int
        The code length.
    binarize : str or None
        How real-valued outputs were binarised; None if codes were given.
    leave_one_out : bool
        Whether each query left its own row out of the database.
    """

    codes: CodePair
    truth: GroundTruth
    counts: HammingCounts | None
    nearest_counts: Mapping[int, HammingCounts]
    n_database: int
    n_bits: int
    binarize: str | None
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
        query = codes.pack(query > 0) if self.ranking == "asymmetric" else query
        return int((query != database).any(axis=1).sum())

    @cached_property
    def pr_curves(self) -> dict[str, metrics.PRCurve]:
        """Precision and recall at radius 0, ..., n_bits: ``micro`` and ``macro``; {} if the ranking is not Hamming."""
        if self.counts is None:
            return {}
        undefined = find(self.convention).undefined("precision@rR")
        return {kind: metrics.pr_curve(self.counts, average=kind, undefined=undefined) for kind in metrics.AVERAGES}

    def spread(self, *, threads: int = 1) -> Spread:
        """Count again, and return all values that published conventions report as mAP, and other variants of mAP."""
        truth = self.truth._replace(by_number={self.truth.scored: self.truth.relevance})
        names = spread_names(self.n_database, self.ranking)
        blocks = counted(self.codes, truth, names, leave_one_out=self.leave_one_out, threads=threads, progress=None)
        return Spread(spread_of(blocks[truth.scored], self.ranking))

    @cached_property
    def exchanged(self) -> NDArray[np.float64]:
        """The average precision of the first queries, at most 500, if each had the code of a random one."""
        rows = np.random.default_rng(0).permutation(self.n_queries)[:_SAMPLE]
        pair, truth = self.codes._replace(query=self.codes.query[rows]), self.truth.relevance.first(rows.size)
        blocks = counted(pair, GroundTruth({0: truth}), ["mAP"], leave_one_out=False, threads=1, progress=None)[0]
        return np.concatenate([metrics.evaluate(block, ["mAP"], undefined="drop")["mAP"] for block in blocks])

    @cached_property
    def code_utilisation(self) -> CodeUtilisation:
        """The code utilisation of the database: one code per class, few codes, constant bits."""
        return code_utilisation(self.codes, self.truth.relevance)

    def without(self, queries: Any) -> "WithoutQueries":
        """Return the scores without some queries, for example without those that have a near-duplicate in the database.

        Parameters
        ----------
        queries : array_like of int, str or Path
            Row numbers of queries, from 0, or their file, for example from ``protocol audit --write-affected``. A file
            is either text with one row number per line (``.txt``, ``.csv`` or ``.tsv``, possibly ``.gz``; the first
            column is read), or an array.

        Raises
        ------
        ProtocolError
            If the file can't be read, a row number is out of range, or no query would remain.
        """
        from protocol.evaluation.exclusion import without

        return without(self, queries)

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
        from protocol.evaluation import plots

        return plots.plot(self, kind)

    def to_trec(self, folder: str | Path) -> "Trec":
        """Write run and qrels files of TREC, see `protocol.evaluation.output.write_trec`."""
        from protocol.evaluation import output

        return output.write_trec(self, folder)

    def content(self) -> dict[str, Any]:
        """Return the fields of `ScoredRanking.content`, ``codes_sha256``, and those that apply of the following.

        ``labels_sha256`` if labels are the ground truth; ``nearest`` if vectors are; ``leave_one_out`` and
        ``queries_are_database`` if they are true; ``code_utilisation`` if the codes follow the labels, are few, or have
        constant bits.
        """
        optional: dict[str, Any] = {"labels_sha256": labels_sha256(self.truth.relevance), "nearest": self.nearest}
        optional |= {"leave_one_out": self.leave_one_out, "queries_are_database": self.queries_are_database}
        fields = super().content() | {"codes_sha256": self.codes.sha256} | self.code_utilisation.content()
        return fields | {name: value for name, value in optional.items() if value}

    def parts(self) -> list[str | Table]:
        """Return each mean with its ties, its denominator and its number of undefined values.

        A line about the inputs comes first, and one for each thing that is unusual about them; what is conspicuous
        about the codes and the differences of the convention from its original follow.
        """
        from protocol.evaluation import output

        return output.parts(self)
