"""Figures and tables for the user's own paper, as the key `paper` of the configuration chooses them.

`protocol.papers` draws figures of published papers instead.
"""

from protocol.report.paper.chosen import Chosen, read_chosen
from protocol.report.paper.figures import paper_figures
from protocol.report.paper.files import figure_files, table_files, write_figures, write_tables
from protocol.report.paper.tables import paper_tables

__all__ = [
    "Chosen",
    "figure_files",
    "paper_figures",
    "paper_tables",
    "read_chosen",
    "table_files",
    "write_figures",
    "write_tables",
]
