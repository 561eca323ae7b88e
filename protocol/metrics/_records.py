"""The decorator that registers a metric as ``records.toml`` declares it, and what the names of metrics declare."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.registry.records import MetricRecord, read_toml

PACKAGE_DATA = "records.toml"
_DECLARED = read_toml(Path(__file__).with_name(PACKAGE_DATA))


def declared(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Register a metric under each of its names, and again for each other order of ties, as its argument ``ties``."""
    for name, facts in _DECLARED["metrics"].items():
        if facts["function"] == metric.__name__:
            _register(metric, name, dict(facts))
    return metric


def _register(metric: Callable[..., Any], name: str, facts: dict[str, Any]) -> None:
    del facts["function"]
    options, database_order = facts.pop("options", {}), facts.pop("database_order", None)
    beyond = "".join(text for mark, text in _DECLARED["beyond"].items() if mark in name)
    common = _DECLARED["common"][facts.pop("common", "ranking")]
    facts = {"beyond": beyond, "module": metric.__module__} | common | facts
    record = MetricRecord(name, **facts)
    plugin = partial(metric, **options) if options else metric
    record(plugin)
    described = record.describing(metric)
    for ties, order in _DECLARED["orders"].items() if database_order is not None else ():
        if ties != "index" or database_order:
            other = replace(
                described,
                name=bracketed(name, order["bracket"]),
                summary=described.summary.replace("as the expected value over ties", order["words"]),
                ties=order["ties"],
                synonyms=(),
                needs=database_order if ties == "index" else "",
            )
            other(partial(plugin, ties=ties))


def bracketed(name: str, option: str) -> str:
    """Return the name of a metric with one more option in its brackets.

    Examples
    --------
    >>> bracketed("MRR", "best"), bracketed("nDCG[linear]", "best"), bracketed("MRR", "")
    ('MRR[best]', 'nDCG[linear,best]', 'MRR')
    """
    return f"{name.removesuffix(']')}{',' if '[' in name else '['}{option}]" if option else name


def needs(metrics: Iterable[str]) -> dict[str, list[str]]:
    """Return the metrics that require more than the histograms, grouped by the array of the counts that they require.

    Examples
    --------
    >>> needs(["mAP", "mAP[database-order]", "mLGAP@r2"])
    {'index_precisions': ['mAP[database-order]'], 'largest_bucket': ['mLGAP@r2']}
    """
    by_array: dict[str, list[str]] = {}
    for name in metrics:
        if array := registry.METRICS.entry(name).needs:
            by_array.setdefault(array, []).append(name)
    return by_array


def in_database_order(metrics: Iterable[str]) -> bool:
    """Return whether a metric orders ties as the database, and therefore requires ``count(..., index_order=True)``.

    Examples
    --------
    >>> in_database_order(["mAP", "mAP[database-order]"]), in_database_order(["mAP"])
    (True, False)
    """
    return any(array.startswith("index_") for array in needs(metrics))
