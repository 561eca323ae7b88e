"""Metrics by name: their values, the keyword arguments in a name, and the list of "all" metrics."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from protocol import registry
from protocol.checks import one_of
from protocol.counting import StackedCounts, StoredCounts
from protocol.counting.counts import Floats, HammingCounts, Integers
from protocol.metrics._ties import UNDEFINED, mean, means

ALL = "all"
_CUTOFF = 1000
_RADII = (0, 1, 2)
_TOGETHER = 1 << 20  # numbers of relevant items that are evaluated together: 8 MB


def evaluate(counts: HammingCounts, names: Iterable[str], *, undefined: str = "zero") -> dict[str, Floats]:
    """Compute metrics by name.

    Parameters
    ----------
    counts : HammingCounts
    names : iterable of str
        Names of registered metrics with their numbers, for example ``"mAP@1000[all]"`` or ``"RAMAP@r2"``.
    undefined : {"zero", "drop"}, default="zero"
        The value of undefined results: 0, or NaN, which `mean` leaves out.

    Returns
    -------
    dict of str to ndarray of float64
        The values in the order of `names`: (n_queries,), or (1,) for metrics of the pooled queries or of the database.

    Raises
    ------
    ProtocolError
        If a name or `undefined` is unknown, or a number is not possible for the counts.

    Examples
    --------
    >>> counts = HammingCounts.from_histograms([[1, 1], [2, 0]], [[1, 0], [1, 0]])
    >>> evaluate(counts, ["precision@r0", "precision@r0[micro]"])
    {'precision@r0': array([1. , 0.5]), 'precision@r0[micro]': array([0.66666667])}
    """
    one_of(undefined, UNDEFINED, "undefined")
    return {name: registry.get("metric", name)(counts, undefined=undefined) for name in names}


def evaluate_extended(
    counts: HammingCounts, extensions: Iterable[tuple[str, int]], names: Sequence[str], *, undefined: str = "zero"
) -> Iterator[tuple[str, int, dict[str, Floats]]]:
    """Yield the metrics of extended codes; those of the ranking are computed once, since no extension changes it.

    Parameters
    ----------
    counts : HammingCounts
        The counts of the plain codes.
    extensions : iterable of (str, int)
        The extensions with their numbers of bits, as for `HammingCounts.extended`.
    names : sequence of str
        The metrics, as for `evaluate`.
    undefined : {"zero", "drop"}, default="zero"
        How undefined values count.

    Yields
    ------
    extension : str
    extension_bits : int
    values : dict of str to ndarray of float64
        As `evaluate` returns them.
    """
    of_ranking = [name for name in names if registry.METRICS.entry(name).defined_on == "ranking"]
    shared = evaluate(counts, of_ranking, undefined=undefined)
    for extension, s in extensions:
        of_codes = [name for name in names if name not in shared]
        values = shared | evaluate(counts.extended(extension, s), of_codes, undefined=undefined)
        yield extension, s, {name: values[name] for name in names}


def means_of_blocks(
    blocks: Iterable[HammingCounts], names: Sequence[str], *, undefined: str = "zero", without: Integers | None = None
) -> dict[str, float]:
    """Return the mean of each metric over all queries of consecutive blocks of queries.

    Parameters
    ----------
    blocks : iterable of HammingCounts
    names, undefined
        As for `evaluate`; each metric has a value per query.
    without : ndarray of int64, optional
        The positions of queries to leave out.
    """
    parts = [evaluate(counts, names, undefined=undefined) for counts in blocks]
    left_out = np.empty(0, dtype=np.int64) if without is None else without
    return {name: mean(np.delete(np.concatenate([part[name] for part in parts]), left_out)) for name in names}


def score_rows(
    stored: Iterable[StoredCounts],
    of: tuple[str, str, str],
    extensions: Sequence[tuple[str, int]],
    names: Sequence[str],
    *,
    undefined: str = "zero",
) -> Iterator[tuple[Any, ...]]:
    """Yield the scores of the codes of one hasher, as rows of `protocol.scores.summary.SCORED`.

    Parameters
    ----------
    stored : iterable of StoredCounts
        The counts of each run, code length and ground truth.
    of : tuple of str
        The dataset, the feature and the hasher.
    extensions, names, undefined
        As for `evaluate_extended`.
    """
    dataset, feature, hasher = of
    for block in _blocks(stored):
        alike = defaultdict[Hashable, list[int]](list)
        for position, one in enumerate(block):
            alike[one.counts.shape].append(position)
        scores = dict[int, list[tuple[Any, ...]]]()
        for positions in alike.values():
            of_runs = _mean_scores([block[position].counts for position in positions], extensions, names, undefined)
            scores |= zip(positions, of_runs, strict=True)
        for position, one in enumerate(block):
            key = (dataset, feature, one.ground_truth, one.split, one.run, hasher, one.n_bits)
            items = (one.relevance, one.counts.n_queries, one.counts.n_database, one.items)
            yield from ((*key, *metric, *items, value) for *metric, value in scores[position])


def _blocks(stored: Iterable[StoredCounts]) -> Iterator[list[StoredCounts]]:
    """Yield counts in lists as long as possible: several have at most `_TOGETHER` numbers of relevant items."""
    block, size = list[StoredCounts](), 0
    for one in stored:
        if block and size + one.counts.at_level.size > _TOGETHER:
            yield block
            block, size = [], 0
        block.append(one)
        size += one.counts.at_level.size
    yield block


def _mean_scores(
    runs: Sequence[HammingCounts], extensions: Sequence[tuple[str, int]], names: Sequence[str], undefined: str
) -> list[list[tuple[Any, ...]]]:
    """Return, for each of some counts of the same shape, the extension, its bits, the metric and its mean.

    Metrics of queries are computed once for all of them; those of buckets, and those of plug-ins, which may compare the
    queries with each other, for each.
    """
    records = {name: registry.METRICS.entry(name) for name in names}
    own = [name for name, of in records.items() if of.defined_on == "buckets" or not of.module.startswith(__package__)]
    n, shared, scores = len(runs), [name for name in names if name not in own], [list[tuple[Any, ...]]() for _ in runs]
    together = evaluate_extended(StackedCounts.of(runs), extensions, shared, undefined=undefined)
    apart = zip(*(evaluate_extended(one, extensions, own, undefined=undefined) for one in runs), strict=True)
    for (*extension, stacked), of_runs in zip(together, apart, strict=True):
        # A single value, which depends on the code length alone, is that of every run.
        rows = {name: np.resize(one, (n, max(one.size // n, 1))) for name, one in stacked.items()}
        values = {name: means(of_queries) for name, of_queries in rows.items()}
        values |= {name: [mean(of_run[-1][name]) for of_run in of_runs] for name in own}
        for number, of_run in enumerate(scores):
            of_run += [(*extension, name, values[name][number]) for name in names]
    return scores


def keywords(metric: str) -> dict[str, Any]:
    """Return the keyword arguments that the name of a registered metric implies.

    Raises
    ------
    ProtocolError
        If no metric has the name.

    Examples
    --------
    >>> keywords("mAP@1000[retrieved]"), keywords("mAP")
    ({'denominator': 'retrieved', 'cutoff': 1000}, {})
    """
    return getattr(registry.get("metric", metric), "keywords", {})


def everything(n_bits: int) -> list[str]:
    """Return the metrics for arbitrary relevance, with K = 1000, R = 0, 1, 2 up to `n_bits`, and F1 as the F-measure.

    Examples
    --------
    >>> [name for name in everything(1) if name.startswith(("F", "P@"))]
    ['F1@r0', 'F1@r1', 'F1@r0[micro]', 'F1@r1[micro]', 'P@1000']
    """
    names = [name for name in registry.names("metric") if not name.startswith("F_beta")]
    names = [name.replace("@K", f"@{_CUTOFF}") for name in names if not registry.METRICS.entry(name).relevant]
    numbered = [name.replace("@rR", f"@r{radius}") for name in names for radius in _RADII if radius <= n_bits]
    return list(dict.fromkeys(["mAP", *numbered]))  # the most common metric first
