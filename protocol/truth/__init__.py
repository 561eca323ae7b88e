"""Ground truths: rules that determine which database items are relevant to a query.

A ground truth is a function ``rule(query, database, train, *, seed, ...) -> dict of arrays``. The arrays are either
``query_labels`` and ``database_labels`` (items that share a label are relevant), or ``indptr`` and ``indices`` (the
listed database positions are relevant); never a query x database matrix.
"""

from protocol.truth._items import Items, write_among
from protocol.truth._neighbour_search import (
    DISTANCES,
    TILE,
    Distance,
    Keys,
    Neighbours,
    balanced,
    check_rows,
    nearest,
    neighbours_within,
    pair_distances,
)
