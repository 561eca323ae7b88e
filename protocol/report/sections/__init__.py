"""The sections of the report, in the order of the page; those that need little are here.

These are selected options, definitions, the papers' scores and claims, and provenance.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from protocol import registry
from protocol.report.figure import PAGE, DataFrame, Section
from protocol.report.results import Results
from protocol.report.sections.answer import answer_section
from protocol.report.sections.conventions import conventions_section, splits_compared_section
from protocol.report.sections.curves import binarisation_section, curves_section
from protocol.report.sections.data import duplicates_section, partitions_section, retrieved_section
from protocol.scores.metadata import options_of
from protocol.scores.statistics import CONFIDENCE, CORRECTED, family
from protocol.scores.summary import at

_ON = ["dataset", "feature", "ground_truth", "split", "hasher", "metric", "n_bits"]
_OPEN = ("refuted", "not replicated")


def published_section(results: Results) -> Section | None:
    """Return the published scores whose combination was run, with the differences; None if there are none."""
    if results.published is None or (both := results.published.merge(results.plain, on=_ON)).empty:
        return None
    both = both.assign(gap=both["mean"] - both["value"])
    sizes = both["gap"].abs()
    text = PAGE.text("published", n=len(both), near=int((sizes < 0.01).sum()), farthest=both.loc[sizes.idxmax()])
    return PAGE.section("published", [text], tables=[PAGE.table("published", both.to_dict("records"))])


def claims_section(results: Results) -> Section | None:
    """Return the claims by status, with those that do not hold first and unfolded; None if none was checked."""
    if not results.claims:
        return None
    by_status: dict[str, list[Mapping[str, Any]]] = {status: [] for status in _OPEN}
    for claim in results.claims:
        by_status.setdefault(claim["status"], []).append(claim)
    by_status = {status: claims for status, claims in by_status.items() if claims}
    text = PAGE.text("claims", n=len(results.claims), by_status=by_status)
    return PAGE.section("claims", [text], context={"by_status": by_status, "open": _OPEN})


def options_section(results: Results) -> Section | None:
    """Return the selected options, how often each was selected, and the gain; None if no options were selected."""
    if results.selection is None:
        return None
    rows = list(choices(results.selection))
    text = PAGE.text("options", metric=rows[0]["metric"], edges=list(at_edges(results.selection)))
    return PAGE.section("options", [text], tables=[PAGE.table("options", rows)])


def choices(selection: DataFrame) -> Iterator[dict[str, Any]]:
    """Yield one row per feature, draw, hasher and code length.

    Parameters
    ----------
    selection : DataFrame
        As `protocol.hashers.selection.write_table` writes it.

    Yields
    ------
    dict
        The combination (``feature``, ``sample``, ``hasher``, ``n_bits``) and the criterion (``ground_truth``,
        ``metric``); ``chosen``: pairs of options and the number of runs that chose them, the most frequent first; and
        mean scores over the runs: ``best``, and ``default``, which is NaN if the grid lacks the default.
    """
    combination = ["feature", "sample", "hasher", "n_bits", "ground_truth", "metric"]
    for key, trained in selection.groupby(combination, sort=True):
        best, default = at(trained, chosen=True), at(trained, default=True)["score"].mean()
        values = (*key, best["score"].mean(), default, Counter(best["options"]).most_common())
        yield dict(zip((*combination, "best", "default", "chosen"), values, strict=True))


def at_edges(selection: DataFrame) -> Iterator[str]:
    """Yield the options that some run chose at an end of a grid of three or more numbers, as ``HASHER (OPTION)``."""
    import pandas as pd

    for hasher, rows in selection.assign(options=selection["options"].map(options_of)).groupby("hasher", sort=True):
        for option in rows["options"].iloc[0]:
            values = pd.to_numeric(rows["options"].str.get(option), errors="coerce")  # NaN for a word
            is_end = values[rows["chosen"]].isin([values.min(), values.max()])
            if values.nunique() > 2 and is_end.any():
                yield f"{hasher} ({option})"


def meanings_section(results: Results) -> Section:
    """Return what the intervals mean, and the metrics with their denominators and undefined values, by their ties."""
    text = [PAGE.text("meanings", undefined=results.config["undefined"])]
    if results.plain["n_runs"].max() > 1:
        shared = results.runs_share(results.plain["split"].unique())
        words = {"confidence": CONFIDENCE, "test": CORRECTED, "family": family(), "one_dataset": shared}
        text.append(PAGE.text("tested", **words))
    by_ties: dict[str, list[Any]] = {}
    for entry in dict.fromkeys(map(registry.METRICS.entry, results.config["metrics"])):
        by_ties.setdefault(entry.ties, []).append(entry)
    return PAGE.section("meanings", text, context={"by_ties": by_ties})


def provenance_section(results: Results) -> Section:
    """Return the notes on the data, the versions, and the configuration as a file that runs the experiment again."""
    import yaml

    several = {library: sorted(of.items()) for library, of in sorted(results.libraries.items()) if len(of) > 1}
    mixed = [PAGE.text("mixed", library=library, versions=versions) for library, versions in several.items()]
    keys = {key: value for key, value in results.config.items() if key != "names"}
    config = yaml.safe_dump(keys, sort_keys=False, allow_unicode=True, default_flow_style=None)
    context = {"config": config, "versions": results.provenance["versions"]}
    records = PAGE.text("provenance", experiment=results.config["experiment"], seed=results.config["seed"])
    return PAGE.section("provenance", [*results.provenance["notes"], records, *mixed], context=context)


ORDER: tuple[Callable[[Results], Section | None], ...] = (
    *(binarisation_section, curves_section, splits_compared_section, conventions_section, retrieved_section),
    *(published_section, claims_section, options_section, duplicates_section, partitions_section),
    *(meanings_section, provenance_section),
)
"""The sections that describe the whole experiment; above them, the answer describes the reader's selection."""


def sections(results: Results) -> list[list[Section]]:
    """Return the sections that apply to the experiment for each selection, in the order of the page."""
    shared = [section for make in ORDER if (section := make(results)) is not None]
    return [[answer_section(results, selection), *shared] for selection in results.selections]
