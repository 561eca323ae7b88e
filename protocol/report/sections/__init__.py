"""The sections of the report, in the order of the page."""

from collections.abc import Callable

from protocol.report.figure import Section
from protocol.report.results import Results, named
from protocol.report.sections.answer import answer_section, experiment_line
from protocol.report.sections.binarisation import binarisation_section
from protocol.report.sections.conventions import conventions_section, splits_compared_section
from protocol.report.sections.curves import appendix_section, curves_section, extensions_section
from protocol.report.sections.data import duplicates_section, partitions_section
from protocol.report.sections.experiment import (
    claims_section,
    meanings_section,
    options_section,
    provenance_section,
    published_section,
)
from protocol.report.sections.images import retrieved_section

__all__ = ["ORDER", "experiment_line", "of_selections", "sections"]

_FOLLOWING = (
    *(answer_section, binarisation_section, curves_section, splits_compared_section),
    *(conventions_section, retrieved_section, extensions_section, appendix_section),
)
"""The sections that describe the reader's selection; the others describe the whole experiment."""
_AS_CONFIGURED = (published_section, claims_section, provenance_section)
"""The sections that use the names of the config file; the others use the display names."""
ORDER = (
    *_FOLLOWING[:-1],
    *(published_section, claims_section, options_section, duplicates_section, partitions_section),
    *(meanings_section, appendix_section, provenance_section),
)


def sections(results: Results) -> list[Section]:
    """Return the sections that apply to the experiment, in the order of the page."""
    return of_selections(results, first=True)[0]


def of_selections(
    results: Results, figures_of_papers: Section | None = None, *, first: bool = False
) -> list[list[Section]]:
    """Return the sections for each of `Results.selections`, or for the first alone.

    The figures of papers stand above published numbers.
    """
    shown, pages = named(results), []
    default: dict[Callable[[Results], Section | None], Section | None] = {
        section: section(results if section in _AS_CONFIGURED else shown) for section in ORDER
    }
    for selection in shown.selections[: 1 if first else None]:
        selected = shown.select(selection)
        own = [section(selected) if section in _FOLLOWING else default[section] for section in ORDER]
        own.insert(len(_FOLLOWING) - 1, figures_of_papers)
        pages.append([section for section in own if section is not None])
    return pages
