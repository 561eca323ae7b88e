"""Evidence that would confirm, and that would refute, every claim about data; a module for each paper."""

from evidence import evaluation_metrics, mlgap, ramap, talr, thesis
from evidence.case import SUMMARY, USUAL, Case, Row, judged, rows_of, write

CASES: dict[str, Case] = mlgap.CASES | evaluation_metrics.CASES | ramap.CASES | talr.CASES | thesis.CASES

__all__ = ["CASES", "SUMMARY", "USUAL", "Case", "Row", "judged", "rows_of", "write"]
