"""Selection of a hasher's options from a grid, by scores on the validation partitions (Moran 2016, section 3.5)."""

from protocol.selection.grid import COLUMNS, best, described, points, selection_provenance, write_table
from protocol.selection.search import Validation, search

__all__ = ["COLUMNS", "Validation", "best", "described", "points", "search", "selection_provenance", "write_table"]
