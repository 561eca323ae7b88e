"""The decorator that registers a metric of this package as ``records.toml`` declares it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

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
