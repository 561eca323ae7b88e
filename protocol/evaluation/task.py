"""The inputs of scoring: codes and ground truths, read or computed, and the counts of a ranking for each of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from protocol import metrics as scoring
from protocol.checks import ProtocolError
from protocol.counting import SHARD_ITEMS, HammingCounts, asymmetric_counts, count_in_shards
from protocol.evaluation.inputs import code_pair, outputs_and_codes, relevance_from
from protocol.evaluation.loss import VectorInputs, check_n_codes, made_codes, nearest_of
from protocol.evaluation.progress import Progress, stage
from protocol.evaluation.second_stage import CodePair
from protocol.evaluation.vectors import NearestItems, constant_bits, of_nearest
from protocol.inputs.labels import label_pair
from protocol.truth.relevance import LabelRelevance, Relevance

_READ: Mapping[str, Callable[..., tuple[Any, Any, int]]] = {"hamming": code_pair, "asymmetric": outputs_and_codes}
"""For each ranking, the function that reads queries and database."""


class Task(NamedTuple):
    """The codes to be scored, and their ground truths.

    Parameters
    ----------
    codes : CodePair
        The codes of queries and database; for the asymmetric ranking, the queries' real-valued outputs.
    truths : mapping of int to Relevance
        The ground truth for each number of nearest items; without vectors, a single one under the key 0.
    scored : int
        The key of the ground truth for metrics that are not about the nearest items.
    lacking : tuple of int or str, or None
        The labels of queries that the database lacks; None without labels.
    nearest : NearestItems or None
        None without vectors.
    """

    codes: CodePair
    truths: Mapping[int, Relevance]
    scored: int = 0
    lacking: tuple[int | str, ...] | None = None
    nearest: NearestItems | None = None


def task_of(
    codes: tuple[Any, Any],
    truths: Mapping[str, Any],
    inputs: VectorInputs | None,
    *,
    ranking: str,
    form: Mapping[str, Any],
    metrics: Sequence[str],
    threads: int,
    progress: Progress,
) -> Task:
    """Read or compute the codes and the ground truths.

    Parameters
    ----------
    codes : tuple
        The codes of queries and database, as the user gave them, or ``(None, None)``.
    truths : mapping of str to the user's values
        ``query labels``, ``database labels`` and ``relevance``, None where not given.
    inputs : VectorInputs or None
        The vectors, instead of labels and relevance.
    ranking : str
    form : mapping
        Keyword arguments of `protocol.evaluation.inputs.code_pair`.
    metrics : sequence of str
        The metrics that the user requested.
    threads : int
    progress : callable, optional

    Raises
    ------
    ProtocolError
        If an input is unusable, or there is no ground truth or more than one.
    """
    if inputs is None:
        return _of_relevance(_read(*codes, ranking, form), truths)
    _check_truth(truths, "vectors")
    return _of_vectors(codes, inputs, ranking=ranking, form=form, metrics=metrics, threads=threads, progress=progress)


def counted(
    task: Task, metrics: Sequence[str], *, ranking: str, spread: bool, threads: int, progress: Progress
) -> dict[int, Iterable[HammingCounts]]:
    """Return the counts of blocks of queries for each ground truth; a single block for the Hamming ranking.

    `metrics` are the metrics to compute; `spread` is true if all values that are called mAP are requested.
    """
    needed = scoring.needs(metrics)
    index_order = spread or "index_average_precision" in needed
    query, database, n_bits = task.codes
    if ranking != "hamming":
        report = stage(progress, "counting", len(query) * len(task.truths))
        options: dict[str, Any] = {"index_order": index_order, "threads": threads, "progress": report}
        return {
            number: asymmetric_counts(query, database, n_bits, truth, **options)
            for number, truth in task.truths.items()
        }
    counts = count_in_shards(
        query,
        database,
        n_bits,
        {str(number): truth for number, truth in task.truths.items()},
        shard_items=None if index_order else SHARD_ITEMS,  # ties in database order can't be added up over shards
        bucket_sizes="bucket_sizes" in needed,
        largest_bucket="largest_bucket" in needed,
        index_order=index_order,
        threads=threads,
        progress=stage(progress, "counting", len(query)),
    )
    return {number: [counts[str(number)]] for number in task.truths}


def joined(blocks: Iterable[HammingCounts]) -> HammingCounts:
    """Return the counts of all queries, with the last axis padded by empty distances."""
    parts = list(blocks)
    if len(parts) == 1:
        return parts[0]
    n_distances = max(part.retrieved.shape[-1] for part in parts)

    def padded(array: Any) -> Any:
        return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, n_distances - array.shape[-1])])

    precisions = [part.index_average_precision for part in parts if part.index_average_precision is not None]
    return HammingCounts(
        retrieved=np.concatenate([padded(part.retrieved) for part in parts]),
        at_level=np.concatenate([padded(part.at_level) for part in parts]),
        levels=parts[0].levels,
        bucket_sizes=parts[0].bucket_sizes,
        index_average_precision=np.concatenate(precisions) if precisions else None,
    )


def _read(query: Any, database: Any, ranking: str, form: Mapping[str, Any]) -> CodePair:
    """Return the codes that were given."""
    missing = [role for role, values in (("query codes", query), ("database codes", database)) if values is None]
    if missing:
        raise ProtocolError(f"{missing[0]}: expected an array or a file, got none. Only vectors make codes optional.")
    return CodePair(*_READ[ranking](query, database, **form))


def _of_relevance(codes: CodePair, truths: Mapping[str, Any]) -> Task:
    """Return codes with labels or relevance as the ground truth."""
    _check_truth(truths)
    sizes = len(codes.query), len(codes.database)
    of_query, of_database, relevance = truths.values()
    if relevance is not None:
        return Task(codes, {0: relevance_from(relevance, *sizes)})
    of_query, of_database, lacking = label_pair(of_query, of_database, *sizes)
    return Task(codes, {0: LabelRelevance(of_query, of_database)}, lacking=lacking)


def _of_vectors(
    codes: tuple[Any, Any],
    inputs: VectorInputs,
    *,
    ranking: str,
    form: Mapping[str, Any],
    metrics: Sequence[str],
    threads: int,
    progress: Progress,
) -> Task:
    """Return codes, computed from the vectors if none are given, with the nearest items as the ground truth."""
    made = None
    if inputs.hashing is None:
        pair = _read(*codes, ranking, form)
        check_n_codes(pair, len(inputs.query), len(inputs.database))
    elif ranking != "hamming":
        raise ProtocolError(
            f"ranking {ranking!r}: expected outputs of the queries as query codes, and database codes, got only "
            "vectors."
        )
    chosen = [name for name in metrics if of_nearest(name)]
    numbers, scored, relevances = nearest_of(inputs, chosen, threads=threads, progress=progress)
    if inputs.hashing is not None:
        pair, made = made_codes(inputs, inputs.hashing, progress)
    nearest = NearestItems(
        inputs.options.distance,
        inputs.database.shape[1],
        str(inputs.database.dtype),
        numbers,
        scored,
        made,
        constant_bits(pair.database, pair.n_bits),
    )
    return Task(pair, relevances, scored, nearest=nearest)


def _check_truth(truths: Mapping[str, Any], *others: str) -> None:
    """Raise ProtocolError unless there is one ground truth: labels, relevance, or one of the `others`."""
    given = [*(role for role, values in truths.items() if values is not None), *others]
    if given not in (["query labels", "database labels"], ["relevance"], ["vectors"]):
        raise ProtocolError(
            "ground truth: expected query labels and database labels, relevance, or query vectors and database "
            f"vectors, got {' and '.join(given) or 'none'}."
        )
