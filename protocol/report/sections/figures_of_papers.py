"""The figures and tables of a paper, in a reproduction with the paper's own hashers."""

from protocol.report.figure import Section
from protocol.report.papers import DRAWINGS, OWN_HASHERS, Evidence
from protocol.report.results import Results


def section(results: Results) -> Section | None:
    """Return figures and tables of the papers whose hashers a reproduction has; None where there are none."""
    if not results.config["reproduction"]:
        return None
    evidence = Evidence.of_experiment(results)
    there = set(evidence.summary["plugin"])
    papers = {paper for paper, hashers in OWN_HASHERS.items() if there & set(hashers)}
    drawn = {name: function(evidence) for name, function in DRAWINGS.items() if name.split("_")[0] in papers}
    figures = [figure for one in drawn.values() for figure in one.figures]
    tables = [table for one in drawn.values() for table in one.tables]
    if not figures and not tables:
        return None
    text = (
        "Figures and tables of the papers, drawn from the results of this experiment. The command `protocol "
        "paper-figures` draws figures from several experiments, and lists missing results."
    )
    return Section("figures-of-papers", "Figures of the papers", [text], figures, tables)
