"""The sections of the report, a file for each."""

import importlib

from protocol.report.figure import Section
from protocol.report.results import Results

ORDER = (
    "headline",
    "by_length",
    "pr_curves",
    "ties",
    "conventions",
    "splits_compared",
    "extensions",
    "lookups",
    "code_use",
    "retrieved",
    "loaded",
    "partitions",
    "options",
    "published",
    "claims",
    "time_spent",
    "meanings",
    "provenance",
)


def sections(results: Results) -> list[Section]:
    """Return every section in the order of the page; one that a setting can't have is left out, or says why."""
    made = (importlib.import_module(f"{__name__}.{name}").section(results) for name in ORDER)
    return [section for section in made if section is not None]
