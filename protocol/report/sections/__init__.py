"""The sections of the report, in the order of the page."""

from collections.abc import Callable

from protocol.report.figure import Section
from protocol.report.results import Results, named
from protocol.report.sections.answer import answer_section, experiment_line
from protocol.report.sections.binarisation import binarisation_section
from protocol.report.sections.conventions import conventions_section, splits_compared_section
from protocol.report.sections.curves import curves_section, lookups_section
from protocol.report.sections.data import duplicates_section, partitions_section
from protocol.report.sections.experiment import (
    claims_section,
    meanings_section,
    options_section,
    provenance_section,
    published_section,
    time_spent_section,
)
from protocol.report.sections.extensions import extensions_section
from protocol.report.sections.images import retrieved_section

_FOLLOWING = (
    *(answer_section, binarisation_section, curves_section, splits_compared_section),
    *(conventions_section, lookups_section, retrieved_section, extensions_section),
)
"""The sections that describe the reader's selection; the others describe the whole experiment."""
_AS_CONFIGURED = (published_section, claims_section, provenance_section)
"""The sections that use the names of the config file; the others use the display names."""
ORDER = (
    *_FOLLOWING,
    *(published_section, claims_section, options_section, duplicates_section),
    *(partitions_section, time_spent_section, meanings_section, provenance_section),
)

__all__ = ["ORDER", "experiment_line", "of_selections", "sections"]


def sections(results: Results) -> list[Section]:
    """Return the sections that apply to the experiment, in the order of the page."""
    return [section for section in _of_default(results, named(results)).values() if section is not None]


def _of_default(results: Results, shown: Results) -> dict[Callable[[Results], Section | None], Section | None]:
    """Return the section of each function for the default selection; `shown` has the display names."""
    return {section: section(results if section in _AS_CONFIGURED else shown) for section in ORDER}


def of_selections(results: Results, figures_of_papers: Section | None = None) -> list[list[Section]]:
    """Return the sections for each of `Results.selections`; the figures of papers stand above published numbers."""
    shown = named(results)
    default, pages = _of_default(results, shown), []
    for selection in shown.selections:
        selected = shown.select(selection)
        own = [*(default | {section: section(selected) for section in _FOLLOWING}).values()]
        own.insert(len(_FOLLOWING), figures_of_papers)
        pages.append([section for section in own if section is not None])
    return pages
