"""The data and its splits: the training set, the held-out items, their classes, and the findings of the audit."""

from typing import Any

from protocol.checks import counted
from protocol.provenance.storage import grouped
from protocol.report.contact_sheet import contact_sheet
from protocol.report.figure import ABSENT, Section, Table, between, listed
from protocol.report.layout import WORDS, counts_of, layouts
from protocol.report.results import Results


def section(results: Results) -> Section:
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


def _audited(found: Any) -> str:
    if found.empty:
        return "The audit of the splits and models found nothing."
    numbers = {str(severity): int(n) for severity, n in found.groupby("severity").size().items()}
    parts = [f"{n} for information" if it == "information" else counted(n, it) for it, n in numbers.items()]
    return f"The audit found {listed(parts)}; an overlap that a split protocol declares is a warning, not an error."


def _findings(found: Any) -> list[Table]:
    """Return a table with a row for each kind of finding; none if there are no findings."""
    if found.empty:
        return []
    columns = [name for name in ("severity", "finding", "consequence", "fix", "treatment") if name in found]
    groups = found.fillna("").groupby(columns, sort=True).agg(files=("file", "size"), most=("count", "max"))
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
