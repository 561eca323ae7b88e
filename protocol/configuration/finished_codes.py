"""The key `codes` of a config file: methods whose codes were computed elsewhere, and their files."""

import itertools
import string
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration.experiment import Experiment, FeaturePlan, FinishedCodes
from protocol.configuration.variants import check_letters
from protocol.inputs.arrays import path_of, row_count
from protocol.splits import sample_of

PLACEHOLDERS = ("split", "run", "n_bits")
ROLES = ("query", "database")


def read_finished_codes(
    config: Mapping[str, Any], features: Mapping[str, FeaturePlan], hashers: Collection[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, FinishedCodes]]:
    """Return the key `codes` with every default, and the methods by name.

    Parameters
    ----------
    config : mapping
        As `schema.checked` returns it.
    features : mapping of str to FeaturePlan
    hashers : collection of str
        The names of the experiment's hashers.

    Raises
    ------
    ProtocolError
        If a hasher has the same name; if the experiment lacks a feature, split or code length; or if a file name has
        an unknown placeholder or lacks a required one.
    """
    found = {name: _method(name, entry, features, hashers) for name, entry in config["codes"].items()}
    filled = {
        name: {key: getattr(method, key) for key in config["codes"][name] if getattr(method, key) is not None}
        for name, method in found.items()
    }
    return filled, found


def check_code_files(experiment: Experiment) -> None:
    """Raise ProtocolError if files of codes are missing or have too few or many rows; it names the first of them."""
    for method in experiment.codes.values():
        for split, run in itertools.product(method.splits, range(experiment.features[method.feature].runs)):
            sizes = experiment.sizes(split)
            for n_bits, files in method.files(split, run).items():
                for role, file in files.items():
                    if not path_of(file).is_file():
                        raise ProtocolError(
                            f"codes.{method.name}.{role}: no file for the {split} split, run {run} and {n_bits} bits "
                            f"at {str(path_of(file))!r} (looked in {Path.cwd()})."
                        )
                    found = row_count(file) if role in sizes else None
                    if found not in (None, sizes.get(role)):
                        raise ProtocolError(
                            f"codes.{method.name}.{role}: {file}: {found:,} codes for the {sizes[role]:,} items of "
                            f"`{role}` in the {split} split."
                        )


def _method(
    name: str, entry: Mapping[str, Any], features: Mapping[str, FeaturePlan], hashers: Collection[str]
) -> FinishedCodes:
    where = f"codes.{name}"
    _check_name(name, hashers, where)
    feature = features[one_of(entry["feature"] or next(iter(features)), features, f"{where}.feature")]
    if any(getattr(modality, "items", "image") != "image" for modality in feature.modalities.values()):
        raise ProtocolError(
            f"{where}.feature: {feature.name!r} has several items per image, but each row of the files is the code of "
            "one image."
        )
    chosen = {key: entry[key] or getattr(feature, key) for key in ("splits", "n_bits")}
    for key, values in chosen.items():
        for value in values:
            one_of(str(value), map(str, getattr(feature, key)), f"{where}.{key}")
    chosen = {"splits": sorted(chosen["splits"], key=feature.splits.index), "n_bits": sorted(chosen["n_bits"])}
    method = FinishedCodes(name=name, **{**entry, "feature": feature.name, **chosen})
    for role in ROLES:
        _check_pattern(getattr(method, role), f"{where}.{role}")
    for role in ROLES:  # formats the names of both files
        _check_distinct(method, role, feature.runs)
    return method


def _check_name(name: str, hashers: Collection[str], where: str) -> None:
    check_letters(name, where)
    if name in hashers or name in registry.names("hasher"):
        raise ProtocolError(
            f"{where}: {name!r} is the name of a hasher. Choose another name, for example {f'my_{name}'!r}."
        )


def _check_pattern(pattern: str, where: str) -> None:
    """Refuse file names with braces that are not placeholders."""
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(pattern) if field is not None]
        for field in fields:
            one_of(field, PLACEHOLDERS, f"{where}: placeholder in {pattern!r}")
        pattern.format(split="improved", run=0, n_bits=8)
    except ProtocolError:
        raise
    except ValueError as error:
        raise ProtocolError(f"{where}: {pattern!r} is not a file name with placeholders in braces: {error}.") from error


def _check_distinct(method: FinishedCodes, role: str, runs: int) -> None:
    """Refuse file names that would give the same file to different items or to several code lengths."""
    contents: dict[str, tuple[Any, ...]] = {}
    for split, run in itertools.product(method.splits, range(runs)):
        rows = _rows(split, run, role)
        for n_bits, files in method.files(split, run).items():
            content = *rows, n_bits
            first = contents.setdefault(files[role], content)
            for placeholder, value, other in zip(PLACEHOLDERS, content, first, strict=True):
                if value != other:
                    raise ProtocolError(
                        f"codes.{method.name}.{role}: the file name {getattr(method, role)!r} needs {{{placeholder}}}, "
                        f"since {_difference(placeholder, role)}."
                    )


def _rows(split: str, run: int, role: str) -> tuple[str, int | None]:
    """Return the split (or sampled split) and the run that determine the queries or the database.

    Split protocols that share a sampled split have the same queries. The run is None if a protocol has the same items
    in every run.
    """
    fixed = registry.get("split", split).is_fixed(role)
    return (sample_of(split) if role == "query" else split), (None if fixed else run)


def _difference(placeholder: str, role: str) -> str:
    items = {"query": "queries", "database": "databases"}[role]
    return {
        "split": f"the splits have different {items}",
        "run": f"the runs have different {items}",
        "n_bits": "each file contains codes of one code length",
    }[placeholder]
