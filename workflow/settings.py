"""Reads a setting: fills defaults from the schema, and refuses what can't work before any job starts."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from protocol import registry
from protocol.checks import ProtocolError, known

DEFAULT = "workflow/config/digits.yaml"
_SCHEMA = Path(__file__).parent / "schemas" / "setting.schema.yaml"
_GRID = ("runs", "splits", "ground_truths", "hashers", "n_bits", "extensions")
_GIVEN = {"self", "seed", "n_bits", "query", "database", "train"}  # what the pipeline passes itself


@dataclass(frozen=True)
class Grid:
    """What is run on one feature."""

    feature: str
    options: dict[str, Any]
    preprocessing: list[str]
    runs: int
    splits: list[str]
    ground_truths: list[str]
    hashers: list[str]
    n_bits: list[int]
    extensions: list[str]

    def cells(self) -> Iterator[dict[str, Any]]:
        """Yield the (feature, split, run, hasher) of every job that trains a hasher."""
        for split in self.splits:
            for run in range(self.runs):
                for hasher in self.hashers:
                    yield {"feature": self.feature, "split": split, "run": run, "hasher": hasher}


@dataclass(frozen=True)
class Setting:
    """A checked setting; `config` is what the user wrote, with every default filled in."""

    config: dict[str, Any]
    grids: dict[str, Grid]

    def cells(self) -> list[dict[str, Any]]:
        """Return the cells of all features."""
        return [cell for grid in self.grids.values() for cell in grid.cells()]


def load(config: Mapping[str, Any]) -> Setting:
    """Return the checked setting for Snakemake's `config`: the embedded default unless it names a setting.

    Raises
    ------
    ProtocolError
        With one line that says which key is wrong, what was wanted and what came.
    """
    if "setting" not in config:  # no --configfile: --config refines the default
        config = yaml.safe_load((Path(__file__).parents[1] / DEFAULT).read_text()) | dict(config)
    schema = yaml.safe_load(_SCHEMA.read_text())
    _check_schema(config, schema)
    filled = _with_defaults(config, schema, schema)
    grids = {name: _grid(name, own, filled) for name, own in filled["features"].items()}
    _check_names(filled, grids)
    for grid in grids.values():
        _check_lengths(grid, filled["metrics"])
    _check_sizes(filled)
    return Setting(filled, grids)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return {**(root["$defs"][name] if name else {}), **schema}


def _with_defaults(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    if not isinstance(value, Mapping):
        return value
    schema = _resolved(schema, root)
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    filled = {key: part["default"] for key, part in properties.items() if "default" in part} | dict(value)
    return {key: _with_defaults(item, properties.get(key, others) or {}, root) for key, item in filled.items()}


def _check_schema(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    error = jsonschema.exceptions.best_match(validator.iter_errors(config))
    if error is None:
        return
    where = ".".join(str(part) for part in error.absolute_path) or "the setting"
    if error.validator == "additionalProperties" and "properties" in error.schema:
        for key in error.instance:
            known(key, error.schema["properties"], f"key in {where}:")
    wanted = "" if error.validator == "required" else f"; wanted: {error.schema.get('description', error.validator)}"
    raise ProtocolError(f"{where}: {error.message}{wanted}")


def _grid(name: str, own: Mapping[str, Any], config: Mapping[str, Any]) -> Grid:
    shared = {key: config[key] for key in _GRID}
    return Grid(feature=name, **{**shared, **own})


def _check_names(config: Mapping[str, Any], grids: Mapping[str, Grid]) -> None:
    registry.get("dataset", config["dataset"])
    for metric in config["metrics"]:
        if registry.get("metric", metric) is registry.entry("metric", metric).plugin and "@" in metric:
            raise ProtocolError(f"metric {metric!r}: put a number where the name has K or R, as in mAP@100[all]")
    for grid in grids.values():
        _check_options("feature", grid.feature, grid.options)
        for kind, names in (("split", grid.splits), ("ground_truth", grid.ground_truths), ("hasher", grid.hashers)):
            for name in names:
                registry.get(kind, name)
    for kind in ("hasher", "ground_truth"):
        for name, options in config[f"{kind}_options"].items():
            _check_options(kind, name, options)


def _check_options(kind: str, name: str, options: Mapping[str, Any]) -> None:
    accepted = set(inspect.signature(registry.get(kind, name)).parameters) - _GIVEN
    for option in options:
        known(option, accepted, f"option of {kind} {name!r}:")


def _check_lengths(grid: Grid, metrics: list[str]) -> None:
    dimension = registry.get("feature", grid.feature)(**grid.options).dimension
    for hasher in grid.hashers:
        if registry.entry("hasher", hasher).facts["bits_within_features"] and max(grid.n_bits) > dimension:
            raise ProtocolError(
                f"hasher {hasher!r} makes at most one bit per dimension: n_bits {max(grid.n_bits)} is above the "
                f"{dimension} dimensions of feature {grid.feature!r}"
            )
    for metric in metrics:
        radius = getattr(registry.get("metric", metric), "keywords", {}).get("radius", 0)
        if radius > min(grid.n_bits):
            raise ProtocolError(f"metric {metric!r}: radius {radius} is above n_bits {min(grid.n_bits)}")


def _check_sizes(config: Mapping[str, Any]) -> None:
    sizes, n_items = config["split_sizes"], registry.entry("dataset", config["dataset"]).facts["statistics"]["n"]
    if sum(sizes.values()) >= n_items:
        asked = " + ".join(f"{name} {size}" for name, size in sizes.items())
        raise ProtocolError(
            f"split_sizes: {asked} = {sum(sizes.values())} leave no database of the {n_items} items of "
            f"{config['dataset']!r}"
        )
