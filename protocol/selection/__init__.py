"""Selection: options of a hasher, chosen from a grid on the validation partitions (Moran 2016, section 3.5)."""

from protocol.selection.grid import best, described, points
from protocol.selection.search import Validation, search
from protocol.selection.table import COLUMNS, write_table

__all__ = ["COLUMNS", "Validation", "best", "described", "points", "search", "write_table"]
