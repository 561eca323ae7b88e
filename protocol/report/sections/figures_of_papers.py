"""The figures and tables of a paper, in an experiment with the hashers that are the paper's own."""

from protocol.report.figure import Section
from protocol.report.papers import DRAWINGS, OWN_HASHERS, Evidence
from protocol.report.results import Results


def section(results: Results) -> Section | None:
    """Return what can be drawn of the papers that the experiment is about; None if it is about none."""
    evidence = Evidence.of_experiment(results)
    there = set(evidence.summary["plugin"])
    papers = {paper for paper, hashers in OWN_HASHERS.items() if there & set(hashers)}
    drawn = {name: function(evidence) for name, function in DRAWINGS.items() if name.split("_")[0] in papers}
    figures = [figure for one in drawn.values() for figure in one.figures]
    tables = [table for one in drawn.values() for table in one.tables]
    if not figures and not tables:
        return None
    text = (
        "Figures and tables of the papers, from the results of this experiment. A figure of several experiments, and "
        "what each figure lacks: protocol paper-figures."
    )
    return Section("figures-of-papers", "Figures of the papers", [text], figures, tables)
