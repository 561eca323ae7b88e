"""The key `codes` of a config file: methods whose codes were computed elsewhere, and the names of their files."""

import itertools
import string
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration.experiment import FeaturePlan, FinishedCodes
from protocol.configuration.uses import NAME, RESERVED
from protocol.formats.arrays import path_of
from protocol.splits import draw_of

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
        If a name is that of a hasher; a feature, split or code length is not one of the experiment's; or the names of
        the files have unknown placeholders or lack one.
    """
    found = {name: _method(name, own, features, hashers) for name, own in config["codes"].items()}
    filled = {
        name: {key: getattr(own, key) for key in config["codes"][name] if getattr(own, key) is not None}
        for name, own in found.items()
    }
    return filled, found


def check_code_files(methods: Collection[FinishedCodes], features: Mapping[str, FeaturePlan]) -> None:
    """Raise ProtocolError if files of codes are missing; the message names the first of them."""
    for method in methods:
        for split, run in itertools.product(method.splits, range(features[method.feature].runs)):
            for n_bits, files in method.files(split, run).items():
                for role, file in files.items():
                    if not path_of(file).is_file():
                        raise ProtocolError(
                            f"codes.{method.name}.{role}: expected a file for the {split} split, run {run} and "
                            f"{n_bits} bits, got none at {str(path_of(file))!r} (looked in {Path.cwd()})."
                        )


def _method(
    name: str, own: Mapping[str, Any], features: Mapping[str, FeaturePlan], hashers: Collection[str]
) -> FinishedCodes:
    where = f"codes.{name}"
    _check_name(name, hashers, where)
    feature = features[one_of(own["feature"] or next(iter(features)), features, f"{where}.feature")]
    if any(getattr(modality, "items", "image") != "image" for modality in feature.modalities.values()):
        raise ProtocolError(
            f"{where}.feature: expected a feature with one item for each image, since each row of the files is the "
            f"code of an image, got {feature.name!r}."
        )
    for split in own["splits"] or ():
        one_of(split, feature.splits, f"{where}.splits")
    for n_bits in own["n_bits"] or ():
        one_of(str(n_bits), map(str, feature.n_bits), f"{where}.n_bits")
    method = FinishedCodes(
        name=name,
        query=own["query"],
        database=own["database"],
        feature=feature.name,
        splits=[split for split in feature.splits if split in (own["splits"] or feature.splits)],
        n_bits=sorted(own["n_bits"] or feature.n_bits),
        bit_order=own["bit_order"],
        binarize=own["binarize"],
    )
    for role in ROLES:
        _check_pattern(getattr(method, role), f"{where}.{role}")
        _check_distinct(method, role, feature.runs)
    return method


def _check_name(name: str, hashers: Collection[str], where: str) -> None:
    if not NAME.fullmatch(name):
        raise ProtocolError(f"{where}: expected a name of lower-case letters, digits and _, got {name!r}.")
    if name in RESERVED:
        raise ProtocolError(f"{where}: expected a name other than {', '.join(RESERVED)}, got {name!r}.")
    if name in hashers or name in registry.names("hasher"):
        raise ProtocolError(f"{where}: expected a name that no hasher has, for example {f'my_{name}'!r}, got {name!r}.")


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
        raise ProtocolError(
            f"{where}: expected the name of a file, with placeholders in braces, got {pattern!r}: {error}."
        ) from error


def _check_distinct(method: FinishedCodes, role: str, runs: int) -> None:
    """Refuse file names by which one file would contain codes of different items or of several code lengths."""
    held: dict[str, tuple[Any, ...]] = {}
    for split, run in itertools.product(method.splits, range(runs)):
        rows = _rows(split, run, role)
        for n_bits, files in method.files(split, run).items():
            content = *rows, n_bits
            before = held.setdefault(files[role], content)
            for placeholder, ours, other in zip(PLACEHOLDERS, content, before, strict=True):
                if ours != other:
                    raise ProtocolError(
                        f"codes.{method.name}.{role}: expected {{{placeholder}}} in the names of the files, since "
                        f"{_difference(placeholder, role)}, got {getattr(method, role)!r}."
                    )


def _rows(split: str, run: int, role: str) -> tuple[str, int | None]:
    """Return the key that identifies the queries or the database of a split and run: the split or draw, and the run.

    Splits that share a draw have the same queries, and some protocols have the same items in every run.
    """
    fixed = registry.get("split", split).is_fixed(role)
    return (draw_of(split) if role == "query" else split), (None if fixed else run)


def _difference(placeholder: str, role: str) -> str:
    items = {"query": "queries", "database": "databases"}[role]
    return {
        "split": f"the splits have different {items}",
        "run": f"the runs have different {items}",
        "n_bits": "each file contains codes of one code length",
    }[placeholder]


def code_files(method: FinishedCodes, splits: Collection[str], run: int) -> Iterator[Path]:
    """Yield the paths of a method's files for some splits of one run."""
    for split in splits:
        for files in method.files(split, run).values():
            yield from map(path_of, files.values())
