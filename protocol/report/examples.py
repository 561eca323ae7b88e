"""The numbers that figures show in addition to the summary, computed from the counts and codes of each hasher.

Tables of a single run are those of run 0.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import codes, metrics
from protocol.counting import StoredCounts, count
from protocol.evaluation.scoring import SPREAD, spread_of
from protocol.scores.tables import DIGITS, write_csv
from protocol.truth.relevance import Relevance

Row = dict[str, Any]
Pair = Mapping[str, NDArray[np.uint8]]
"""The packed codes of the ``query`` and of the ``database``."""
Truths = Mapping[str, Relevance]

_MEAN_BY = ("ground_truth", "hasher", "n_bits", "metric", "radius", "at")
COLUMNS = {
    "radii": ("ground_truth", "hasher", "n_bits", "metric", "radius", "value", "n_runs"),
    "curves": ("ground_truth", "hasher", "n_bits", "metric", "at", "value", "n_runs"),
    "conventions": ("hasher", "ground_truth", "n_bits", "metric", "undefined", "reported_as_map_by", "value"),
    "histogram": ("hasher", "n_bits", "code", "items"),
    "retrieved": ("hasher", "ground_truth", "n_bits", "query", "rank", "item", "distance", "at_distance", "relevant"),
}

LARGEST_CUTOFF, CUTOFFS = 1000, 21
"""The largest N and the number of points of the curves over the top N."""
SHOWN_QUERIES, SHOWN_ITEMS = 5, 12
_MOST_RADIUS = 10
_UNDEFINED = {("zero",): "0", ("drop",): "left out", ("zero", "drop"): "no difference"}
LONGEST_HISTOGRAM = 12  # bits, as in the figures of mLGAP, which gives 4,096 codes
METRICS = SPREAD
"""All registered metrics that the tables contain; the others are not computed here."""


def middle(lengths: Sequence[int]) -> int:
    """Return the middle code length, which figures with a single code length show."""
    return sorted(lengths)[len(lengths) // 2]


def radius_rows(stored: StoredCounts, *, undefined: str) -> Iterator[Row]:
    """Yield precision and recall of all pairs, and the share of empty balls, of one run's plain codes at every radius.

    Parameters
    ----------
    stored : StoredCounts
    undefined : {"zero", "drop"}
        Treatment of undefined values.
    """
    counts, setting = stored.counts, {"ground_truth": stored.ground_truth, "n_bits": stored.n_bits}
    curve = metrics.pr_curve(counts, undefined=undefined)
    empty = (counts.retrieved_within[:, : _MOST_RADIUS + 1] == 0).mean(axis=0)
    for metric, values in (("precision[micro]", curve.precision), ("recall[micro]", curve.recall), ("empty", empty)):
        for radius, value in enumerate(values.tolist()):
            yield setting | {"metric": metric, "radius": radius, "value": value}


def curve_rows(stored: StoredCounts, *, undefined: str) -> Iterator[Row]:
    """Yield precision and recall of the top N of one run's plain codes.

    Parameters
    ----------
    stored : StoredCounts
    undefined : {"zero", "drop"}
        Treatment of undefined values.

    Yields
    ------
    dict
        ``metric`` is precision or recall (of the top N = ``at``), or without_relevant (the share of the queries without
        relevant items).
    """
    counts, setting = stored.counts, {"ground_truth": stored.ground_truth, "n_bits": stored.n_bits}
    last = min(LARGEST_CUTOFF, counts.n_database)
    cutoffs = np.unique([1, min(2, last), *np.linspace(0, last, CUTOFFS).round().astype(np.int64)[1:]]).tolist()
    curve = metrics.top_k_curve(counts, cutoffs, undefined=undefined)
    for metric, values in (("precision", curve.precision), ("recall", curve.recall)):
        for n, value in zip(cutoffs, values.tolist(), strict=True):
            yield setting | {"metric": metric, "at": n, "value": value}
    yield setting | {"metric": "without_relevant", "at": 0, "value": float((counts.n_relevant == 0).mean())}


def mean_over_runs(rows: Iterable[Row]) -> list[Row]:
    """Return the mean over the runs for each combination of the other columns, sorted, without undefined values."""
    values = defaultdict[tuple[tuple[str, Any], ...], list[float]](list)
    for row in rows:
        values[tuple((column, row[column]) for column in _MEAN_BY if column in row)].append(row["value"])
    return [dict(key) | {"value": metrics.mean(own), "n_runs": len(own)} for key, own in sorted(values.items())]


def convention_rows(pair: Pair, n_bits: int, truths: Truths, *, without: Sequence[int] = ()) -> Iterator[Row]:
    """Yield every value of one run that a named convention reports as mAP, without some queries."""
    counts = count(pair["query"], pair["database"], n_bits, truths, index_order=True, buckets=False)
    for truth, labelled in counts.items():
        remaining = np.delete(np.arange(labelled.n_queries), np.asarray(without, dtype=np.int64))
        for row in spread_of([labelled.of_queries(remaining)]):
            values = (truth, n_bits, row.metric, _UNDEFINED[row.undefined], " ".join(row.conventions), row.value)
            yield dict(zip(COLUMNS["conventions"][1:], values, strict=True))


def histogram_rows(database: NDArray[np.uint8], n_bits: int) -> Iterator[Row]:
    """Yield the number of items with each code in use; nothing for codes longer than `LONGEST_HISTOGRAM`."""
    if n_bits <= LONGEST_HISTOGRAM:
        values, items = np.unique(codes.unpack(database, n_bits) @ (1 << np.arange(n_bits)), return_counts=True)
        for value, n in zip(values.tolist(), items.tolist(), strict=True):
            yield {"n_bits": n_bits, "code": value, "items": n}


def retrieved_rows(pair: Pair, n_bits: int, truths: Truths, parts: Mapping[str, NDArray[np.int64]]) -> Iterator[Row]:
    """Yield the items nearest to a few evenly spaced queries; ties are in the order of the database.

    ``query`` and ``item`` are row numbers of the dataset; ``at_distance`` is the number of items at the same distance.
    """
    for query in np.unique(np.linspace(0, len(pair["query"]) - 1, SHOWN_QUERIES).astype(np.int64)).tolist():
        distances = codes.hamming_distance(pair["query"][query : query + 1], pair["database"])[0]
        at_distance = np.bincount(distances, minlength=n_bits + 1)
        nearest = np.argsort(distances, kind="stable")[:SHOWN_ITEMS].tolist()
        for truth, relevance in truths.items():
            relevant = set(relevance.row(query)[0].tolist())
            for rank, position in enumerate(nearest, 1):
                distance, item = int(distances[position]), int(parts["database"][position])
                hit = (rank, item, distance, int(at_distance[distance]), int(position in relevant))
                values = (truth, n_bits, int(parts["query"][query]), *hit)
                yield dict(zip(COLUMNS["retrieved"][1:], values, strict=True))


def of_run(
    codes_of: Mapping[str, Mapping[int, Pair]],
    truths: Truths,
    parts: Mapping[str, NDArray[np.int64]],
    lengths: Sequence[int],
    *,
    without: Sequence[int] = (),
) -> dict[str, list[Row]]:
    """Return the rows of the tables of one run: ``conventions``, ``histogram`` and ``retrieved``.

    Parameters
    ----------
    codes_of : mapping of str to mapping
        The codes of each hasher by code length, as `protocol.codes.of_split` returns them; precomputed codes may lack
        some code lengths.
    truths : mapping of str to Relevance
        The ground truths by name.
    parts : mapping of str to ndarray of int64
        The partitions of the split.
    lengths : sequence of int
        The code lengths of the hashers.
    without : sequence of int
        The positions of queries that ``conventions`` leaves out.
    """
    rows: dict[str, list[Row]] = {"conventions": [], "histogram": [], "retrieved": []}
    shortest, n_bits = min(lengths), middle(lengths)
    for hasher, pairs in codes_of.items():
        tables = {}
        if shortest in pairs:
            tables["histogram"] = histogram_rows(pairs[shortest]["database"], shortest)
        if n_bits in pairs:
            tables["conventions"] = convention_rows(pairs[n_bits], n_bits, truths, without=without)
            tables["retrieved"] = retrieved_rows(pairs[n_bits], n_bits, truths, parts)
        for name, more in tables.items():
            rows[name] += [{"hasher": hasher} | row for row in more]
    return rows


def write(path: str | Path, name: str, rows: Iterable[Row]) -> None:
    """Write one of the tables of `COLUMNS` as CSV with its checksum; an undefined value is an empty cell."""
    cells = (["" if row[column] != row[column] else row[column] for column in COLUMNS[name]] for row in rows)
    formatted = ([DIGITS % cell if isinstance(cell, float) else cell for cell in row] for row in cells)
    write_csv(path, COLUMNS[name], formatted, checksum=True)
