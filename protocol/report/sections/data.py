"""The data and its splits: the training set, held-out items, classes, findings of the audit, and near-duplicates."""

from typing import Any

from protocol.checks import counted
from protocol.provenance.storage import grouped
from protocol.report.figure import ABSENT, Section, between, listed, number
from protocol.report.layout import WORDS, counts_of, layouts
from protocol.report.results import Results
from protocol.report.sections.images import contact_sheet
from protocol.scores.summary import PLACE
from protocol.scores.tables import Table

_WITHOUT = "Without the queries that have a near-duplicate"


def partitions_section(results: Results) -> Section:
    """Return the layout of each split, the sizes of its partitions, the audit's findings, and some images."""
    figures = layouts(results.splits, len(results.items["ids"]))
    tables = [_sizes(results), *_findings(results.findings)]
    text = [
        *_official(results),
        *_plans(results),
        *_validation(results),
        *_classes(results),
        _audited(results.findings),
    ]
    return Section(
        "partitions", "Data and splits", text, figures, tables, template="partitions.html.j2", context=_images(results)
    )


def _official(results: Results) -> list[str]:
    """Return a sentence on the sizes of the dataset's official parts, if it has any."""
    parts = grouped(results.items).get("partitions", {})
    sizes = ", ".join(f"{name} {len(rows):,}" for name, rows in parts.items())
    return [f"Official parts of the dataset: {sizes}."] if parts else []


def _plans(results: Results) -> list[str]:
    """Return a sentence on the number of hashers and runs of each feature, if they differ."""
    groups = results.plain.groupby("feature", sort=False)
    plans = {name: f"{counted(rows['hasher'].nunique(), 'hasher')}, {_runs(rows['n_runs'])}" for name, rows in groups}
    if len(set(plans.values())) == 1:
        return []
    return [
        f"The features differ in their numbers of hashers and runs: {'; '.join(f'{n}: {p}' for n, p in plans.items())}."
    ]


def _runs(n_runs: Any) -> str:
    return f"{between(n_runs)} run{'s' if max(n_runs) > 1 else ''}"


def _validation(results: Results) -> list[str]:
    """Return a sentence on the validation partitions, if there are any."""
    sizes = [
        sum(len(rows) for name, rows in parts.items() if "validation" in name) for parts in results.splits.values()
    ]
    if not any(sizes):
        return []
    use = (
        "Options were selected with them; no hasher was trained on them."
        if results.selection is not None
        else "This experiment selects no options, so they were not used: no hasher was trained on them."
    )
    return [f"{between(sizes)} items are set aside for validation. {use}"]


def _classes(results: Results) -> list[str]:
    """Return the number of items of a class in the partitions of each split."""
    if "labels" not in results.items:
        return []
    texts: dict[str, list[str]] = {}
    for name, parts in results.splits.items():
        counts = counts_of(parts, results.items["labels"])
        n_classes = len(counts.pop("class"))
        sizes = ", ".join(f"{WORDS[part]} {between(own)}" for part, own in counts.items())
        texts.setdefault(f"Items of each of the {n_classes} classes: {sizes}", []).append(name)
    return [f"{text} ({listed(names)} split{'s' if len(names) > 1 else ''})." for text, names in texts.items()]


def _sizes(results: Results) -> Table:
    names = list(dict.fromkeys(name for parts in results.splits.values() for name in parts))
    rows = [
        [
            name.replace("_", " "),
            *(f"{len(parts[name]):,}" if name in parts else ABSENT for parts in results.splits.values()),
        ]
        for name in names
    ]
    return Table("partitions", "Items in each partition, run 0.", ["partition", *results.splits], rows, folded=True)


def _audited(findings: Any) -> str:
    if findings.empty:
        return "The audit of the splits and models found nothing."
    numbers = {str(severity): int(n) for severity, n in findings.groupby("severity").size().items()}
    parts = [f"{n} for information" if it == "information" else counted(n, it) for it, n in numbers.items()]
    return f"The audit found {listed(parts)}; an overlap that a split protocol declares is a warning, not an error."


def _findings(findings: Any) -> list[Table]:
    """Return a table with a row for each kind of finding; none if there are no findings."""
    if findings.empty:
        return []
    columns = [name for name in ("severity", "finding", "consequence", "fix", "treatment") if name in findings]
    groups = findings.fillna("").groupby(columns, sort=True).agg(files=("file", "size"), most=("count", "max"))
    kinds = groups.reset_index().to_dict("records")
    rows = [[*(kind[name] for name in columns), str(kind["files"]), f"{kind['most']:,}"] for kind in kinds]
    header = [*columns, "files", "items at most"]
    caption = "Findings of the audit by kind: the number of files, and the largest number of items in one of them."
    return [Table("findings", caption, header, rows, n_labels=len(columns), folded=True)]


def _images(results: Results) -> dict[str, Any]:
    """Return a contact sheet with its caption; the sheet is None if the dataset has no images."""
    if results.images is None:
        return {"sheet": None}
    sheet = contact_sheet(results.images, results.items.get("labels"), results.class_names)
    shown, n_classes = len(sheet.names), len(results.class_names)
    which = (
        "" if not shown else " of each class" if shown == n_classes else f" of the first {shown} of {n_classes} classes"
    )
    return {"sheet": sheet, "caption": f"Sample images{which}, evenly spaced in the order of the dataset."}


def duplicates_section(results: Results) -> Section | None:
    """Return the largest changes of scores and all changes of ranks; None if no judged pairs are known."""
    if results.duplicates is None:
        return None
    table = results.ordered(results.duplicates)
    own = table[table["metric"] == results.metric]
    if own.empty:
        return None
    groups = own.groupby(list(PLACE), sort=False)
    rows = [[*key, *_change(of_place)] for key, of_place in groups]
    header = [*(name.replace("_", " ") for name in PLACE), "queries left out", "largest change", "of", "ranks changed"]
    caption = (
        f"The largest change of {results.metric} (mean over the runs) among hashers and code lengths: the value "
        "without the queries that have a judged near-duplicate in the database or the training set, minus the value "
        "of all queries. Ranks compare the hashers at one code length."
    )
    return Section(
        "duplicates",
        _WITHOUT,
        [_changes(results.metric, own), _by_other_metrics(results.metric, table)],
        tables=[Table("duplicates", caption, header, rows, n_labels=len(PLACE))],
    )


def _change(own: Any) -> list[str]:
    largest = _largest(own)
    return [
        f"{own['n_affected'].mean():.4g} of {own['n_queries'].mean():,.4g}",
        ABSENT if largest is None else f"{largest['difference']:+.2g}",
        ABSENT if largest is None else f"{largest['hasher']}, {largest['n_bits']} bits",
        "; ".join(_moves(own)) or "none",
    ]


def _largest(own: Any) -> Any:
    """Return the row with the largest change; None if no change is defined."""
    sizes = own["difference"].abs()
    return None if sizes.isna().all() else own.loc[sizes.idxmax()]


def _changed(table: Any) -> Any:
    """Return the rows whose rank changes without these queries."""
    ranks = table[["rank_all", "rank_without"]].dropna()
    return table.loc[ranks.index[ranks["rank_all"] != ranks["rank_without"]]]


def _moves(own: Any) -> list[str]:
    return [
        f"{row.hasher}, {row.n_bits} bits: {int(row.rank_all)} to {int(row.rank_without)}"
        for row in _changed(own).itertuples()
    ]


def _changes(metric: str, own: Any) -> str:
    """Return in words whether any hasher's score or rank changes."""
    largest, n_moves = _largest(own), len(_changed(own))
    if largest is None:
        return f"{metric} is undefined for every hasher."
    place = ", ".join(str(largest[name]) for name in PLACE)
    ranks = (
        "no hasher changes its rank"
        if not n_moves
        else f"{counted(n_moves, 'rank')} of {len(own):,} change{'s' if n_moves == 1 else ''}"
    )
    return (
        "Some queries have a near-duplicate in the database or in the training set, according to pairs that people "
        f"judged (findings known-near-duplicate of the audit). Without them, {metric} changes by at most "
        f"{number(abs(largest['difference']))} ({largest['hasher']}, {largest['n_bits']} bits; {place}: from "
        f"{number(largest['all_queries'])} to {number(largest['without'])}), and {ranks}."
    )


def _by_other_metrics(metric: str, table: Any) -> str:
    others = table[table["metric"] != metric]
    if others.empty:
        return "Every number is in duplicates.csv."
    changed = _changed(others)
    names = ", ".join(dict.fromkeys(changed["metric"]))
    ranks = f"{len(changed):,} of {len(others):,} ranks change ({names})" if len(changed) else "no rank changes"
    return f"By the other metrics {ranks}. Every number is in duplicates.csv."
