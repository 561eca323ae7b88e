"""Figures and tables of the papers, drawn from our results: ``figures.yaml`` declares each, named as in its paper.

Each is drawn by a function of `KINDS`, which takes `FigureData` and returns `Drawn`: the figures and tables that the
results allow, and the missing results. Values that are in neither `protocol.report.examples` nor the summary tables
have to be added there first.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from protocol.checks import need
from protocol.papers.figure_data import FigureData
from protocol.papers.layout import Drawn
from protocol.papers.mlgap import figures as mlgap
from protocol.papers.ramap import figures as ramap
from protocol.papers.talr import figures as talr
from protocol.papers.thesis import figures as thesis
from protocol.report.figure import Section
from protocol.report.results import Results

__all__ = ["DRAWINGS", "Drawn", "FigureData", "section"]

KINDS: Mapping[str, Callable[..., Drawn]] = MappingProxyType(
    {
        "by_radius": ramap.by_radius,
        "code_histograms": mlgap.code_histograms,
        "objectives": mlgap.objectives,
        "scores": talr.scores,
        "ranges": talr.ranges,
        "by_alpha": talr.by_alpha,
        "precision_recall": thesis.precision_recall,
    }
)
"""The functions that draw, by the key ``kind`` of ``figures.yaml``; the other keys of an entry are their arguments."""
PACKAGE_DATA = "figures.yaml"
"""The file that is read here, for `protocol.provenance.sources`."""


_ENTRIES = need("yaml", "report").safe_load(Path(__file__).with_name(PACKAGE_DATA).read_bytes())
DRAWINGS: Mapping[str, Callable[[FigureData], Drawn]] = MappingProxyType(
    {name: functools.partial(KINDS[entry.pop("kind")], name=name, **entry) for name, entry in _ENTRIES.items()}
)
"""The functions that draw each figure and table, by its name."""

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
