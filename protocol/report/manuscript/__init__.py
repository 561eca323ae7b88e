"""Figures and tables for the user's own manuscript, as the key `paper` of the configuration chooses them.

`protocol.papers` redraws the figures of published papers instead.
"""

from protocol.report.manuscript.content import Content, read_content
from protocol.report.manuscript.figures import paper_figures
from protocol.report.manuscript.files import figure_files, table_files, write_figures, write_tables
from protocol.report.manuscript.tables import paper_tables

__all__ = [
    "Content",
    "figure_files",
    "paper_figures",
    "paper_tables",
    "read_content",
    "table_files",
    "write_figures",
    "write_tables",
]
