"""Drawing items so that the classes come equally often."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, need


def balanced_order(n_items: int, classes: NDArray | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order of the items in which any stretch holds every class equally often, within one.

    Items are dealt in rounds, one of each class, the classes always in the same random order: a stretch of a periodic
    sequence holds each of its values equally often, within one. A class that runs out drops out of the later rounds.
    Where items have several labels, or none, the order is random only.
    """
    order = rng.permutation(n_items)
    if classes is None or classes.ndim == 2:
        return order
    names, code, count = np.unique(classes[order], return_inverse=True, return_counts=True)
    by_class = np.argsort(code, kind="stable")
    starts = np.cumsum(count) - count
    turn = np.empty(n_items, dtype=np.int64)
    turn[by_class] = np.arange(n_items) - np.repeat(starts, count)
    return order[np.lexsort((rng.permutation(len(names))[code], turn))]


def drawn_of_each_class(classes: NDArray, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `number` items for each class, none for two of them.

    Class after class takes some of its items that no class before has taken: the first, or, where items have several
    labels, a random choice. With one order for all classes the items that come first would be taken by the first of
    their classes, and the later classes would get items with few labels. Where the choice leaves a later class too few,
    though another choice would not, it is made again as a flow from classes to items.

    Parameters
    ----------
    classes : ndarray of int, shape (n_items,), or of bool, shape (n_items, n_classes)
        In a random order.
    number : int
    rng : Generator
        Used where items have several labels.

    Returns
    -------
    ndarray of int64, shape (n_classes, number)
        Places in `classes`.

    Raises
    ------
    ProtocolError
        If there is no such choice.
    """
    members = classes if classes.ndim == 2 else classes[:, None] == np.unique(classes)
    free = np.ones(len(members), dtype=bool)
    found = np.empty((members.shape[1], number), dtype=np.int64)
    for column in range(members.shape[1]):
        places = np.flatnonzero(members[:, column] & free)
        places = (rng.permutation(places) if classes.ndim == 2 else places)[:number]
        if len(places) < number:
            return _drawn_by_flow(members, number)
        free[places] = False
        found[column] = places
    return found


def _drawn_by_flow(members: NDArray[np.bool_], number: int) -> NDArray[np.int64]:
    """Return what `drawn_of_each_class` does, wherever there is such a choice: a flow that serves all classes."""
    sparse, maximum_flow = need("scipy.sparse", "report"), need("scipy.sparse.csgraph", "report").maximum_flow
    n_items, n_classes = members.shape
    place, column = np.nonzero(members)
    # A source feeds each class with `number`, each class its items, each item passes 1 on to a sink.
    source, sink = n_classes + n_items, n_classes + n_items + 1
    start = np.concatenate([np.full(n_classes, source), column, n_classes + np.arange(n_items)])
    end = np.concatenate([np.arange(n_classes), n_classes + place, np.full(n_items, sink)])
    capacity = np.ones(len(start), dtype=np.int32)
    capacity[:n_classes] = number
    graph = sparse.csr_array((capacity, (start, end)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink)
    used = flow.flow[:n_classes, n_classes:source].toarray() > 0
    served = used.sum(axis=1)
    if flow.flow_value < n_classes * number:
        short = int(served.argmin())
        raise ProtocolError(
            f"the split draws {number} items for each class, none for two of them, but class {short} of {n_classes} "
            f"is left with {served[short]} of its {members[:, short].sum()}"
        )
    return np.nonzero(used)[1].reshape(n_classes, number)
