"""How the data were split: where the partitions lie, their sizes and classes, and what the audit found."""

from typing import Any

from protocol.checks import counted
from protocol.report.figure import ABSENT, Section, Table
from protocol.report.layout import class_balances, layouts
from protocol.report.results import Results


def section(results: Results) -> Section:
    """Return the layout and the classes of each split, the sizes of its partitions, and findings of a kind in a row."""
    names = list(dict.fromkeys(name for parts in results.splits.values() for name in parts))
    rows = [
        [
            name.replace("_", " "),
            *(f"{len(parts[name]):,}" if name in parts else ABSENT for parts in results.splits.values()),
        ]
        for name in names
    ]
    tables = [Table("partitions", "Items in each partition, run 0.", ["partition", *results.splits], rows)]
    figures, found = layouts(results.splits, len(results.items["ids"])), results.findings
    if "labels" in results.items:
        figures += class_balances(results.splits, results.items["labels"], results.class_names)
    text = "The audit found nothing."
    if not found.empty:
        tables.append(_findings(found))
        numbers = {str(severity): int(n) for severity, n in found.groupby("severity").size().items()}
        said = ", ".join(f"{n} for information" if it == "information" else counted(n, it) for it, n in numbers.items())
        text = (
            f"The audit of every run found: {said}. An overlap that a split protocol declares is a warning, no error."
        )
    return Section("partitions", "How the data were split", [text], figures, tables)


def _findings(found: Any) -> Table:
    columns = [name for name in ("severity", "finding", "consequence", "fix", "treatment") if name in found]
    groups = found.fillna("").groupby(columns, sort=True).agg(files=("file", "size"), most=("count", "max"))
    kinds = groups.reset_index().to_dict("records")
    rows = [[*(kind[name] for name in columns), str(kind["files"]), f"{kind['most']:,}"] for kind in kinds]
    header = [*columns, "files", "items at the most"]
    caption = "What the audit found, findings of a kind in one row: in how many files, and how many items in one."
    return Table("findings", caption, header, rows, n_labels=len(columns))
