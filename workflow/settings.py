"""Reads a setting: fills defaults from the schema, and refuses what can't work before any job starts."""

import inspect
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from protocol import datasets, registry
from protocol.checks import ProtocolError, known
from protocol.metrics import ALL, everything, keywords
from protocol.selection import points
from protocol.splits import DRAWN, VALIDATION, list_paths

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
    database_preprocessing: list[str]
    runs: int
    splits: list[str]
    ground_truths: list[str]
    hashers: list[str]
    n_bits: list[int]
    extensions: list[str]

    @property
    def steps(self) -> dict[str, list[str]]:
        """The preprocessing of each modality, by the keys of `Feature.modalities`."""
        return {"": self.preprocessing, "database/": self.database_preprocessing}

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


def load(config: Mapping[str, Any], *, from_file: bool = True) -> Setting:
    """Return the checked setting for Snakemake's `config`.

    Parameters
    ----------
    config : mapping
        What --configfile and --config gave.
    from_file : bool, default=True
        Whether a --configfile was given; if not, `config` refines the embedded default.

    Raises
    ------
    ProtocolError
        With one line that says which key is wrong, what was wanted and what came.
    """
    if not from_file:
        default = yaml.safe_load((Path(__file__).parents[1] / DEFAULT).read_text())
        if config.get("dataset", default["dataset"]) != default["dataset"] and "setting" not in config:
            raise ProtocolError("another dataset needs results of its own: give a name with --config setting=NAME")
        config = default | dict(config)
    schema = yaml.safe_load(_SCHEMA.read_text())
    config = _coerced(config, schema, schema)
    _check_schema(config, schema)
    filled = _canonical(_with_defaults(config, schema, schema))
    if ALL in filled["metrics"]:
        shortest = min(min(part["n_bits"]) for part in (filled, *filled["features"].values()) if "n_bits" in part)
        filled["metrics"] = everything(shortest)
    _check_names(filled)
    filled = _with_options(filled)
    grids = {name: _grid(name, own, filled) for name, own in filled["features"].items()}
    for grid in grids.values():
        _check_lengths(grid, filled)
        _check_hashers(grid, filled)
        _check_modalities(grid, filled)
        _check_supervision(grid, filled)
        _check_selection(grid, filled)
        _check_splits(grid, filled)
        _check_leak(grid, filled)
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


def _coerced(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the value with integers and booleans where the schema wants them: --config may hand on text."""
    schema = _resolved(schema, root)
    if isinstance(value, Mapping):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        return {key: _coerced(item, properties.get(key, others) or {}, root) for key, item in value.items()}
    if isinstance(value, list):
        return [_coerced(item, schema.get("items", {}), root) for item in value]
    types = [choice.get("type") for choice in (schema, *schema.get("anyOf", []))]
    if "boolean" in types and value in ("true", "false"):
        return value == "true"
    return int(value) if "integer" in types and isinstance(value, str) and value.isdecimal() else value


def _canonical(config: dict[str, Any]) -> dict[str, Any]:
    """Return the setting with what has no order in a fixed one, so that another order makes nothing run again."""
    for part in (config, *config["features"].values()):
        for key in ("n_bits", "extension_bits"):
            if key in part:
                part[key] = sorted(part[key])
    sizes = config["split_sizes"]
    return config | {"split_sizes": {name: sizes[name] for name in DRAWN if name in sizes}}


def _check_schema(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    error = jsonschema.exceptions.best_match(validator.iter_errors(config))
    if error is None:
        return
    where = ".".join(str(part) for part in error.absolute_path) or "the setting"
    if error.validator == "additionalProperties" and "properties" in error.schema:
        for key in error.instance:
            known(key, error.schema["properties"], f"key in {where}:")
    top = _resolved(schema["properties"].get(next(iter(error.absolute_path), ""), {}), schema)
    description = error.schema.get("description") or top.get("description")
    wanted = f"; wanted: {description}" if description and error.validator != "required" else ""
    raise ProtocolError(f"{where}: {error.message}{wanted}")


def _grid(name: str, own: Mapping[str, Any], config: Mapping[str, Any]) -> Grid:
    shared, steps = {key: config[key] for key in _GRID}, own["preprocessing"]
    of = steps if isinstance(steps, Mapping) else {"query": steps, "database": steps}
    both = {"preprocessing": of["query"], "database_preprocessing": of["database"]}
    return Grid(feature=name, **{**shared, **own, **both})


def _check_names(config: Mapping[str, Any]) -> None:
    registry.get("dataset", config["dataset"])
    files = [file.name for file in registry.entry("dataset", config["dataset"]).files]
    for file in config["mirror_sha256"]:
        known(file, files, f"file of dataset {config['dataset']!r} in mirror_sha256:")
    for metric in (*config["metrics"], config["selection"]["metric"]):
        registry.get("metric", metric)
    registry.get("ground_truth", config["affinities"])
    for part in (config, *config["features"].values()):
        for key, kind in (("splits", "split"), ("ground_truths", "ground_truth"), ("hashers", "hasher")):
            for name in part.get(key, []):
                registry.get(kind, name)


def _with_options(config: dict[str, Any]) -> dict[str, Any]:
    """Return the setting with every option of every plug-in it uses, so that results state the defaults too."""
    features = {
        name: own | {"options": _options("feature", name, own["options"])} for name, own in config["features"].items()
    }
    dataset = config["dataset"]
    filled = config | {
        "features": features,
        "dataset_options": _options("dataset", dataset, config["dataset_options"]),
    }
    datasets.user_paths(dataset, filled["dataset_options"])
    filled["hasher_grids"] = {name: _hasher_grid(name, config) for name in sorted(config["hasher_grids"])}
    for key, kind in (("hashers", "hasher"), ("ground_truths", "ground_truth"), ("splits", "split")):
        given = config[f"{kind}_options"]
        used = {name for part in (config, *features.values()) for name in part.get(key, [])}
        if kind == "ground_truth" and "affinities" in map(_supervision, filled["hasher_options"]):
            used.add(config["affinities"])
        filled[f"{kind}_options"] = {
            name: _options(kind, name, given.get(name, {})) for name in sorted(used | set(given))
        }
    for name, own in filled["hasher_options"].items():
        searched = filled["hasher_grids"].get(name, {})
        filled["hasher_options"][name] = {option: value for option, value in own.items() if option not in searched}
    return filled


def _hasher_grid(name: str, config: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return a hasher's grid, its values as the options have them."""
    fixed, defaults, grid = config["hasher_options"].get(name, {}), _options("hasher", name, {}), {}
    for option, values in config["hasher_grids"][name].items():
        known(option, defaults, f"option of hasher {name!r} in hasher_grids:")
        if option in fixed:
            raise ProtocolError(
                f"hasher {name!r}: option {option!r} is fixed to {fixed[option]!r} in hasher_options and searched in "
                "hasher_grids; take it out of one"
            )
        grid[option] = [_option(value, defaults[option]) for value in values]
    return grid


def _options(kind: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    defaults = _option_defaults(kind, name)
    for option in given:
        known(option, defaults, f"option of {kind} {name!r}:")
    return defaults | {option: _option(value, defaults[option]) for option, value in given.items()}


def _option_defaults(kind: str, name: str) -> dict[str, Any]:
    if kind == "split":
        return dict.fromkeys(registry.get(kind, name).listed)
    parameters = inspect.signature(registry.get(kind, name)).parameters
    passed = {"paths"} if kind == "dataset" else _GIVEN
    return {key: parameter.default for key, parameter in parameters.items() if key not in passed}


def _option(value: Any, default: Any) -> Any:
    """Return an option's value; inside braces, --config hands on numbers and null as text."""
    if not isinstance(value, str) or isinstance(default, str):
        return value
    parsed = yaml.safe_load(value)
    return parsed if default is not None or parsed is None else value


def supervising(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the ground truth that makes each kind of supervision, of those that the pipeline can make."""
    return {"labels": "class_label", "affinities": config["affinities"]}


def _supervision(hasher: str) -> str | None:
    kind: str | None = registry.get("hasher", hasher).supervision
    return kind


def _check_modalities(grid: Grid, config: Mapping[str, Any]) -> None:
    """Refuse a hasher or ground truth of one modality where queries and database are of two, and the reverse."""
    crossed = len(_modalities(grid)) > 1
    place = f"feature {grid.feature!r} has {'two modalities' if crossed else 'one modality'}"
    if isinstance(config["features"][grid.feature]["preprocessing"], Mapping) and not crossed:
        raise ProtocolError(f"preprocessing: {place}: wanted one list of steps, came one each of query and database")
    for name in grid.hashers:
        if (_supervision(name) == "pairs") != crossed:
            fit = [other for other in registry.names("hasher") if (_supervision(other) == "pairs") == crossed]
            wanted = "two, paired" if not crossed else "one"
            raise ProtocolError(f"hasher {name!r} learns from {wanted}, but {place}; name some of {', '.join(fit)}")
    for name in grid.ground_truths:
        if crossed and not registry.entry("ground_truth", name).across_modalities:
            raise ProtocolError(f"ground truth {name!r} compares vectors of one kind, but {place}; use 'class_label'")


def _check_supervision(grid: Grid, config: Mapping[str, Any]) -> None:
    """Refuse a hasher that learns from what this dataset, or the leak study, does not hand out."""
    facts = datasets.statistics(config["dataset"], config["dataset_options"])
    unlabelled = "n" in facts and "classes" not in facts
    for name in grid.hashers:
        kind = _supervision(name)
        if kind is None:
            continue
        if unlabelled and supervising(config).get(kind) == "class_label":
            raise ProtocolError(f"hasher {name!r} learns from {kind}, but dataset {config['dataset']!r} has no labels")
        if "leak" in config:
            raise ProtocolError(f"leak: wanted hashers that learn from the training rows alone; {name!r} needs {kind}")


def _check_leak(grid: Grid, config: Mapping[str, Any]) -> None:
    """Refuse a leak study that can't be had: of one run, without a control or a learner, or with chosen options."""
    if "leak" not in config:
        return
    for name in config["leak"]["controls"]:
        known(name, grid.hashers, f"hasher of feature {grid.feature!r} in leak.controls:")
    if set(grid.hashers) <= set(config["leak"]["controls"]):
        raise ProtocolError(f"leak: wanted a hasher of feature {grid.feature!r} that learns, came controls only")
    if grid.runs < 2:
        raise ProtocolError(f"leak: wanted at least 2 runs of feature {grid.feature!r}, came {grid.runs}")
    if searched := sorted(set(grid.hashers) & set(config["hasher_grids"])):
        raise ProtocolError(f"leak: its hashers have fixed options, but hasher_grids searches those of {searched[0]!r}")


def _modalities(grid: Grid) -> dict[str, Any]:
    modalities: dict[str, Any] = registry.get("feature", grid.feature)(**grid.options).modalities
    return modalities


def dimensions(grid: Grid, config: Mapping[str, Any]) -> list[int | None]:
    """Return the length of the vectors of each modality of a feature, None where only the files tell."""
    return [_dimension(grid, modality, config) for modality in _modalities(grid).values()]


def _dimension(grid: Grid, feature: Any, config: Mapping[str, Any]) -> int | None:
    """Return the length of a modality's vectors; refuse what the dataset lacks."""
    known = datasets.statistics(config["dataset"], config["dataset_options"])
    lengths = {f"vectors/{name}": length for name, length in known.get("dimensions", {}).items()}
    held = ["images"] * ("image_shape" in known) + sorted(lengths)
    meant = [array for array in held if array == feature.reads or array.startswith(f"{feature.reads}/")]
    if held and len(meant) != 1:
        hint = f"; name one of {', '.join(meant)} in its options" if meant else ""
        raise ProtocolError(
            f"feature {grid.feature!r} reads {feature.reads}, but dataset {config['dataset']!r} has "
            f"{', '.join(held)}{hint}"
        )
    return lengths.get(meant[0]) if meant and feature.dimension is None else feature.dimension


def _check_lengths(grid: Grid, config: Mapping[str, Any]) -> None:
    dimension, *_ = dimensions(grid, config)
    for hasher in grid.hashers:
        within = dimension is not None and registry.entry("hasher", hasher).bits_within_features
        if within and max(grid.n_bits) > dimension:
            raise ProtocolError(
                f"hasher {hasher!r} makes at most one bit per dimension: n_bits {max(grid.n_bits)} is above the "
                f"{dimension} dimensions of feature {grid.feature!r}"
            )
    for metric in config["metrics"]:
        _check_radius(grid, metric)


def _check_radius(grid: Grid, metric: str) -> None:
    radius = keywords(metric).get("radius", 0)
    if radius > min(grid.n_bits):
        raise ProtocolError(f"metric {metric!r}: radius {radius} is above n_bits {min(grid.n_bits)}")


def _check_hashers(grid: Grid, config: Mapping[str, Any]) -> None:
    for name in grid.hashers:
        searched = points(config["hasher_grids"].get(name, {}))
        for n_bits, point in itertools.product(grid.n_bits, searched):
            try:
                registry.get("hasher", name)(n_bits=n_bits, **config["hasher_options"][name], **point).check()
            except ProtocolError as error:
                raise ProtocolError(f"options of hasher {name!r} at {n_bits} bits: {error}") from error


def _check_selection(grid: Grid, config: Mapping[str, Any]) -> None:
    """Refuse a criterion that can't choose among the grids of this feature's hashers."""
    if not set(grid.hashers) & set(config["hasher_grids"]):
        return
    ground_truth, metric = config["selection"]["ground_truth"], config["selection"]["metric"]
    if ground_truth is not None:
        known(ground_truth, grid.ground_truths, f"ground truth of feature {grid.feature!r} in selection:")
    if registry.entry("metric", metric).better == "lower":
        raise ProtocolError(f"selection: metric {metric!r} can't choose the best: of it, less is better")
    _check_radius(grid, metric)
    for split in grid.splits:
        protocol, listed = registry.get("split", split), config["split_options"][split]
        for part in VALIDATION:
            if part not in protocol.partitions or (part in listed and listed[part] is None):
                raise ProtocolError(f"hasher_grids: split {split!r} has no {part}, on which options could be chosen")


def _check_splits(grid: Grid, config: Mapping[str, Any]) -> None:
    """Refuse a split that this dataset can't have, as far as is known before its files are read."""
    facts = datasets.statistics(config["dataset"], config["dataset_options"])
    n_items = facts.get("n")
    official = facts.get("partitions", {}) if n_items is not None else None
    for split in grid.splits:
        protocol = registry.get("split", split)
        try:
            list_paths(protocol, config["split_options"][split])
            protocol.check(config["split_sizes"], n_items=n_items, n_classes=facts.get("classes"), official=official)
        except ProtocolError as error:
            raise ProtocolError(f"split {split!r} of dataset {config['dataset']!r}: {error}") from error
