"""What a split protocol declares, and the one way in which every protocol is drawn."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, labels

DRAWN = ("query", "validation_query", "validation_database", "train")
PARTITIONS = (*DRAWN, "database")


@dataclass(frozen=True)
class SplitProtocol:
    """A way to divide a dataset: four partitions are drawn, and the database is what the protocol leaves for it.

    The four drawn partitions (test queries, validation queries, validation database, training set) are pairwise
    disjoint and depend on the seed alone, not on the protocol: with one seed, two protocols have the same queries and
    the same training set, and differ in the database only.

    Parameters
    ----------
    database_without : tuple of str
        The drawn partitions that the database must not contain; it is every item in none of them.
    """

    database_without: tuple[str, ...]

    def split(
        self, n_items: int, y: NDArray | None, *, sizes: Mapping[str, int], seed: int
    ) -> dict[str, NDArray[np.int64]]:
        """Draw one run.

        Parameters
        ----------
        n_items : int
        y : ndarray of int, shape (n_items,), or of bool, shape (n_items, n_classes), or None
            Class labels. With one label per item, each drawn partition holds every class equally often: exactly where
            its size is a multiple of the number of classes, else within one, as long as no class runs out. With
            several, which can't all be equally frequent, or none, items are drawn at random.
        sizes : mapping
            Items in each of the four drawn partitions, at least 1.
        seed : int

        Returns
        -------
        dict of str to ndarray of int64
            Row numbers, ascending, under `PARTITIONS`.

        Raises
        ------
        ProtocolError
            If the sizes are not those of the four partitions, are below 1, need more items than there are, or leave
            the database empty.
        """
        if set(sizes) != set(DRAWN) or min(sizes.values()) < 1:
            raise ProtocolError(f"split sizes: wanted at least 1 for each of {', '.join(DRAWN)}, came {dict(sizes)}")
        asked = " + ".join(f"{name} {sizes[name]}" for name in DRAWN)
        if sum(sizes.values()) > n_items:
            raise ProtocolError(f"the split asks for {asked} = {sum(sizes.values())} items, but there are {n_items}")
        order = _balanced_order(n_items, y, np.random.default_rng(seed))
        bounds = np.cumsum([sizes[name] for name in DRAWN])
        parts = dict(zip(DRAWN, np.split(order, bounds)[:-1], strict=True))
        outside = np.concatenate([parts[name] for name in self.database_without])
        parts["database"] = np.setdiff1d(np.arange(n_items), outside)
        if parts["database"].size == 0:
            raise ProtocolError(f"the database is empty: {asked} = {sum(sizes.values())} takes all {n_items} items")
        return {name: np.sort(part) for name, part in parts.items()}


def _balanced_order(n_items: int, y: NDArray | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order of the items in which any stretch holds every class equally often, within one.

    Items are dealt in rounds, one of each class, the classes always in the same random order: a stretch of a periodic
    sequence holds each of its values equally often, within one. A class that runs out drops out of the later rounds.
    """
    order = rng.permutation(n_items)
    if y is None:
        return order
    classes = labels(y, n_items)
    if classes.ndim == 2:
        return order
    names, code, count = np.unique(classes[order], return_inverse=True, return_counts=True)
    by_class = np.argsort(code, kind="stable")
    starts = np.cumsum(count) - count
    turn = np.empty(n_items, dtype=np.int64)
    turn[by_class] = np.arange(n_items) - np.repeat(starts, count)
    return order[np.lexsort((rng.permutation(len(names))[code], turn))]
