"""`protocol init`: print a config file for the user's own data, with a comment above every key."""

import argparse
import inspect
import itertools
import os
import re
import shlex
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, abridged, counted
from protocol.cli._help import read
from protocol.cli._output import show
from protocol.datasets import Data, check_vectors
from protocol.inputs.arrays import path_of
from protocol.inputs.text import INPUTS
from protocol.inputs.validation import blocks
from protocol.scores.metadata import FEW_QUERIES

_CODE_LENGTHS = (8, 16, 32, 64)
_OUTPUT = read("init")["output"]
_NOTES = _OUTPUT["notes"]
_OPTION = re.compile(r"^(\w+) : .*\n((?: {4}.*\n?)+)", re.MULTILINE)
"""The name and the description of a parameter in a docstring."""
_FEWEST_ITEMS = 18  # without classes: for fewer, the training set can't estimate the radius of epsilon_ball
_MOST_QUERIES, _MOST_TRAINING_ITEMS = 1_000, 10_000
_NATURAL = ["improved_natural", "standard_natural"]
_BLOCK_BYTES, _ONE_LENGTH = 16 << 20, 1.1
"""Vectors are read in blocks; their lengths differ if the 95th percentile is larger than this multiple of the 5th."""


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol init`."""
    from protocol import configuration
    from protocol.configuration.schema import keys

    dataset, options, feature = _dataset(arguments)
    stem = path_of(next(iter(options.values()))).resolve().stem
    name = arguments.experiment or re.sub("[^a-z0-9_]+", "_", stem.lower()).strip("_")[:80] or "mine"
    load = registry.get("dataset", dataset)
    data = load({}, **options)
    check_vectors(data, scaled=False)
    if data.images is not None:
        options["image_size"] = data.images.shape[1]
    n_items, n_classes = len(data.ids), len(data.class_names)
    counts = np.bincount(data.labels).tolist() if np.ndim(data.labels) == 1 else [0]
    balanced, natural = _sizes(n_items, counts), _sizes(n_items, [0])
    is_natural = balanced["query"] < min(FEW_QUERIES, natural["query"])
    sizes, others = (natural, balanced) if is_natural else (balanced, natural)
    if sizes["train"] < 2 or (n_classes < 2 and n_items < _FEWEST_ITEMS):
        few = _NOTES["too_few"].format(next(iter(options.values())), counted(n_items, "item"), _FEWEST_ITEMS)
        raise ProtocolError(few)
    most = min([sizes["train"], *(vectors.shape[1] for vectors in data.vectors.values())])  # the components of ITQ
    config: dict[str, Any] = {"experiment": name, "dataset": dataset, "dataset_options": options, "seed": 0}
    config |= {"features": {feature: {"preprocessing": ["centre"]}}, "split_sizes": sizes}
    config |= _derived(n_items, n_classes, most) | _relevance(n_classes, n_items - sum(sizes.values()))
    lengths = _lengths(data)
    if "unhashed" in config and not lengths.all():
        config["unhashed"] = "euclidean"  # rows of zeros have no cosine
    config |= {"splits": _NATURAL} if is_natural else {}
    configuration.load(config)
    classes = f"{counted(n_classes, 'class')} ({abridged(data.class_names)})" if n_classes else "no labels"
    note, own = _NOTES["few_folders"].format(arguments.images) * (data.images is not None and n_classes < 2), ""
    named = dict(zip(data.class_names, counts, strict=True)) if n_classes == len(counts) else {}
    if options.keys().isdisjoint(["labels", "features"]) and (shared := _shared_subfolders(data.ids.tolist())):
        names = (abridged(data.class_names), abridged(shared), os.path.join(arguments.images, data.class_names[0]))
        note = _NOTES["same_subfolders"].format(arguments.images, *names)
    elif balanced != natural:
        note = _small_classes({name: n for name, n in named.items() if n > 1}, balanced, options, is_natural=is_natural)
        drawn, splits = ("balanced", _OUTPUT["config"]["splits"]) if is_natural else ("natural", _NATURAL)
        own = _NOTES["own_sizes"].format(_NOTES[drawn], ", ".join(splits), **others)
    if alone := [name for name, n in named.items() if n == 1]:
        note = f"{note} {_NOTES['alone'].format(counted(len(alone), 'class'), abridged(alone))}".lstrip()
    if note:
        INPUTS.info(note)
    made = f"Made by `protocol init` for {counted(n_items, 'item')}, {classes}."
    parts = [_comment(f"{made} `protocol check FILE` prints what it would run. {note}")]
    declared = keys()["properties"]
    for key in sorted(config, key=[*declared].index):
        comments = [*map(_comment, _comments(key, config[key], declared[key], load))]
        comments += map(_comment, _about_vectors(lengths, config, declared[key])) if key == "features" else ()
        parts.append("\n".join([*comments, _assigned(key, config[key])]))
    show("\n\n".join([*parts, *filter(None, [own])]))


def _dataset(arguments: argparse.Namespace) -> tuple[str, dict[str, str], str]:
    """Return the dataset, its options and the feature that the command's options determine."""
    features, images = arguments.features, arguments.images
    own = {name: file for name in ("labels", "ids") if (file := getattr(arguments, name)) is not None}
    if (features is None) == (images is None) or ("ids" in own and features is None):
        either = "--features (with --labels and --ids) or --images (with subfolders or --labels)"
        raise ProtocolError(f"init needs either {either}.")
    if images is not None:
        return "image_folder", {"folder": images, **own}, "gist"
    return "arrays", {"features": features, **own}, "vectors"


def _shared_subfolders(ids: Sequence[str]) -> list[str]:
    """Return the subfolders of the classes of an image folder if all classes have the same ones, two or more."""
    below = defaultdict[str, set[str]](set)
    for path in (name.split("/") for name in ids):
        below[path[0]].add(path[1] if len(path) > 2 else "")
    first, *others = below.values()
    return sorted(first) if others and len(first) > 1 and "" not in first and all(map(first.__eq__, others)) else []


def _sizes(n_items: int, counts: Sequence[int]) -> dict[str, int]:
    """Return the sizes of the queries and of the training set, which are drawn class by class.

    Together, they have at most two thirds of the smallest class, from each class. A class with one item, which
    can't be divided, does not count.
    """
    divided = [n for n in counts if n > 1] or [n_items]
    n_drawn = len(divided) * (2 * min(divided) // 3)
    n_queries = _rounded(min(n_items // 10, n_drawn // 5, _MOST_QUERIES))
    n_train = min((n_items - n_queries) // 2, n_drawn - n_queries, _MOST_TRAINING_ITEMS)
    return {"query": n_queries, "train": _rounded(n_train)}


def _small_classes(
    counts: Mapping[str, int], sizes: Mapping[str, int], options: Mapping[str, Any], *, is_natural: bool
) -> str:
    """Return which classes limit the sizes, and either that items are drawn whatever their classes, or other remedies.

    The remedies are the sizes without them, and how to remove them, if two other classes are enough. The small classes
    are those below the largest gap, as a factor, between the numbers of items of two classes.
    """
    names = sorted(counts, key=counts.__getitem__)
    gaps = [counts[above] / counts[below] for below, above in itertools.pairwise(names[:-1])]
    n_small = 1 + int(np.argmax([*gaps, 0]))
    small, others = names[:n_small], [counts[name] for name in names[n_small:]]
    limiting = abridged(f"{name}: {counts[name]:,}" for name in small)
    if is_natural:
        return str(_NOTES["natural_split"].format(limiting, **sizes))
    note, without = _NOTES["small_classes"].format(limiting), _sizes(sum(others), others)
    if without["query"] <= sizes["query"]:
        return note + _NOTES["own_split"]
    if "labels" in options:
        folder = options.get("folder", options.get("features"))
        remedy = f"remove their items from {folder} and {options['labels']}, or give them the class of others"
    else:
        paths = [shlex.quote(os.path.join(options["folder"], dot + small[0])) for dot in ("", ".")]
        remedy = f"hide the folder of each (`mv {' '.join(paths)}`), or move its images into that of another class"
    return note + _NOTES["without_them"].format(remedy, **without) + _NOTES["own_split"]


def _derived(n_items: int, n_classes: int, most: int) -> dict[str, Any]:
    """Return the keys that follow from the numbers of items and classes, and from the longest possible code."""
    lengths = [n_bits for n_bits in _CODE_LENGTHS if n_classes <= 1 << n_bits and n_bits <= most][-3:] or [most]
    cutoff, radius = 1_000 if n_items >= 10_000 else 100, min([2, *lengths])
    common: dict[str, Any] = _OUTPUT["config"]
    metrics = [name.format(cutoff=cutoff, radius=radius) for name in common["metrics"]]
    return common | {"hashers": [*common["hashers"], *["sdh"] * (n_classes > 1)], "n_bits": lengths, "metrics": metrics}


def _relevance(n_classes: int, n_database: int) -> dict[str, Any]:
    """Return the ground truth, with at most a third of the smallest database as neighbours."""
    from protocol.configuration.options import with_defaults

    if n_classes > 1:
        return {"ground_truths": ["class_label"], "unhashed": "cosine"}
    options, n_neighbours = with_defaults("ground_truth", "epsilon_ball", {}), n_database // 3
    few = {"ground_truth_options": {"epsilon_ball": {"n_neighbours": n_neighbours}}}
    return {"ground_truths": ["epsilon_ball"]} | (few if n_neighbours < options["n_neighbours"] else {})


def _rounded(number: int) -> int:
    """Return a positive number with its first digit alone: 179 becomes 100."""
    return max(1, number // (unit := 10 ** (len(str(number)) - 1)) * unit)


def _comments(key: str, value: Any, declared: Mapping[str, Any], load: Callable[..., Any]) -> Iterator[str]:
    """Yield the description of a key, and those of the keys below it; for options of the dataset, from its loader."""
    yield declared["description"]
    described = {name: part["description"] for name, part in declared.get("properties", {}).items()}
    if key == "dataset_options":
        described = dict(_OPTION.findall(inspect.getdoc(load) or ""))
    texts = {name: " ".join(text.replace("``", "`").split()) for name, text in described.items()}
    yield from (f"{name}: {text}" for name, text in texts.items() if name in value)


def _lengths(data: Data) -> NDArray[np.float64]:
    """Return the lengths of all vectors of a dataset."""
    parts = (part for vectors in data.vectors.values() for part in blocks(vectors, _BLOCK_BYTES))
    return np.concatenate([np.empty(0), *(np.linalg.norm(part.astype(np.float64), axis=1) for part in parts)])


def _about_vectors(lengths: NDArray, config: Mapping[str, Any], declared: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the preprocessing does, and whether the vectors differ in length, which the cosine ignores."""
    yield f"preprocessing: {declared['additionalProperties']['properties']['preprocessing']['description']}"
    if lengths.size and config.get("unhashed") == "cosine":
        low, high = np.percentile(lengths, (5, 95))
        if high > _ONE_LENGTH * low:
            yield _NOTES["lengths"].format(low, high)


def _comment(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _assigned(key: str, value: Any) -> str:
    """Return a key with its value as YAML."""
    import yaml

    style = None if isinstance(value, dict | list) else False  # None: the innermost lists and mappings in one line
    text = yaml.safe_dump({key: value}, default_flow_style=style, sort_keys=False, width=10**9, allow_unicode=True)
    return str(text.rstrip())
