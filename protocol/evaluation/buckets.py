"""Another search than ranking: the items that hash tables return."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protocol import counting, metrics
from protocol.checks import ProtocolError, rounded
from protocol.evaluation.code_pairs import CodePair, read_codes
from protocol.evaluation.conventions import find
from protocol.evaluation.ground_truth import Truth, ground_truth, only_truth
from protocol.evaluation.printed import Printed
from protocol.scores.tables import Table
from protocol.truth.relevance import Relevance

_METRICS = {"precision[micro]": "precision@r0[micro]", "recall[micro]": "recall@r0[micro]", "F1[micro]": "F1@r0[micro]"}


def parsed_tables(text: str, n_bits: float = math.inf) -> tuple[int, int]:
    """Return K and L of hash tables that are written ``KxL``, as in ``16x4``: L tables over segments of K bits.

    Raises
    ------
    ProtocolError
        If the text has a different form, a number is 0, or codes of `n_bits` bits are too short.
    """
    parts = re.fullmatch("([1-9][0-9]*)x([1-9][0-9]*)", text)
    if not parts:
        raise ProtocolError(f"tables must be KxL (bits per table, number of tables), such as 16x4, got {text!r}.")
    bits, tables = int(parts[1]), int(parts[2])
    if bits * tables > n_bits:
        raise ProtocolError(f'tables="{text}": {bits} x {tables} = {bits * tables} bits, but the codes have {n_bits}.')
    return bits, tables


@dataclass(frozen=True, eq=False, repr=False)
class BucketSearches(Printed):
    """The pooled scores of the items that several kinds of hash tables return.

    Parameters
    ----------
    scores : mapping of str to mapping of str to float
        For each kind of tables, such as ``16x4``: ``precision[micro]``, ``recall[micro]`` and ``F1[micro]``.
    """

    scores: Mapping[str, Mapping[str, float]]

    def parts(self) -> list[str | Table]:
        """Return the table of the scores."""
        cells = [(tables, *map(rounded, values.values())) for tables, values in self.scores.items()]
        title = "bucket search, union of L tables of K bits (KxL), all queries pooled"
        return [Table("bucket search", f"{title}:", ("tables", *_METRICS), cells)]

    def content(self) -> dict[str, Any]:
        """Return the scores as ``bucket_search``."""
        return {"bucket_search": self.scores}


def bucket_search(
    query_codes: Any,
    database_codes: Any,
    tables: str | Sequence[str],
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    truth: Truth | None = None,
    convention: str = "default",
    threads: int = 1,
) -> BucketSearches:
    """Score the items in the union of each query's buckets in several hash tables.

    Parameters
    ----------
    query_codes : array_like, str, Path or Codes
        The codes of the queries, which must be binary.
    database_codes : array_like, str, Path or Codes
        The codes of the database, which must be binary as well.
    query_labels : array_like, str or Path, optional
        The labels of the queries, as for `protocol.evaluate`.
    database_labels : array_like, str or Path, optional
        The labels of the database, as for `protocol.evaluate`.
    truth : Relevant or Nearest, optional
        The ground truth in place of labels, as for `protocol.evaluate`.
    threads : int, default=1
        Threads for the search of the nearest items and for counting.
    tables : str or sequence of str
        Kinds of hash tables, each as ``KxL``: L tables over segments of K bits, for example ``16x4``.
    convention : str, default="default"
        Determines the value of 0/0.

    Returns
    -------
    BucketSearches
        The pooled precision, recall and F1 for each kind of hash tables.

    Raises
    ------
    ProtocolError
        If an input is unusable, or the codes are too short for the tables.

    References
    ----------
    Moran 2016, thesis, sections 3.4.2, 3.4.3 and 3.6.1.

    Examples
    --------
    >>> bucket_search([[0, 0]], [[0, 0], [0, 1], [1, 1]], "1x2", query_labels=[7], database_labels=[7, 8, 7]).scores
    {'1x2': {'precision[micro]': 0.5, 'recall[micro]': 0.5, 'F1[micro]': 0.5}}
    """
    codes = read_codes(query_codes, database_codes)
    truth = only_truth(query_labels, database_labels, truth)
    relevance = ground_truth(truth, *codes.sizes, threads=threads, code_files=codes.files).relevance
    return searched(codes, relevance, tables, convention)


def searched(codes: CodePair, relevance: Relevance, tables: str | Sequence[str], convention: str) -> BucketSearches:
    """Score a search of codes and a ground truth that were read, as `bucket_search`."""
    undefined = find(convention).undefined("precision@rR[micro]")
    if find(convention).leave_one_out:
        raise ProtocolError(f"tables search the complete database, so convention {convention!r} can't be used.")
    if codes.ranking != "hamming":
        raise ProtocolError("tables needs binary codes of the queries, not real-valued outputs.")
    kinds = {text: parsed_tables(text, codes.n_bits) for text in ([tables] if isinstance(tables, str) else tables)}
    scores = {}
    for text, (bits, n_tables) in kinds.items():
        counts = counting.bucket_search(*codes[:3], relevance, bits_per_table=bits, n_tables=n_tables)
        # Items in the buckets count as distance 0 and all others as distance 1, as in a Hamming ball of radius 0.
        retrieved = np.stack([counts.retrieved, len(codes.database) - counts.retrieved], axis=1)
        relevant = np.stack([counts.true_positives, counts.relevant - counts.true_positives], axis=1)
        ball = counting.HammingCounts.from_histograms(retrieved, relevant)
        values = metrics.evaluate(ball, _METRICS.values(), undefined=undefined)
        scores[text] = {name: metrics.mean(values[metric]) for name, metric in _METRICS.items()}
    return BucketSearches(scores)
