"""Report: tables, figures and one page from a setting's results."""

from protocol.report.page import page
from protocol.report.tables import collect, summarise, write_table

__all__ = ["collect", "page", "summarise", "write_table"]
