"""Figures and tables of the papers, drawn from our results: a function for each, named as in its paper.

A function takes `FigureData` and returns `Drawn`: the figures and tables that the results allow, and the missing
results. Values that are in neither `protocol.report.display` nor the summary tables have to be added there first.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from protocol.papers.figure_data import FigureData
from protocol.papers.layout import Drawn
from protocol.papers.mlgap.figures import mlgap_figure_1, mlgap_figure_8, mlgap_table_1
from protocol.papers.ramap.figures import ramap_figure_4, ramap_figure_5, ramap_figure_6, ramap_figure_7
from protocol.papers.talr.figures import talr_alpha, talr_figure_3, talr_table_1, talr_table_2, talr_table_3
from protocol.papers.thesis.figures import thesis_figure_3_8
from protocol.report.figure import Section
from protocol.report.results import Results

__all__ = ["DRAWINGS", "Drawn", "FigureData", "section"]

_RAMAP = (ramap_figure_4, ramap_figure_5, ramap_figure_6, ramap_figure_7)
_MLGAP = (mlgap_figure_1, mlgap_table_1, mlgap_figure_8)
_TALR = (talr_table_1, talr_table_2, talr_table_3, talr_figure_3, talr_alpha)
DRAWINGS: Mapping[str, Callable[[FigureData], Drawn]] = MappingProxyType(
    {one.__name__: one for one in (*_RAMAP, *_MLGAP, *_TALR, thesis_figure_3_8)}
)
"""The functions by name."""

_OWN_HASHERS = {"ramap": {"m_dsh"}, "mlgap": {"buffer_zone"}, "talr": {"talr_ap", "talr_ndcg"}, "thesis": {"grh"}}
"""By paper, the hashers that only an experiment about the paper has: its report draws the paper's figures."""


def section(results: Results) -> Section | None:
    """Return figures and tables of the papers whose hashers a reproduction has; None where there are none."""
    if not results.config["reproduction"]:
        return None
    data = FigureData.of_experiment(results)
    papers = [paper for paper, hashers in _OWN_HASHERS.items() if hashers & set(data.summary["plugin"])]
    drawn = [function(data) for name, function in DRAWINGS.items() if name.split("_")[0] in papers]
    figures = [figure for one in drawn for figure in one.figures]
    tables = [table for one in drawn for table in one.tables]
    if not figures and not tables:
        return None
    text = (
        "Figures and tables of the papers, drawn from the results of this experiment. The command `protocol "
        "paper-figures` draws figures from several experiments, and lists missing results."
    )
    return Section("figures-of-papers", "Figures of the papers", [text], figures, tables)
