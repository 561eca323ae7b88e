"""Methods whose codes were computed elsewhere: the key `codes`."""

import itertools
from collections.abc import Collection, Mapping
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration.experiment import Experiment, FeaturePlan, PrecomputedCodes
from protocol.configuration.schema import check_name
from protocol.inputs.arrays import array_shape, user_path
from protocol.splits import sample_of

PLACEHOLDERS = ("split", "run", "n_bits")


def precomputed_codes(
    name: str, entry: Mapping[str, Any], features: Mapping[str, FeaturePlan], hashers: Collection[str]
) -> PrecomputedCodes:
    """Return a method of the key `codes`, with every default.

    Parameters
    ----------
    name : str
    entry : mapping
        Its value in a configuration, as `schema.checked` returns it.
    features : mapping of str to FeaturePlan
    hashers : collection of str
        The names of the experiment's hashers.

    Raises
    ------
    ProtocolError
        If a hasher has the same name; if the experiment lacks a feature, split or code length; or if a file name has
        an unknown placeholder or lacks a required one.
    """
    where = f"codes.{name}"
    check_name(name, where)
    if name in hashers or name in registry.names("hasher"):
        raise ProtocolError(f"{where}: {name!r} is the name of a hasher. Choose another name.")
    feature = features[one_of(entry["feature"] or next(iter(features)), features, f"{where}.feature")]
    if feature.has_several_items:
        raise ProtocolError(f"{where}.feature: {feature.name!r} has several items per image; not possible with codes.")
    splits, n_bits = entry["splits"] or feature.splits, entry["n_bits"] or feature.n_bits
    for key, values, allowed in (("splits", splits, feature.splits), ("n_bits", n_bits, feature.n_bits)):
        for value in values:
            one_of(str(value), map(str, allowed), f"{where}.{key}")
    ordered = {"splits": sorted(splits, key=feature.splits.index), "n_bits": sorted(n_bits)}
    method = PrecomputedCodes(name=name, **{**entry, "feature": feature.name, **ordered})
    _check_patterns(method)
    for role in method.patterns:
        _check_distinct(method, role, feature.runs)
    return method


def _check_patterns(method: PrecomputedCodes) -> None:
    """Refuse file names with braces that are not placeholders."""
    for role, pattern in method.patterns.items():
        try:
            pattern.format(split="improved", run=0, n_bits=8)
        except (AttributeError, LookupError, ValueError) as error:
            problem = f"the only braces in {pattern!r} may be {{split}}, {{run}} and {{n_bits}}"
            raise ProtocolError(f"codes.{method.name}.{role}: {problem}.") from error


def _check_distinct(method: PrecomputedCodes, role: str, runs: int) -> None:
    """Refuse file names that would give the same file to different items or to several code lengths."""
    contents: dict[str, tuple[Any, ...]] = {}
    for split, run in itertools.product(method.splits, range(runs)):
        protocol = registry.get("split", split)
        sampled = (sample_of(split), protocol.partitions["query"].classes) if role == "query" else split
        for n_bits, files in method.files(split, run).items():
            content = sampled, None if protocol.is_fixed(role) else run, n_bits
            first = contents.setdefault(files[role], content)
            for placeholder, value, other in zip(PLACEHOLDERS, content, first, strict=True):
                if value != other:
                    name = f"the file name {method.patterns[role]!r}"
                    raise ProtocolError(f"codes.{method.name}.{role}: {name} needs {{{placeholder}}}.")


def check_code_files(experiment: Experiment) -> None:
    """Raise ProtocolError if a file of codes is missing or has a wrong number of rows; the message names the first."""
    for method in experiment.codes.values():
        for split, run in itertools.product(method.splits, range(experiment.features[method.feature].runs)):
            sizes = experiment.sizes(split)
            for files in method.files(split, run).values():
                for role, file in files.items():
                    user_path(file, "file", f"codes.{method.name}.{role}")
                    shape = array_shape(file) if role in sizes else None
                    if shape is not None and shape[0] != sizes[role]:
                        items = f"the {sizes[role]:,} items of `{role}` in the {split} split"
                        raise ProtocolError(f"codes.{method.name}.{role}: {file}: {shape[0]:,} codes for {items}.")
