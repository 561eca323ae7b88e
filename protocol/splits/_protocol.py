"""Declarations of split protocols, and the algorithm that draws all of them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, counted, integer, number
from protocol.inputs.arrays import user_path
from protocol.inputs.validation import class_labels, n_classes
from protocol.provenance import derive, storage

VALIDATION = ("validation_query", "validation_database")
DRAWN = ("query", *VALIDATION, "train")
PARTITIONS = (*DRAWN, "database")
LISTS = ("query", "database", "train", *VALIDATION)
"""The partitions in the order in which users name their lists."""
Classes = Literal["all", "seen", "unseen"]
OPTIONS = {"unseen": int | list[int], "imbalance": float}
"""What a configuration may change in a protocol that declares it, with the types of the values."""
Rows = NDArray[np.int64]
_NO_ROWS = np.empty(0, dtype=np.int64)
_Part = TypeVar("_Part")


@dataclass(frozen=True, kw_only=True)
class Partition:
    """The source of a partition.

    Parameters
    ----------
    classes : {"all", "seen", "unseen"}, default="all"
        The items of the source that the partition has: all; those of ``unseen`` classes (`SplitProtocol.unseen`), with
        at least one such label; or all others (``seen``), also items without a label. Items that are left out don't
        move to another drawn partition.
    """

    classes: Classes = "all"


@dataclass(frozen=True)
class Drawn(Partition):
    """Items drawn at random; no item is drawn into two partitions.

    Parameters
    ----------
    size : int or None
        Number of items. If each item has one label, the class counts differ by at most one, as long as no class runs
        out of items. If items have several labels, which can't all be equally frequent, or no labels, all items are
        equally likely.
    per_class : int or None
        Number of items for each class; an item with several labels is drawn for only one of them. If both `size` and
        `per_class` are None, the configuration gives the size.
    """

    size: int | None = None
    per_class: int | None = None


@dataclass(frozen=True)
class Official(Partition):
    """An official split of the dataset, unchanged and the same in every run."""

    part: str
    size: int


@dataclass(frozen=True)
class Listed(Partition):
    """The items in a user's file, the same in every run."""

    required: bool = True


@dataclass(frozen=True)
class Rest(Partition):
    """For the database: all items except those of partitions that the database may not overlap."""


@dataclass(frozen=True)
class SameAs(Partition):
    """The items of another partition, for protocols whose database is the training set."""

    part: str


@dataclass(frozen=True, eq=False)
class Items:
    """The items of a dataset, which a protocol divides.

    Parameters
    ----------
    n : int
        Their number.
    labels : ndarray of int, shape (n,), or of bool, shape (n, n_classes), or None
        Class labels; only classes that occur are counted.
    official : mapping of str to ndarray of int64
        Row numbers of the dataset's official splits, by name.
    lists : mapping of str to ndarray of int64
        Row numbers of the `listed` partitions, by partition.
    """

    n: int
    labels: NDArray | None = None
    official: Mapping[str, Rows] = field(default_factory=dict)
    lists: Mapping[str, Rows] = field(default_factory=dict)

    @property
    def classes(self) -> Rows:
        """The classes that occur, (n_classes,): values of the labels, or columns if items have several labels."""
        if self.labels is None:
            raise ProtocolError("the dataset has no labels, so its classes can't be divided.")
        return np.unique(self.labels) if self.labels.ndim == 1 else np.flatnonzero(self.labels.any(axis=0))

    def of_classes(self, classes: Rows) -> NDArray[np.bool_]:
        """Return a mask (n,) of the items that have one of these `classes`."""
        if self.labels is None:
            return np.zeros(self.n, dtype=np.bool_)
        if self.labels.ndim == 1:
            return np.isin(self.labels, classes)
        return np.asarray(self.labels[:, classes[classes < self.labels.shape[1]]].any(axis=1), dtype=np.bool_)


def official_parts(items: Mapping[str, Any]) -> dict[str, Rows]:
    """Return the row numbers of a dataset's official splits by name, from the arrays of its ``items.h5``."""
    return {name: rows[:] for name, rows in storage.grouped(items).get("partitions", {}).items()}


@dataclass(frozen=True)
class SplitProtocol:
    """A way to divide a dataset into partitions: the source and size of each, and which of them may overlap.

    The sample depends only on the seed and on the drawn partitions: with the same seed, protocols that draw the same
    partitions have the same queries, validation sets and training set. Such protocols share a `sample` and differ only
    in their database, so the pipeline prepares features, trains and encodes once for all of them.

    Parameters
    ----------
    partitions : mapping of str to Drawn, Official, Listed, Rest or SameAs
        Some of `PARTITIONS`; a protocol without validation sets omits them.
    may_overlap : mapping of str to tuple of str
        For each partition, the others with which it may share items; all others are disjoint. Default: none.
    n_items : int or None
        Required number of items of the dataset; None for any.
    n_classes : int or None
        Required number of classes of the dataset; None for any.
    sample : str
        Name of the sampled split, that is, of all partitions except the database, for protocols that share it. Default:
        the protocol shares its sampled split with no other.
    unseen : int or sequence of int, default=0
        The unseen classes, or how many of them each run draws.
    imbalance : float, default=1
        The ratio of the largest class of the training set to the smallest one, at least 1. In the order of the labels,
        class i of C keeps the share ``imbalance ** (-i / (C - 1))`` of its drawn items, at least one (Cao et al. 2019,
        *Learning Imbalanced Datasets with Label-Distribution-Aware Margin Loss*).
    balanced : bool, default=True
        Whether drawn items without a number for each class are balanced by class; otherwise, their classes are about as
        frequent as in the dataset.
    """

    partitions: Mapping[str, Partition]
    may_overlap: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_items: int | None = None
    n_classes: int | None = None
    sample: str = ""
    unseen: int | Sequence[int] = 0
    imbalance: float = 1
    balanced: bool = True

    def __post_init__(self) -> None:
        """Raise ProtocolError if an option is out of range."""
        for unseen in [self.unseen] if isinstance(self.unseen, int) else self.unseen:
            integer(unseen, "unseen", minimum=0)
        if number(self.imbalance, "imbalance") < 1:
            raise ProtocolError(f"imbalance must be a number >= 1, got {self.imbalance}.")

    @property
    def options(self) -> dict[str, Any]:
        """The options of `OPTIONS` that the protocol declares, by name; a configuration may give other values."""
        return {name: value for name in OPTIONS if (value := getattr(self, name)) != getattr(SplitProtocol, name)}

    def with_options(self, values: Mapping[str, Any]) -> Self:
        """Return the protocol with other values of its `options`; other names are ignored."""
        return replace(self, **{name: values[name] for name in self.options if name in values})

    @property
    def open(self) -> tuple[str, ...]:
        """The partitions whose sizes are given in the configuration."""
        return tuple(name for name, part in self._of(Drawn).items() if part == Drawn(classes=part.classes))

    @property
    def random(self) -> tuple[str, ...]:
        """The partitions that are drawn at random; if `balanced`, class counts of one label differ by at most one."""
        return tuple(self._of(Drawn))

    @property
    def _n_unseen(self) -> int:
        return self.unseen if isinstance(self.unseen, int) else len({*self.unseen})

    @property
    def divides_classes(self) -> bool:
        """Whether some partition has only seen, or only unseen classes, so that items may be in no partition."""
        return any(part.classes != "all" for part in self.partitions.values())

    def is_reduced(self, name: str) -> bool:
        """Return whether a partition has only some of the items of its source, by their classes."""
        part = self.partitions.get(name)
        return part is not None and (part.classes != "all" or (name == "train" and self.imbalance != 1))

    @property
    def listed(self) -> dict[str, Listed]:
        """The partitions that are read from the user's files."""
        return self._of(Listed)

    def files(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Return the files of the `listed` partitions that the options of a configuration name."""
        return {name: options[name] for name in self.listed if options[name] is not None}

    def list_paths(self, files: Mapping[str, str | None]) -> dict[str, Path]:
        """Return the paths of the lists of a split, by partition.

        Parameters
        ----------
        files : mapping of str to str or None
            A file for each partition that the protocol has `listed`; None if there is no such partition.

        Raises
        ------
        ProtocolError
            If a required list is not named, or does not exist.
        """
        paths = {}
        for name, part in self.listed.items():
            file = files.get(name)
            if file is None and part.required:
                add = f"Add it as {{from_lists: {{{name}: FILE}}}}."
                raise ProtocolError(f"split_options: the list for {name} is missing. {add}")
            if file is not None:
                paths[name] = user_path(file, "file", f"split_options: from_lists: {name}")
        return paths

    @property
    def database_without(self) -> tuple[str, ...]:
        """The partitions with which the database must not share items."""
        return tuple(name for name in self.partitions if name in DRAWN and not self.overlaps(name, "database"))

    def is_fixed(self, name: str) -> bool:
        """Return whether a partition has the same items in every run."""
        part = self.partitions.get(name)
        if part is not None and part.classes != "all" and isinstance(self.unseen, int):
            return False
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
        self, open_sizes: Mapping[str, int], *, n_items: int | None = None, n_classes: int | None = None
    ) -> dict[str, int]:
        """Return the size of each partition; sizes that can't be determined yet, or depend on the labels, are omitted.

        Parameters
        ----------
        open_sizes : mapping
            Sizes of the `open` partitions, at least 1 each. Validation partitions without a size are empty; sizes of
            other partitions are ignored.
        n_items : int or None
            Number of items of the dataset; None if unknown.
        n_classes : int or None
            Number of classes of the dataset; None if unknown.

        Raises
        ------
        ProtocolError
            If the size of an open partition is missing or below 1.
        """
        sizes = self._sizes_of_sources(open_sizes, n_items=n_items, n_classes=n_classes)
        # Protocols for one dataset state its number of classes, which are equally large in each source.
        is_known, n_classes = self.n_classes is not None and self.imbalance == 1, self.n_classes or 1
        kept = {"all": n_classes, "seen": n_classes - self._n_unseen, "unseen": self._n_unseen}
        known = {name: size for name, size in sizes.items() if is_known or not self.is_reduced(name)}
        return {name: size * kept[self.partitions[name].classes] // n_classes for name, size in known.items()}

    def _sizes_of_sources(
        self, open_sizes: Mapping[str, int], *, n_items: int | None = None, n_classes: int | None = None
    ) -> dict[str, int]:
        """Return the sizes before items are left out by their classes."""
        required = [name for name in self.open if name not in VALIDATION]
        if any(open_sizes.get(name, 0) < 1 for name in required):
            raise ProtocolError(f"split_sizes: {' and '.join(required)} must be at least 1, got {dict(open_sizes)}.")
        declared = {name: _size(part, open_sizes.get(name, 0), n_classes) for name, part in self.partitions.items()}
        sizes = {name: size for name, size in declared.items() if size is not None}
        outside = set(self.database_without)
        if "database" in self._of(Rest) and n_items is not None and outside <= sizes.keys():
            sizes["database"] = n_items - sum(map(sizes.__getitem__, outside))
        return sizes | {name: sizes[same.part] for name, same in self._of(SameAs).items() if same.part in sizes}

    def check(
        self,
        open_sizes: Mapping[str, int],
        *,
        n_items: int | None,
        n_classes: int | None = None,
        official: Mapping[str, int] | None = None,
    ) -> None:
        """Raise ProtocolError, in one line, if the protocol can't be drawn from a dataset.

        Parameters
        ----------
        open_sizes : mapping
            As for `sizes`.
        n_items : int or None
            Number of items of the dataset; None if unknown.
        n_classes : int or None
            Number of classes of the dataset; None if unknown, or without labels.
        official : mapping of str to int, or None
            The sizes of the dataset's official splits; None if unknown.

        Raises
        ------
        ProtocolError
            If a size is missing or below 1, the dataset is not the one for which the protocol is declared or lacks one
            of its parts, there are fewer items than the split draws, or the database would be empty.
        """
        if self.divides_classes and n_classes is not None and not 0 < self._n_unseen < n_classes - 1:
            allowed = f"from 1 to {n_classes - 2:,} of the {n_classes:,} classes"
            raise ProtocolError(f"unseen: expected {allowed}, so that two are seen, got {self.unseen}.")
        sizes = self._sizes_of_sources(open_sizes, n_items=n_items, n_classes=n_classes)
        for unit, expected, actual in (("items", self.n_items, n_items), ("classes", self.n_classes, n_classes)):
            if None not in (expected, actual) and expected != actual:
                raise ProtocolError(f"made for a dataset with {expected:,} {unit}; this one has {actual:,}.")
        if official is not None:
            self._check_official(official)
        self._check_items(sizes, n_items)

    def _check_items(self, sizes: Mapping[str, int], n_items: int | None) -> None:
        """Raise ProtocolError if there are fewer items than the split draws, or none is left for the database."""
        taken = {name: size for name, size in sizes.items() if not isinstance(self.partitions[name], Rest | SameAs)}
        n_taken = sum(size for name, size in taken.items() if self._is_apart(name))
        if n_items is not None and n_taken > n_items:
            needed = f"{sum(taken.values()):,} items are needed ({_sum(taken)})"
            raise ProtocolError(f"{needed}, but the dataset has {n_items:,}.")
        if "database" in self._of(Rest) and sizes.get("database", 1) < 1:
            raise ProtocolError(f"the database would be empty: {_sum(taken)} use all {n_items:,} items.")

    def _check_official(self, official: Mapping[str, int]) -> None:
        """Raise ProtocolError if the dataset lacks an official split, or it has another size."""
        for part in self._of(Official).values():
            if official.get(part.part) != part.size:
                names = ", ".join(f"{name} ({size:,} items)" for name, size in official.items()) or "none"
                needed = f"needs the official split {part.part!r} with {part.size:,} items"
                raise ProtocolError(f"{needed}; the dataset's official splits: {names}.")

    def _is_apart(self, name: str) -> bool:
        """Return whether some drawn partition must not share items with this one."""
        return not all(self.overlaps(name, drawn) for drawn in self.random)

    def split(
        self, n_items: int, y: NDArray | None, *, seed: int, sizes: Mapping[str, int] | None = None, **known: Any
    ) -> dict[str, Rows]:
        """Return one run: the partitions that `drawn` returns, and the database.

        Parameters
        ----------
        n_items : int
        y : ndarray of int, shape (n_items,), or of bool, shape (n_items, n_classes), or None
            Class labels.
        seed : int
            Seed of this run, by which alone runs differ.
        sizes : mapping, optional
            Sizes of the `open` partitions, as for `sizes`.
        **known : mapping of str to ndarray of int64
            The row numbers of `official` splits and of `lists`, as for `Items`.

        Returns
        -------
        dict of str to ndarray of int64
            Row numbers, ascending, for each of `PARTITIONS`; empty if the protocol does not define the partition.

        Raises
        ------
        ProtocolError
            As for `check`; or if a class has too few items that were not drawn for another one, official splits share
            items although they must be disjoint, or a list is missing.
        """
        items = Items(n_items, y, **known)
        return self.completed(self.drawn(items, seed=seed, sizes=sizes), items, seed=seed)

    def drawn(self, items: Items, *, seed: int, sizes: Mapping[str, int] | None = None) -> dict[str, Rows]:
        """Return the partitions of one run except the database; parameters and errors as for `split` and `check`.

        Protocols with the same `sample` return the same partitions, even if one leaves no item for its database. The
        queries are of all classes; `completed` leaves some out.
        """
        classes = None if items.labels is None else class_labels(items.labels, items.n)
        official = {name: len(rows) for name, rows in items.official.items()}
        without_database = {name: part for name, part in self.partitions.items() if not isinstance(part, Rest)}
        sampled = replace(self, partitions=without_database)
        sampled.check(sizes or {}, n_items=items.n, n_classes=n_classes(classes), official=official)
        parts = self._fixed(items)
        pool = _without(items.n, [rows for name, rows in parts.items() if self._is_apart(name)])
        if self.random:
            parts |= self._drawn(pool, classes, sizes or {}, np.random.default_rng(seed))
        if self.imbalance != 1:
            parts["train"] = self._long_tail(parts["train"], items)
        drawn = {name: np.sort(parts.get(name, _NO_ROWS)) for name in DRAWN}
        return drawn | self._reduced((*VALIDATION, "train"), drawn, items, seed)

    def completed(self, parts: Mapping[str, Rows], items: Items, *, seed: int) -> dict[str, Rows]:
        """Return all partitions of a run, given those that are `drawn`: the database, and queries of its classes alone.

        Raises
        ------
        ProtocolError
            If the database or the queries would be empty, or as for `split`.
        """
        complete = {**parts, "database": self._database(parts, items)}
        return complete | self._reduced(("query", "database"), complete, items, seed)

    def unseen_classes(self, items: Items, *, seed: int) -> Rows:
        """Return the unseen classes of a run, ascending; they depend on the classes of the dataset and on the seed.

        Raises
        ------
        ProtocolError
            If the dataset has no such class.
        """
        classes, unseen = items.classes, self.unseen
        if isinstance(unseen, int):
            rng = np.random.default_rng(derive(seed, "unseen"))
            unseen = rng.choice(classes, min(unseen, len(classes)), replace=False).tolist()
        if not {*unseen} <= {*classes.tolist()}:
            raise ProtocolError(f"unseen: the dataset has not all of the classes {', '.join(map(str, unseen))}.")
        return np.array(sorted({*unseen}), dtype=np.int64)

    def _reduced(self, names: Sequence[str], parts: Mapping[str, Rows], items: Items, seed: int) -> dict[str, Rows]:
        """Return the named partitions that have only seen or unseen classes, reduced to the items of these."""
        reduced = {}
        for name in names:
            rows, declared = parts[name], self.partitions.get(name)
            if declared is not None and declared.classes != "all" and rows.size:
                is_unseen = items.of_classes(self.unseen_classes(items, seed=seed))
                reduced[name] = rows[is_unseen[rows] == (declared.classes == "unseen")]
                if not reduced[name].size:
                    raise ProtocolError(f"{name}: no item of {declared.classes} classes. Draw more items.")
        return reduced

    def _long_tail(self, rows: Rows, items: Items) -> Rows:
        """Return the first items of each class of a training set in random order, of the next class a smaller share."""
        y = items.labels
        if y is None or y.ndim == 2 or len(classes := items.classes) < 2:
            raise ProtocolError("imbalance: the items need one class label each, of at least two classes.")
        shares = self.imbalance ** (-np.arange(len(classes)) / (len(classes) - 1))
        of_class = zip((rows[y[rows] == label] for label in classes), shares, strict=True)
        return np.concatenate([members[: max(1, round(len(members) * share))] for members, share in of_class])

    def _database(self, parts: Mapping[str, Rows], items: Items) -> Rows:
        """Return the row numbers of the database, ascending, of all classes, given the other partitions."""
        declared = self.partitions.get("database")
        if isinstance(declared, SameAs):
            return parts[declared.part].copy()
        if not isinstance(declared, Rest):
            return np.sort(self._fixed(items).get("database", _NO_ROWS))
        rows = _without(items.n, [parts[name] for name in DRAWN if not self.overlaps(name, "database")])
        if not rows.size:
            sizes = _sum({name: len(part) for name, part in parts.items() if len(part)})
            raise ProtocolError(f"the database would be empty: {sizes} use all {items.n:,} items.")
        return rows

    def _fixed(self, items: Items) -> dict[str, Rows]:
        """Return the partitions that are official splits or lists; official ones that must be disjoint are checked."""
        parts = {name: items.official[part.part] for name, part in self._of(Official).items()}
        for a, b in itertools.combinations(parts, 2):
            shared = parts[a][np.isin(parts[a], parts[b])]
            if shared.size and not (self.overlaps(a, b) or self.is_reduced(a) or self.is_reduced(b)):
                items_of_both = f"{counted(shared.size, 'item')}, the first in row {shared[0]}"
                raise ProtocolError(f"the official splits for {a} and {b} share {items_of_both}.")
        for name, part in self.listed.items():
            if part.required and name not in items.lists:
                raise ProtocolError(f"the list for {name} is missing.")
        return parts | {name: items.lists[name] for name in self.listed if name in items.lists}

    def _drawn(
        self, pool: Rows, classes: NDArray | None, open_sizes: Mapping[str, int], rng: np.random.Generator
    ) -> dict[str, Rows]:
        """Draw from the rows in `pool`: first the partitions with a number for each class, then the others."""
        of_pool = None if classes is None else classes[pool]
        order = balanced_order(len(pool), of_pool if self.balanced else None, rng)
        parts, sizes = {}, self._sizes_of_sources(open_sizes)
        per_class = {name: part.per_class for name, part in self._of(Drawn).items() if part.per_class}
        if per_class:
            if of_pool is None:
                raise ProtocolError(f"{' and '.join(per_class)}: drawn by class, but the dataset has no labels.")
            of_class = drawn_of_each_class(of_pool[order], sum(per_class.values()), rng)
            bounds = np.cumsum(list(per_class.values()))[:-1]
            for name, indices in zip(per_class, np.split(of_class, bounds, axis=1), strict=True):
                parts[name] = pool[order[indices.ravel()]]
            order = np.delete(order, of_class.ravel())
        rest = [name for name in self.random if name not in per_class]
        stretches = np.split(order, np.cumsum([sizes[name] for name in rest], dtype=np.int64))
        return parts | {name: pool[stretch] for name, stretch in zip(rest, stretches, strict=False)}


def _size(part: Partition, open_sizes: int, n_classes: int | None) -> int | None:
    """Return the size of a partition that does not depend on others; None if it can't be determined."""
    if part == Drawn(classes=part.classes):
        return open_sizes
    if isinstance(part, Drawn) and part.per_class and n_classes is not None:
        return part.per_class * n_classes
    return part.size if isinstance(part, Drawn | Official) else None


def _sum(sizes: Mapping[str, int]) -> str:
    return " + ".join(f"{name} {size:,}" for name, size in sizes.items())


def _without(n_items: int, parts: Sequence[Rows]) -> Rows:
    """Return the rows that are in none of the given partitions."""
    return np.delete(np.arange(n_items), np.concatenate([_NO_ROWS, *parts]))


def declare(module: str, *, base: SplitProtocol | None = None, **declaration: Any) -> SplitProtocol:
    """Register a protocol and return it.

    Parameters
    ----------
    module : str
        The module of the plug-in, ``__name__``.
    base : SplitProtocol or None
        A protocol from which this one differs only in the `declaration`; None if it is declared completely.
    **declaration
        The parameters of `SplitProtocol`, and ``source``, ``summary``, ``name``, ``deviations`` and ``printed`` of
        `protocol.registry.SplitRecord`.

    Raises
    ------
    ProtocolError
        If an option is out of range, or another plug-in has the name.
    """
    of_record = {part.name for part in fields(registry.SplitRecord)}
    facts = {key: declaration.pop(key) for key in of_record & declaration.keys()}
    record = registry.SplitRecord(module=module, **facts)
    return record(replace(base, **declaration) if base else SplitProtocol(**declaration))


def sample_of(split: str) -> str:
    """Return the name of a registered split protocol's sampled split; by default, the name of the protocol."""
    return registry.get("split", split).sample or split


def sharing(sample: str) -> list[str]:
    """Return the names of the registered split protocols that share a sampled split; empty if there is none."""
    return [split for split in registry.names("split") if sample_of(split) == sample]


def sampling_split(sample: str) -> str:
    """Return the name of the registered split protocol that computes a sampled split: the first of those that share it.

    Raises
    ------
    ProtocolError
        If protocols with the same sampled split declare other partitions, overlaps or sizes, apart from the database.
    """
    first, *others = sharing(sample)
    for other in others:
        if declaration(other) != declaration(first):
            problem = "but declare different partitions apart from the database. Give one of them another `sample`."
            raise ProtocolError(f"Splits {first!r} and {other!r} share the sampled split {sample!r}, {problem}")
    return first


def declaration(split: str) -> tuple:
    """Return what a split protocol declares apart from its database; its sampled split depends on nothing else."""
    protocol: SplitProtocol = registry.get("split", split)
    overlaps = [protocol.overlaps(a, b) for a, b in itertools.combinations(DRAWN, 2)]
    # The sampled split contains queries of all classes.
    partitions = {**protocol.partitions, "query": replace(protocol.partitions["query"], classes="all")}
    options = protocol.options if protocol.balanced else {"balanced": False}
    return [partitions.get(name) for name in DRAWN], overlaps, protocol.n_items, protocol.n_classes, options


def balanced_order(n_items: int, classes: NDArray | None, rng: np.random.Generator) -> Rows:
    """Return a random order of the items in which the class counts of any contiguous range differ by at most one.

    Items are dealt in rounds, one of each class, and the classes follow each other in the same random order in every
    round, because the counts of the values in any range of a periodic sequence differ by at most one. A class without
    remaining items drops out of later rounds. If items have several labels, or none, the order is uniformly random.
    """
    order = rng.permutation(n_items)
    if classes is None or classes.ndim == 2:
        return order
    names, count = np.unique(classes, return_counts=True)
    # Short integers: 100 million items would take 75 bytes each, and NumPy sorts them faster.
    of_class, of_item = (np.min_scalar_type(number) for number in (len(names), n_items))
    code = np.searchsorted(names, classes).astype(of_class)[order]
    starts, turn = (np.cumsum(count) - count).astype(of_item), np.empty(n_items, dtype=of_item)
    turn[np.argsort(code, kind="stable")] = np.arange(n_items, dtype=of_item) - np.repeat(starts, count)
    return order[np.lexsort((rng.permutation(len(names)).astype(of_class)[code], turn))]


def drawn_of_each_class(classes: NDArray, number: int, rng: np.random.Generator) -> Rows:
    """Return `number` items for each class; no item is drawn for two classes.

    One class after another takes items that no earlier class has taken: the first ones, or, if items have several
    labels, a random choice. With one order of the items for all classes, the first items would go to the first of their
    classes, and later classes would get items with few labels.

    Parameters
    ----------
    classes : ndarray of int, shape (n_items,), or of bool, shape (n_items, n_classes)
        In a random order.
    number : int
    rng : Generator
        Used if items have several labels.

    Returns
    -------
    ndarray of int64, shape (n_classes, number)
        Indices into `classes`.

    Raises
    ------
    ProtocolError
        If fewer items are left for a class.
    """
    members = classes if classes.ndim == 2 else classes[:, None] == np.unique(classes)
    free = np.ones(len(members), dtype=bool)
    drawn = np.empty((members.shape[1], number), dtype=np.int64)
    for column in range(members.shape[1]):
        items = np.flatnonzero(members[:, column] & free)
        if len(items) < number:
            left = f"{int(members[:, column].sum()):,}, of which {len(items):,} are not drawn for another class"
            problem = f"{counted(number, 'item')} of each class can't be drawn"
            raise ProtocolError(f"{problem}: class {column} of {members.shape[1]} has {left}.")
        drawn[column] = (rng.permutation(items) if classes.ndim == 2 else items)[:number]
        free[drawn[column]] = False
    return drawn
