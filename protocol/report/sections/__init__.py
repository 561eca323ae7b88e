"""The sections of the report, one file for each."""

from protocol.report.figure import Section
from protocol.report.naming import named
from protocol.report.results import Results
from protocol.report.sections import (
    answer,
    claims,
    curves,
    duplicates,
    extensions,
    lookups,
    loss,
    meanings,
    options,
    partitions,
    provenance,
    published,
    retrieved,
    splits_compared,
    ties,
    time_spent,
)
from protocol.report.sections.answer import experiment_line

ORDER = (
    answer,
    loss,
    curves,
    splits_compared,
    ties,
    lookups,
    retrieved,
    extensions,
    published,
    claims,
    options,
    duplicates,
    partitions,
    time_spent,
    meanings,
    provenance,
)
_PAPERS = ORDER.index(published)
_AS_CONFIGURED = (published, claims, provenance)  # these sections use the names of the config file
_FOLLOWING = (answer, loss, curves, splits_compared, ties, lookups, retrieved, extensions)
"""The sections that describe the reader's selection; the others describe the whole experiment."""

__all__ = ["ORDER", "experiment_line", "of_selections", "sections"]


def sections(results: Results) -> list[Section]:
    """Return the sections that apply to the experiment, in the order of the page."""
    shown = named(results)
    made = (module.section(results if module in _AS_CONFIGURED else shown) for module in ORDER)
    return [section for section in made if section is not None]


def of_selections(results: Results, figures_of_papers: Section | None = None) -> list[list[Section]]:
    """Return the sections for each of `Results.selections`; the figures of papers stand above published numbers."""
    shown = named(results)
    default = {module: module.section(results if module in _AS_CONFIGURED else shown) for module in ORDER}
    pages = []
    for selection in shown.selections:
        selected = shown.select(selection)
        own = default | {module: module.section(selected) for module in _FOLLOWING}
        before, after = (list(map(own.get, part)) for part in (ORDER[:_PAPERS], ORDER[_PAPERS:]))
        pages.append([section for section in (*before, figures_of_papers, *after) if section is not None])
    return pages
