"""`protocol check`: check a config file, and print what it would run."""

import argparse
import shlex
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.checks import ProtocolError, counted
from protocol.cli._output import show
from protocol.hashers.repeatability import FEW
from protocol.scores.metadata import FEW_QUERIES
from protocol.terminal import width

if TYPE_CHECKING:
    from protocol.configuration import Experiment


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol check`."""
    from protocol import configuration

    config: dict[str, Any] = {}
    for changes in [*map(configuration.read, arguments.files), dict(map(_change, arguments.config))]:
        config = _changed(config, changes)
    experiment = configuration.load(config, from_file=bool(arguments.files), files=arguments.files, reads_data=True)
    parts = {
        "experiment": [experiment.name],
        "dataset": [_dataset(experiment)],
        "plugins": _plugins(experiment),
        "splits": [_split(experiment, name) for name in experiment.splits],
        "features": [_feature(experiment, name) for name in experiment.features],
        "hashers": [", ".join([*experiment.hashers, *experiment.codes])],
        "metrics": [", ".join(experiment.config["metrics"])],
    }
    rows = [(title if line == lines[0] else "", line) for title, lines in parts.items() for line in lines]
    layout = textwrap.TextWrapper(width(10**6), subsequent_indent=" " * 11, break_on_hyphens=False)
    show("\n".join(layout.fill(f"{title:<11}{line}") for title, line in rows))


def _change(text: str) -> tuple[str, Any]:
    """Return the key and the value of KEY=VALUE; the value is YAML."""
    from protocol.configuration.schema import parse

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ProtocolError(f"--config must be KEY=VALUE, got {text!r}.")
    return key, parse(value, f"--config {key}")


def _changed(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with changes: mappings are merged, other values replaced, as Snakemake does."""
    merged = dict(config)
    for key, value in changes.items():
        before = merged.get(key)
        are_mappings = isinstance(value, Mapping) and isinstance(before, Mapping)
        merged[key] = _changed(before or {}, value) if are_mappings else value
    return merged


def _dataset(experiment: "Experiment") -> str:
    facts, name = experiment.facts, experiment.config["dataset"]
    known = ["unknown number of items" if experiment.n_items is None else f"{experiment.n_items:,} items"]
    known += [counted(facts["classes"], "class")] if "classes" in facts else []
    known += ["no labels"] if experiment.labelled is False else []
    known += [f"images of {' x '.join(map(str, facts['image_shape']))}"] if "image_shape" in facts else []
    return f"{name}: {', '.join(known)}"


def _split(experiment: "Experiment", name: str) -> str:
    """Return the known sizes of the partitions of a split; for the user's lists, the command that audits them."""
    protocol, options = registry.get("split", name), experiment.config["dataset_options"]
    if lists := protocol.files(experiment.config["split_options"].get(name, {})):
        files = lists | {one: options[one] for one in ("labels", "ids") if options.get(one)}
        words = [f"--{one.replace('_', '-')} {shlex.quote(str(file))}" for one, file in files.items()]
        return f"{name}: your lists; to find leaks between them: protocol audit {' '.join(words)}"
    sizes = experiment.sizes(name)
    drawn = "with equally many items of each class while these last" if protocol.balanced else "whatever their classes"
    balanced = f"; drawn {drawn}" * bool(protocol.random and experiment.labelled)
    is_uncertain = sizes.get("query", FEW_QUERIES) < FEW_QUERIES
    few = f"; fewer than {FEW_QUERIES} queries in a run, so scores are uncertain" * is_uncertain
    return f"{name}: {', '.join(f'{part} {size:,}' for part, size in sizes.items() if size)}{few}{balanced}"


def _plugins(experiment: "Experiment") -> list[str]:
    """Return the user's own plug-ins, and what is not checked of hashers among them."""
    folder = experiment.config["plugins"]
    names = [f"{record.kind.replace('_', ' ')} {record.name}" for record in registry.user_plugins()] if folder else []
    later = f"`protocol run` checks it with {FEW} training rows, and protocol.hashers.check_hasher with all"
    notes = [f"not checked: whether fits and codes repeat; {later}"] * any(name.startswith("hasher ") for name in names)
    return [f"{folder}: {', '.join(names) or 'none'}", *notes] if folder else []


def _feature(experiment: "Experiment", name: str) -> str:
    """Return the dimensions of a feature, and the combinations that are run."""
    feature = experiment.features[name]
    dimensions = " and ".join(f"{length:,}" if length else "unknown" for length in experiment.dimensions(name))
    numbers = [counted(len(feature.hashers), "hasher"), counted(len(feature.n_bits), "code length")]
    numbers += [counted(feature.runs, "run"), counted(len(feature.splits), "split")]
    return f"{name}: {dimensions} dimensions; {' x '.join(numbers)} ({', '.join(feature.splits)})"
