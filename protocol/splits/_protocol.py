"""What a split protocol declares, and the one way in which every protocol is drawn."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, labels, n_classes
from protocol.splits._balance import balanced_order, drawn_of_each_class

VALIDATION = ("validation_query", "validation_database")
DRAWN = ("query", *VALIDATION, "train")
PARTITIONS = (*DRAWN, "database")
_NO_ROWS = np.empty(0, dtype=np.int64)
_NOTHING: Mapping = MappingProxyType({})
_Part = TypeVar("_Part")


@dataclass(frozen=True)
class Drawn:
    """Items drawn at random, none in two drawn partitions.

    Parameters
    ----------
    size : int or None
        How many. With one label per item every class comes equally often: exactly where the size is a multiple of the
        number of classes, else within one, as long as no class runs out. With several labels, which can't all be
        equally frequent, or none, any item is as likely as any other.
    per_class : int or None
        How many for each class; an item with several labels is drawn for one of them, and for no other. Without either,
        the experiment gives the size.
    """

    size: int | None = None
    per_class: int | None = None


@dataclass(frozen=True)
class Official:
    """A part that the dataset's makers named, as it is, in every run."""

    part: str
    size: int


@dataclass(frozen=True)
class Listed:
    """The items of a file of the user's, in every run."""

    required: bool = True


@dataclass(frozen=True)
class Rest:
    """Every item that is in no partition which this one, the database, may not overlap."""


@dataclass(frozen=True)
class SameAs:
    """The items of another partition: for the database of a protocol that ranks nothing but its training set."""

    part: str


Partition = Drawn | Official | Listed | Rest | SameAs


@dataclass(frozen=True)
class SplitProtocol:
    """A way to divide a dataset into partitions: where each comes from, how large it is, and which may overlap.

    What is drawn depends on the seed and on the drawn partitions alone: with one seed, protocols that draw the same
    partitions have the same queries, validation sets and training set. Such protocols share a `draw`, and the pipeline
    prepares, trains and encodes once for all of them; they differ in their database only.

    Parameters
    ----------
    partitions : mapping of str to Drawn, Official, Listed, Rest or SameAs
        Some of `PARTITIONS`; a protocol without validation partitions leaves them out.
    may_overlap : mapping of str to tuple of str
        The partitions that a partition may share items with; all others are disjoint. Default: none.
    n_items, n_classes : int or None
        Of the dataset that the protocol is made for; None: any.
    draw : str
        Name of everything but the database, for protocols that share it; default: the protocol shares it with none.
    """

    partitions: Mapping[str, Partition]
    may_overlap: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_items: int | None = None
    n_classes: int | None = None
    draw: str = ""

    @property
    def open(self) -> tuple[str, ...]:
        """The partitions whose sizes the experiment gives."""
        return tuple(name for name, part in self.partitions.items() if part == Drawn())

    @property
    def balanced(self) -> tuple[str, ...]:
        """The partitions that hold every class equally often, within one, where each item has one label."""
        return tuple(self._of(Drawn))

    @property
    def listed(self) -> dict[str, Listed]:
        """The partitions that are files of the user's."""
        return self._of(Listed)

    @property
    def database_without(self) -> tuple[str, ...]:
        """The partitions that the database must not share an item with."""
        return tuple(name for name in self.partitions if name in DRAWN and not self.overlaps(name, "database"))

    def is_fixed(self, name: str) -> bool:
        """Return whether a partition has the same items in every run."""
        part = self.partitions.get(name)
        if isinstance(part, Rest):
            return all(self.is_fixed(other) for other in self.database_without)
        if isinstance(part, SameAs):
            return self.is_fixed(part.part)
        return not isinstance(part, Drawn)

    def overlaps(self, a: str, b: str) -> bool:
        """Return whether two partitions may share items."""
        return b in self.may_overlap.get(a, ()) or a in self.may_overlap.get(b, ())

    def _of(self, kind: type[_Part]) -> dict[str, _Part]:
        return {name: part for name, part in self.partitions.items() if isinstance(part, kind)}

    def sizes(
        self, given: Mapping[str, int], *, n_items: int | None = None, n_classes: int | None = None
    ) -> dict[str, int]:
        """Return how many items each partition has to hold; those that depend on what is not known are left out.

        Parameters
        ----------
        given : mapping
            Sizes of the partitions that are `open`, at least 1 each; a validation partition that is not given is
            empty, and sizes of other partitions are ignored.
        n_items, n_classes : int or None
            Of the dataset; None: not known.

        Raises
        ------
        ProtocolError
            If an open size is not given or below 1.
        """
        required = [name for name in self.open if name not in VALIDATION]
        if any(given.get(name, 0) < 1 for name in required):
            raise ProtocolError(
                f"split sizes: expected at least 1 for each of {', '.join(required)}, got {dict(given) or 'none'}"
            )
        found = {}
        for name, part in self.partitions.items():
            if part == Drawn():
                found[name] = given.get(name, 0)
            elif isinstance(part, Drawn) and part.per_class and n_classes is not None:
                found[name] = part.per_class * n_classes
            elif isinstance(part, Drawn | Official) and part.size:
                found[name] = part.size
        for name in self._of(Rest):
            outside = [other for other in self.partitions if other != name and not self.overlaps(name, other)]
            if n_items is not None and set(outside) <= set(found):
                found[name] = n_items - sum(found[other] for other in outside)
        return found | {name: found[same.part] for name, same in self._of(SameAs).items() if same.part in found}

    def check(
        self,
        given: Mapping[str, int],
        *,
        n_items: int | None,
        n_classes: int | None = None,
        official: Mapping[str, int] | None = None,
        needed: Sequence[str] = PARTITIONS,
    ) -> None:
        """Raise ProtocolError, in one line, if the protocol can't be drawn from a dataset.

        Parameters
        ----------
        given : mapping
            As for `sizes`.
        n_items, n_classes : int or None
            Of the dataset; None: not known, or without labels.
        official : mapping of str to int, or None
            The sizes of its makers' parts; None: not known.
        needed : sequence of str
            The partitions that must not be left empty; default: all.

        Raises
        ------
        ProtocolError
            If a size is missing or below 1, the dataset is not the one the protocol is made for or lacks a part of it,
            there are fewer items than are drawn, or a partition is left empty.
        """
        sizes = self.sizes(given, n_items=n_items, n_classes=n_classes)
        for unit, wanted, came in (("items", self.n_items, n_items), ("classes", self.n_classes, n_classes)):
            if wanted is not None and came is not None and wanted != came:
                raise ProtocolError(f"the split is made for a dataset of {wanted:,} {unit}, but there are {came:,}")
        for part in self._of(Official).values():
            if official is not None and official.get(part.part) != part.size:
                held = ", ".join(f"{name} {size:,}" for name, size in official.items()) or "none"
                raise ProtocolError(f"the split wants an official part {part.part!r} of {part.size:,}, came {held}")
        if n_items is not None:
            self._check_sizes(sizes, n_items, needed)

    def _check_sizes(self, sizes: Mapping[str, int], n_items: int, needed: Sequence[str]) -> None:
        derived = {**self._of(Rest), **self._of(SameAs)}
        taken = {name: sizes[name] for name in self.partitions if name in sizes and name not in derived}
        asked = " + ".join(f"{name} {size}" for name, size in taken.items())
        drawn = [name for name in self._of(Drawn) if name in sizes]
        held = [name for name in self._of(Official) if not all(self.overlaps(name, other) for other in drawn)]
        if sum(sizes[name] for name in (*drawn, *held)) > n_items:
            raise ProtocolError(f"the split asks for {asked} = {sum(taken.values())} items, but there are {n_items}")
        for name in self._of(Rest):
            if name in needed and sizes.get(name, 1) < 1:
                raise ProtocolError(f"the {name} is empty: {asked} = {sum(taken.values())} takes all {n_items} items")

    def split(
        self,
        n_items: int,
        y: NDArray | None,
        *,
        seed: int,
        sizes: Mapping[str, int] = _NOTHING,
        official: Mapping[str, NDArray[np.int64]] = _NOTHING,
        lists: Mapping[str, NDArray[np.int64]] = _NOTHING,
    ) -> dict[str, NDArray[np.int64]]:
        """Return one run: all that `drawn` returns, and the database.

        Parameters
        ----------
        n_items : int
        y : ndarray of int, shape (n_items,), or of bool, shape (n_items, n_classes), or None
            Class labels; classes are those that occur.
        seed : int
            Of this run; it alone tells one run from another.
        sizes : mapping
            Items in each partition that is `open`, as for `sizes`.
        official : mapping of str to ndarray of int64
            Row numbers of the parts that the dataset's makers named.
        lists : mapping of str to ndarray of int64
            Row numbers of the partitions that are `listed`, by partition.

        Returns
        -------
        dict of str to ndarray of int64
            Row numbers, ascending, under `PARTITIONS`; empty for the partitions that the protocol does not have.

        Raises
        ------
        ProtocolError
            As `check`; if a class has fewer items than are drawn for it, official parts share items that they may not
            share, or a list is missing.
        """
        parts = self._draw(PARTITIONS, n_items, y, seed=seed, sizes=sizes, official=official, lists=lists)
        return parts | {"database": self.database(parts, n_items, official=official, lists=lists)}

    def drawn(
        self,
        n_items: int,
        y: NDArray | None,
        *,
        seed: int,
        sizes: Mapping[str, int] = _NOTHING,
        official: Mapping[str, NDArray[np.int64]] = _NOTHING,
        lists: Mapping[str, NDArray[np.int64]] = _NOTHING,
    ) -> dict[str, NDArray[np.int64]]:
        """Return the partitions of one run but the database; parameters and errors as for `split`.

        Protocols with the same `draw` return the same here, also where one of them leaves no item for its database.
        """
        return self._draw(DRAWN, n_items, y, seed=seed, sizes=sizes, official=official, lists=lists)

    def _draw(
        self,
        needed: Sequence[str],
        n_items: int,
        y: NDArray | None,
        *,
        seed: int,
        sizes: Mapping[str, int],
        official: Mapping[str, NDArray[np.int64]],
        lists: Mapping[str, NDArray[np.int64]],
    ) -> dict[str, NDArray[np.int64]]:
        classes = None if y is None else labels(y, n_items)
        parts_of_makers = {name: len(rows) for name, rows in official.items()}
        self.check(sizes, n_items=n_items, n_classes=n_classes(classes), official=parts_of_makers, needed=needed)
        parts = self._official(official) | self._lists(lists)
        taken = [rows for name, rows in parts.items() if not all(self.overlaps(name, other) for other in self.balanced)]
        pool = _without(n_items, taken)
        if self.balanced:
            parts |= self._drawn(pool, None if classes is None else classes[pool], sizes, np.random.default_rng(seed))
        return {name: np.sort(parts.get(name, _NO_ROWS)) for name in DRAWN}

    def database(
        self,
        parts: Mapping[str, NDArray[np.int64]],
        n_items: int,
        *,
        official: Mapping[str, NDArray[np.int64]] = _NOTHING,
        lists: Mapping[str, NDArray[np.int64]] = _NOTHING,
    ) -> NDArray[np.int64]:
        """Return the row numbers of the database, ascending, given the other partitions as `drawn` returns them."""
        declared = self.partitions.get("database")
        if isinstance(declared, Rest):
            return _without(n_items, [parts[name] for name in DRAWN if not self.overlaps(name, "database")])
        if isinstance(declared, SameAs):
            return parts[declared.part].copy()
        return np.sort((self._official(official) | self._lists(lists)).get("database", _NO_ROWS))

    def _official(self, official: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
        found = {name: official[part.part] for name, part in self._of(Official).items()}
        for a, b in itertools.combinations(found, 2):
            shared = found[a][np.isin(found[a], found[b])]
            if shared.size and not self.overlaps(a, b):
                raise ProtocolError(
                    f"the official {a} and {b} may share no item, but share {shared.size}, the first is row {shared[0]}"
                )
        return found

    def _lists(self, lists: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
        missing = [name for name, part in self.listed.items() if part.required and name not in lists]
        if missing:
            raise ProtocolError(f"the split wants a list of the {missing[0]}, came {', '.join(lists) or 'none'}")
        return {name: lists[name] for name in self.listed if name in lists}

    def _drawn(
        self, pool: NDArray[np.int64], classes: NDArray | None, given: Mapping[str, int], rng: np.random.Generator
    ) -> dict[str, NDArray[np.int64]]:
        """Draw from the rows in `pool`: what has a number for each class first, then the others."""
        order = balanced_order(len(pool), classes, rng)
        parts, sizes = {}, self.sizes(given)
        wanted = {name: part.per_class for name, part in self._of(Drawn).items() if part.per_class}
        if wanted:
            if classes is None:
                raise ProtocolError(f"the split draws {', '.join(wanted)} by class, but the items have no labels")
            of_class = drawn_of_each_class(classes[order], sum(wanted.values()), rng)
            bounds = np.cumsum(list(wanted.values()))[:-1]
            for name, places in zip(wanted, np.split(of_class, bounds, axis=1), strict=True):
                parts[name] = pool[order[places.ravel()]]
            order = np.delete(order, of_class.ravel())
        rest = [name for name in self.balanced if name not in wanted]
        stretches = np.split(order, np.cumsum([sizes[name] for name in rest], dtype=np.int64))
        return parts | {name: pool[stretch] for name, stretch in zip(rest, stretches, strict=False)}


def _without(n_items: int, parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the rows that are in none of some partitions."""
    left = np.ones(n_items, dtype=bool)
    for rows in parts:
        left[rows] = False
    return np.flatnonzero(left)


def draw_of(split: str) -> str:
    """Return the name of the draw of a registered split protocol: its own where it shares the draw with no other."""
    return registry.get("split", split).draw or split


def drawing_split(draw: str) -> str:
    """Return the name of the registered split protocol that makes a draw: the first of those that share it.

    Raises
    ------
    ProtocolError
        If protocols that name the same draw declare different partitions, overlaps or sizes besides the database.
    """
    first, *others = [split for split in registry.names("split") if draw_of(split) == draw]
    for other in others:
        if _declared(other) != _declared(first):
            raise ProtocolError(
                f"split {other!r}: expected the partitions of split {first!r}, with which it shares the draw {draw!r}, "
                "apart from the database; give it a draw of its own."
            )
    return first


def _declared(split: str) -> tuple:
    """Return everything that a split protocol declares of its draw."""
    protocol: SplitProtocol = registry.get("split", split)
    overlaps = [protocol.overlaps(a, b) for a, b in itertools.combinations(DRAWN, 2)]
    return [protocol.partitions.get(name) for name in DRAWN], overlaps, protocol.n_items, protocol.n_classes
