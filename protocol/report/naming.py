"""Display names: replaces the names of the config file in the results by those that figures and tables show."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protocol.report.results import Results
from protocol.report.styles import display_name

if TYPE_CHECKING:
    import pandas as pd

_KINDS = ("feature", "ground_truth", "split", "hasher")
_BY_NAME = ("options", "uses", "grids")
"""The keys of a configuration that map names to values are the name of a kind, followed by one of these."""


def named(results: Results) -> Results:
    """Return the results with the display names of features, ground truths, splits and hashers.

    `Results.config` has them, too. `Results.names` maps them to the names of the config file.
    """
    config = results.config
    names = {kind: _display_names(config, kind) for kind in _KINDS}

    def shown(table: "pd.DataFrame") -> "pd.DataFrame":
        columns = {
            kind: table[kind].map(lambda name, of=names[kind]: of.get(name, name)) for kind in _KINDS if kind in table
        }
        return table.assign(**columns)

    return dataclasses.replace(
        results,
        config=_with_display_names(config, names),
        summary=shown(results.summary),
        run_scores=shown(results.run_scores),
        dimensions=_renamed(results.dimensions, names["feature"]),
        selection=None if results.selection is None else shown(results.selection),
        duplicates=None if results.duplicates is None else shown(results.duplicates),
        splits=_renamed(results.splits, names["split"]),
        displayed={name: shown(table) for name, table in results.displayed.items()},
        names={kind: {text: name for name, text in of.items()} for kind, of in names.items()},
    )


def _display_names(config: Mapping[str, Any], kind: str) -> dict[str, str]:
    return {name: display_name(config, kind, name) for name in config.get("names", {}).get(f"{kind}s", {})}


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}


def _with_display_names(config: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return a configuration with display names; `hasher_uses` and similar keys map them to the plug-ins."""
    lists = {f"{kind}s": [names[kind].get(name, name) for name in config[f"{kind}s"]] for kind in _KINDS[1:]}
    by_name = {
        f"{kind}_{key}": _renamed(config.get(f"{kind}_{key}", {}), names[kind])
        for kind in _KINDS[1:]
        for key in _BY_NAME
    }
    for kind in _KINDS[1:]:
        by_name[f"{kind}_uses"] = {text: name for name, text in names[kind].items()} | by_name[f"{kind}_uses"]
    features = {
        names["feature"].get(name, name): {"use": name} | _feature(own, names)
        for name, own in config["features"].items()
    }
    codes = _renamed(config.get("codes", {}), names["hasher"])
    affinities = names["ground_truth"].get(config.get("affinities", ""), config.get("affinities"))
    return {**config, **lists, **by_name, "features": features, "codes": codes, "affinities": affinities}


def _feature(own: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    lists = {
        f"{kind}s": [names[kind].get(name, name) for name in own[f"{kind}s"]]
        for kind in _KINDS[1:]
        if f"{kind}s" in own
    }
    return {**own, **lists}
