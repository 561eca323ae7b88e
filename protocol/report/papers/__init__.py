"""Figures and tables of the papers, drawn from our results: a function for each, named as in its paper.

A function takes `Evidence` and returns `Drawn`: the figures and tables that the results allow, and the missing results.
Values that are in neither `protocol.report.display` nor the summary tables have to be added there first.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from protocol.report.papers._drawn import Drawn
from protocol.report.papers.evidence import Evidence
from protocol.report.papers.mlgap import mlgap_figure_1, mlgap_figure_8, mlgap_table_1
from protocol.report.papers.ramap import ramap_figure_4, ramap_figure_5, ramap_figure_6, ramap_figure_7
from protocol.report.papers.talr import talr_alpha, talr_figure_3, talr_table_1, talr_table_2, talr_table_3
from protocol.report.papers.thesis import thesis_figure_3_8

DRAWINGS: Mapping[str, Callable[[Evidence], Drawn]] = MappingProxyType(
    {
        function.__name__: function
        for function in (
            ramap_figure_4,
            ramap_figure_5,
            ramap_figure_6,
            ramap_figure_7,
            mlgap_figure_1,
            mlgap_table_1,
            mlgap_figure_8,
            talr_table_1,
            talr_table_2,
            talr_table_3,
            talr_figure_3,
            talr_alpha,
            thesis_figure_3_8,
        )
    }
)
"""The functions by name."""

OWN_HASHERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ramap": ("m_dsh",),
        "mlgap": ("buffer_zone",),
        "talr": ("talr_ap", "talr_ndcg"),
        "thesis": ("grh",),
    }
)
"""By paper, the hashers that only an experiment about the paper has: its report draws the paper's figures."""

__all__ = ["DRAWINGS", "OWN_HASHERS", "Drawn", "Evidence"]
