"""The sections of the report, a file for each."""

from protocol.report.figure import Section
from protocol.report.results import Results
from protocol.report.sections import (
    by_length,
    claims,
    code_use,
    conventions,
    duplicates,
    extensions,
    figures_of_papers,
    headline,
    loaded,
    lookups,
    loss,
    meanings,
    options,
    partitions,
    pr_curves,
    provenance,
    published,
    retrieved,
    splits_compared,
    ties,
    time_spent,
)

ORDER = (
    headline,
    loss,
    by_length,
    pr_curves,
    ties,
    conventions,
    splits_compared,
    extensions,
    lookups,
    code_use,
    retrieved,
    loaded,
    partitions,
    duplicates,
    options,
    figures_of_papers,
    published,
    claims,
    time_spent,
    meanings,
    provenance,
)


def sections(results: Results) -> list[Section]:
    """Return every section in the order of the page; one that an experiment can't have is left out, or states why."""
    made = (module.section(results) for module in ORDER)
    return [section for section in made if section is not None]
