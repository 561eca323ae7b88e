"""How the data were split: sizes, and what the audit found."""

from typing import Any

from protocol.report.figure import ABSENT, Section, Table, counted
from protocol.report.results import Results


def section(results: Results) -> Section:
    """Return the sizes of the partitions and the findings, one row for findings of a kind."""
    names = list(dict.fromkeys(name for parts in results.splits.values() for name in parts))
    rows = [
        [
            name.replace("_", " "),
            *(f"{len(parts[name]):,}" if name in parts else ABSENT for parts in results.splits.values()),
        ]
        for name in names
    ]
    sizes = Table("partitions", "Items in each partition, run 0.", ["partition", *results.splits], rows)
    found = results.findings
    if found.empty:
        return Section("partitions", "How the data were split", ["The audit found nothing."], tables=[sizes])
    kinds = found.groupby("severity").size()
    said = ", ".join(counted(int(n), str(severity)) for severity, n in kinds.items())
    return Section(
        "partitions",
        "How the data were split",
        [f"The audit of every run found: {said}. An overlap that a split protocol declares is a warning, no error."],
        tables=[sizes, _findings(found)],
    )


def _findings(found: Any) -> Table:
    columns = [name for name in ("severity", "finding", "consequence", "treatment") if name in found]
    groups = found.fillna("").groupby(columns, sort=True).agg(files=("file", "size"), most=("count", "max"))
    kinds = groups.reset_index().to_dict("records")
    rows = [[*(kind[name] for name in columns), str(kind["files"]), f"{kind['most']:,}"] for kind in kinds]
    header = [*columns, "files", "items at the most"]
    caption = "What the audit found, findings of a kind in one row: in how many files, and how many items in one."
    return Table("findings", caption, header, rows, n_labels=len(columns))
