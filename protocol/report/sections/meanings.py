"""Definitions of the metrics, the conventions and all plug-ins that the experiment uses."""

from collections.abc import Mapping
from typing import Any

from protocol import registry
from protocol.evaluation import CONVENTIONS
from protocol.report.figure import Section, Table
from protocol.report.results import Results

_KINDS = ("feature", "ground_truth", "split", "hasher")


def section(results: Results) -> Section:
    """Return the metrics with their ties, denominator and undefined values, the conventions, and the plug-ins."""
    config = results.config
    undefined = (
        "they count 0, and the query stays in the mean"
        if config["empty"] == "zero"
        else "the query is left out of the mean"
    )
    entries = {entry.name: entry for entry in (registry.METRICS.entry(name) for name in config["metrics"])}
    metrics = [[m.name, m.summary, m.ties, m.denominator, m.empty, m.source] for m in entries.values()]
    tables = [
        Table("metrics", "Metrics.", ["metric", "meaning", "ties", "denominator", "undefined", "source"], metrics, 6),
        Table(
            "named-conventions",
            "Named conventions, with the values that each calls mAP.",
            ["convention", "meaning", "calls mAP", "source"],
            [[rules.name, rules.summary, ", ".join(rules.called_map), rules.source] for rules in CONVENTIONS],
            4,
        ),
        *(_plugins(results, kind) for kind in _KINDS),
    ]
    text = f"Undefined values (0/0) in this experiment: {undefined} (empty = {config['empty']})."
    return Section("meanings", "Definitions", [text], tables=tables, folded=True)


def _plugins(results: Results, kind: str) -> Table:
    finished = _finished(results) if kind == "hasher" else {}
    names = [name for name in dict.fromkeys(results.plain[kind]) if name not in finished]
    entries = [registry.entry(kind, _plugin(results, kind, name)) for name in names]
    config_names = [results.config_name(kind, name) for name in names]
    columns = {
        "name": [name if name == own else f"{name} ({own})" for name, own in zip(names, config_names, strict=True)],
        "meaning": [entry.summary for entry in entries],
        "source": [entry.source for entry in entries],
        "deviations": [getattr(entry, "deviations", "") for entry in entries],
        "options": [
            ", ".join(f"{option} = {value}" for option, value in _options(results, kind, name).items())
            for name in names
        ],
    }
    columns = {name: texts for name, texts in columns.items() if any(texts)}
    rows = list(zip(*columns.values(), strict=True))
    rows += [tuple(texts.get(column, "") for column in columns) for texts in finished.values()]
    return Table(f"{kind}s", f"{kind.replace('_', ' ').capitalize()}s.", list(columns), rows, len(columns))


def _finished(results: Results) -> dict[str, dict[str, str]]:
    """Return the row of each method with finished codes, by column."""
    return {
        name: {
            "name": name,
            "meaning": "Finished codes, made outside this pipeline; how they were learned is not recorded.",
            "source": f"queries: {own['query']}; database: {own['database']}",
        }
        for name, own in results.config.get("codes", {}).items()
    }


def _plugin(results: Results, kind: str, name: str) -> str:
    """Return the plug-in behind a name in the experiment."""
    if kind == "feature":
        return str(results.config["features"][name].get("use", name))
    return str(results.config.get(f"{kind}_uses", {}).get(name, name))


def _options(results: Results, kind: str, name: str) -> dict[str, Any]:
    if kind == "feature":
        own = results.config["features"][name]
        steps = own["preprocessing"]
        by_side = steps if isinstance(steps, Mapping) else {"": steps}
        texts = [f"{side} {' '.join(names) or 'none'}".strip() for side, names in by_side.items()]
        return own["options"] | {"preprocessing": "; ".join(texts)}
    grid = results.config.get(f"{kind}_grids", {}).get(name, {})
    searched = {option: f"chosen from {', '.join(map(str, values))}" for option, values in grid.items()}
    return results.config.get(f"{kind}_options", {}).get(name, {}) | searched
