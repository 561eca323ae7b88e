"""Identify the protocol or published lists that a split matches or resembles."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from protocol import registry
from protocol.auditing.checks.declared import class_counts, has_several
from protocol.auditing.items import Split
from protocol.checks import listed
from protocol.registry.records import read_toml
from protocol.splits import PARTITIONS, Drawn, Official, SplitProtocol

_PAIRS = (("query", "database"), ("query", "train"), ("train", "database"))
_KINDS = ("sizes", "classes", "overlaps", "official splits")
_OPEN = 0.25
_NEAR_SIZES, _ALL_SIZES, _NEAR, _CLOSE = 0.25, 1, 2.5, 0.5
PACKAGE_DATA = "published.toml"
PUBLISHED = read_toml(Path(__file__).with_name(PACKAGE_DATA))
"""The lists of toolkits, by their name in sentences: the declared protocol that they are intended to implement, the
number of labels per line, and the known sizes of partitions and numbers of shared items (as in ``query/train``)."""


class Comparison(NamedTuple):
    """The comparison of one property between a split and a protocol.

    Parameters
    ----------
    by : {"sizes", "classes", "overlaps", "official splits"}
    what : str
        The partition or pair of partitions that is compared.
    distance : float
        From 0 (equal) to 1.
    difference : str
        The difference in words.
    """

    by: str
    what: str
    distance: float
    difference: str


class Match(NamedTuple):
    """A protocol, or published lists, with all comparisons with a split.

    Parameters
    ----------
    name : str
    comparisons : sequence of Comparison
    open : sequence of str
        Partitions of the split whose sizes were not compared, because the protocol does not fix them.
    implements : str
        The protocol that published lists are intended to implement; empty for a protocol.
    """

    name: str
    comparisons: Sequence[Comparison]
    open: Sequence[str] = ()
    implements: str = ""

    @property
    def distance(self) -> float:
        """The sum of all distances, plus a quarter for each size that is open; undetermined overlaps count as much."""
        return sum(one.distance for one in self.comparisons) + _OPEN * len(self.open)

    @property
    def is_near(self) -> bool:
        """Whether the sizes of query and database are similar and the other differences small; see `nearest`."""
        sizes = {one.what: one.distance for one in self.comparisons if one.by == "sizes"}
        of_both = sizes.get("query", 1) + sizes.get("database", sizes.get("train", 1))
        return of_both < _NEAR_SIZES and of_both + sizes.get("train", 0) < _ALL_SIZES and self.distance < _NEAR

    @property
    def by(self) -> str:
        """The properties that are similar: sizes, and others with no difference above a half; for a sentence."""
        different = {one.by for one in self.comparisons if one.by != "sizes" and one.distance > _CLOSE}
        return listed(kind for kind in _KINDS if kind in {one.by for one in self.comparisons} - different)

    @property
    def differences(self) -> list[str]:
        """The differences in words."""
        return [one.difference for one in self.comparisons if one.distance]

    def fits_like(self, other: "Match") -> bool:
        """Return whether both protocols, or both published lists, differ from the split in the same properties."""
        one, another = ((match.by, match.differences, match.open, match.implements) for match in (self, other))
        return one == another

    def sentence(self, *same: str) -> str:
        """Return a description of this match, and of others that fit `same`, as a part of a sentence."""
        text = f"{'resembles' if self.distance else 'matches'} {' or '.join([self.name, *same])} in {self.by}"
        if self.open:
            text += f" (which does not fix the size of {listed(map(_the, self.open))})"
        return f"{text}, but {listed(self.differences)}" if self.differences else text


class _Facts:
    """The known properties of a split, computed once for all protocols."""

    def __init__(self, split: Split) -> None:
        classes, self.counts = class_counts(split)
        self.split, self.n_items = split, split.dataset.n_items
        self.n_classes = len(classes) if split.dataset.y is not None else None
        self.sizes = {name: len(part) for name, part in split.parts.items() if len(part)}
        shared = {(a, b): len(split.shared(a, b)) for a, b in _PAIRS if len(split[a]) and len(split[b])}
        self.shared = {pair: n if n or not split.unclear(*pair).size else None for pair, n in shared.items()}
        # Training items outside the database that are queries, and are reported as such.
        self.n_trained_on = int((~np.isin(split.shared("query", "train"), split["database"])).sum())


def identify(split: Split, declared: str | None = None) -> str:
    """Return sentences that identify a split; empty if it matches its declared protocol best.

    Parameters
    ----------
    split : Split
    declared : str or None
        The protocol that is declared for it, if any. Another one is then named only if it is nearer.

    Examples
    --------
    The database consists of the 54,000 images that are neither queries nor training items; then, eight queries are
    added to it.

    >>> parts = {"query": np.arange(1_000), "train": np.arange(1_000, 6_000), "database": np.arange(6_000, 60_000)}
    >>> from protocol.auditing.items import Dataset
    >>> identify(Split(parts, Dataset()))
    'This split matches cifar10_54k in sizes and overlaps.'
    >>> parts["database"] = np.append(parts["database"], np.arange(8))
    >>> identify(Split(parts, Dataset()))
    'This split resembles cifar10_54k in sizes and overlaps, but the database has 54,008 items (declared 54,000) and 8 \
of 1,000 queries are in the database (declared 0).'
    """
    first, *others = matches = nearest(split)
    by_name = {match.name: match for match in matches}
    text = first.sentence(*(one.name for one in others if one.fits_like(first)))
    if declared is not None:
        is_nearer = declared in by_name and first.is_near and first.distance < by_name[declared].distance
        return f"This split {text}; {declared} was declared." if is_nearer else ""
    best, swapped = first, ""
    for a, b in _PAIRS:
        if first.distance and len(split[a]) and len(split[b]):
            other = nearest(Split(split.parts | {a: split[b], b: split[a]}, split.dataset))[0]
            if other.is_near and other.distance < (best.distance if best.is_near else _CLOSE):
                best, swapped = other, f"{a} and {b}"
    if not first.is_near or swapped:
        none = f"This split matches none of the {len(matches)} declared protocols and published lists of fixed size"
        return f"{none}; with {swapped} swapped, it {best.sentence()}." if best.is_near else f"{none}."
    text += f"; it {by_name[first.implements].sentence()}" if first.implements else ""
    return f"This split {text}{'' if len(split['train']) else '; no training set was given'}."


def nearest(split: Split) -> list[Match]:
    """Return the matches with all protocols of fixed size and published lists: near ones first, then by distance.

    The distance is the sum of these terms, each from 0 to 1, for the properties that are known on both sides:

    - Sizes: for each partition, the difference divided by the larger size. A size that the protocol leaves open adds
      a quarter, so that a protocol does not match better because it declares less.
    - Overlaps: the share of the queries that are in the database or in the training set, and the share of the training
      set that is in the database although it should not be, or vice versa.
    - Classes: 1 if their number differs, or if the protocol is that of a dataset without classes; and for each
      partition that is drawn class by class, the share of its items that would have to belong to another class.
    - Official splits: the share of a partition's items that are not in its official split.

    A split is near a protocol if the sizes of the query and database partitions together differ by less than a quarter,
    and the distance is below 2.5. If the protocol leaves the size of the database open, that of the training set is
    compared instead; otherwise, the sum with that of the training set must be less than 1. The bounds are a matter of
    judgement: with them, a training set of half the size, or all queries in the database, is still a variant of a
    protocol. Ties are broken by the number of comparisons, the larger first, and then by name.
    """
    facts = _Facts(split)
    declared = {name: registry.get("split", name) for name in registry.names("split")}
    matches = [_match(name, of, facts) for name, of in declared.items() if not (of.open or of.listed)]
    for name, lists in PUBLISHED.items():
        sizes, shared = lists["sizes"], {tuple(pair.split("/")): n for pair, n in lists["shared"].items()}
        compared = [*_sizes(facts, sizes), *_overlaps(facts, shared), *_dataset(facts, None, lists["n_classes"])]
        matches.append(Match(name, compared, [part for part in facts.sizes if part not in sizes], lists["protocol"]))
    return sorted(matches, key=lambda one: (not one.is_near, one.distance, -len(one.comparisons), one.name))


def _match(name: str, protocol: SplitProtocol, facts: _Facts) -> Match:
    n_items, n_classes = protocol.n_items or facts.n_items, protocol.n_classes or facts.n_classes
    sizes = dict.fromkeys(set(PARTITIONS) - set(protocol.partitions), 0)
    sizes |= protocol.sizes({}, n_items=n_items, n_classes=n_classes)
    shared = {(a, b): facts.sizes.get(a, 0) * protocol.overlaps(a, b) for a, b in _PAIRS}
    comparisons = [
        *_sizes(facts, sizes),
        *_overlaps(facts, shared),
        *_dataset(facts, protocol.n_items, protocol.n_classes),
        *_classes(facts, protocol),
        *_official(facts, protocol),
    ]
    return Match(name, comparisons, [part for part in facts.sizes if part not in sizes])


def _sizes(facts: _Facts, sizes: Mapping[str, int]) -> Iterable[Comparison]:
    for part, actual in facts.sizes.items():
        if part in sizes:
            text = f"{_the(part)} has {actual:,} items (declared {sizes[part]:,})"
            yield Comparison("sizes", part, _relative(actual, sizes[part]), text)


def _overlaps(facts: _Facts, shared: Mapping[tuple[str, str], int]) -> Iterable[Comparison]:
    for (a, b), actual in facts.shared.items():
        if (a, b) in shared:
            noun, size = "queries" if a == "query" else "training items", facts.sizes[a]
            if actual is None:
                yield Comparison("overlaps", f"{a} in {b}", _OPEN, f"whether {noun} are in {_the(b)} is undetermined")
                continue
            declared = min(shared[a, b], size)
            if (a, b) == ("train", "database") and declared:
                declared -= facts.n_trained_on
            text = f"{actual:,} of {size:,} {noun} are in {_the(b)} (declared {declared:,})"
            yield Comparison("overlaps", f"{a} in {b}", abs(actual - declared) / size, text)


def _dataset(facts: _Facts, n_items: int | None, n_classes: int | None) -> Iterable[Comparison]:
    """Compare the dataset; one of which a protocol declares only the number of items has no classes."""
    if facts.n_items is not None and n_items is not None:
        text = f"the dataset has {facts.n_items:,} items (declared {n_items:,})"
        yield Comparison("sizes", "dataset", _relative(facts.n_items, n_items), text)
    if facts.n_classes is not None and (n_items is not None or n_classes is not None):
        text = f"it has {facts.n_classes:,} classes (declared {n_classes or 'none'})"
        yield Comparison("classes", "dataset", float(facts.n_classes != (n_classes or 0)), text)


def _classes(facts: _Facts, protocol: SplitProtocol) -> Iterable[Comparison]:
    if protocol.n_classes not in (None, facts.n_classes):
        return
    for part, counts in facts.counts.items():
        declared = protocol.partitions.get(part)
        if not isinstance(declared, Drawn) or not declared.per_class:
            continue
        number = declared.per_class
        several = has_several(facts.split)
        off = np.maximum(number - counts, 0) if several else np.abs(counts - number)
        distance = min(1.0, off.sum() / (number * len(counts) * (1 if several else 2)))
        least = "at least " if several else ""
        actual = " to ".join(f"{count:,}" for count in dict.fromkeys((counts.min(), counts.max())))
        text = f"{_the(part)} has {actual} items per class (declared {least}{number:,})"
        yield Comparison("classes", part, distance, text)


def _official(facts: _Facts, protocol: SplitProtocol) -> Iterable[Comparison]:
    official = facts.split.dataset.official
    for part, declared in protocol.partitions.items():
        if isinstance(declared, Official) and declared.part in official and part in facts.sizes:
            n_others = int((~np.isin(facts.split[part], official[declared.part])).sum())
            text = f"{n_others:,} items of {_the(part)} are not of the official split {declared.part!r}"
            yield Comparison("official splits", part, n_others / facts.sizes[part], text)


def _relative(a: int, b: int) -> float:
    return abs(a - b) / max(a, b, 1)


def _the(part: str) -> str:
    named = {"train": "the training set", "database": "the database"}
    return named.get(part, f"the {part.replace('_', ' ')} partition")
