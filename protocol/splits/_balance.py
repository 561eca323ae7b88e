"""Draw items so that all classes are equally frequent."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, need


def balanced_order(n_items: int, classes: NDArray | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order of the items in which the class counts of any contiguous range differ by at most one.

    Items are dealt in rounds, one of each class, and the classes follow each other in the same random order in every
    round, because the counts of the values in any range of a periodic sequence differ by at most one. A class without
    remaining items drops out of later rounds. If items have several labels, or none, the order is uniformly random.
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
    """Return `number` items for each class; no item is drawn for two classes.

    One class after another takes items that no earlier class has taken: the first ones, or, if items have several
    labels, a random choice. With one order of the items for all classes, the first items would go to the first of their
    classes, and later classes would get items with few labels. If this choice leaves too few items for a later class
    although another choice would not, the items are assigned again, by a maximum flow from classes to items.

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
    """Return the result of `drawn_of_each_class` by a maximum flow, which finds a choice whenever there is one."""
    sparse, maximum_flow = need("scipy.sparse", "report"), need("scipy.sparse.csgraph", "report").maximum_flow
    n_items, n_classes = members.shape
    place, column = np.nonzero(members)
    # Edges: the source to each class (capacity `number`), each class to its items (1), each item to the sink (1).
    source, sink = n_classes + n_items, n_classes + n_items + 1
    start = np.concatenate([np.full(n_classes, source), column, n_classes + np.arange(n_items)])
    end = np.concatenate([np.arange(n_classes), n_classes + place, np.full(n_items, sink)])
    capacity = np.ones(len(start), dtype=np.int32)
    capacity[:n_classes] = number
    graph = sparse.csr_array((capacity, (start, end)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink)
    used = flow.flow[:n_classes, n_classes:source].toarray() > 0
    n_drawn = used.sum(axis=1)
    if flow.flow_value < n_classes * number:
        short = int(n_drawn.argmin())
        raise ProtocolError(
            f"expected {number} items for each class, none of them drawn for two classes, got "
            f"{n_drawn[short]} for class {short} of {n_classes}, which has {members[:, short].sum()} items."
        )
    return np.nonzero(used)[1].reshape(n_classes, number)
