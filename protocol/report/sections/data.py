"""The data and its splits: the training set, held-out items, classes, findings of the audit, and near-duplicates."""

from typing import Any

from protocol.checks import counted
from protocol.provenance.storage import grouped
from protocol.report.description import PAGE
from protocol.report.figure import ABSENT, Figure, Section, listed
from protocol.report.layout import WORDS, counts_of, layouts
from protocol.report.results import Results
from protocol.report.sections.conventions import difference_figure, paired
from protocol.report.sections.images import contact_sheet
from protocol.scores.statistics import CORRECTED
from protocol.scores.summary import PLACE
from protocol.scores.tables import Table


def partitions_section(results: Results) -> Section:
    """Return the layout of each split, the sizes of its partitions, the audit's findings, and some images."""
    figures = layouts(results.splits, len(results.items["ids"]))
    findings = results.findings
    splits = results.splits.values()
    sizes = [
        [name.replace("_", " "), *(f"{len(parts[name]):,}" if name in parts else ABSENT for parts in splits)]
        for name in dict.fromkeys(name for parts in splits for name in parts)
    ]
    tables = [PAGE.table("partitions", sizes, header=["partition", *results.splits])]
    tables += [] if findings.empty else [_findings(findings)]
    numbers = findings.groupby("severity").size().items()
    kinds = [f"{n} for information" if kind == "information" else counted(n, kind) for kind, n in numbers]
    audited = PAGE.text("findings", parts=kinds) if kinds else PAGE.text("no-findings")
    text = [*_official(results), *_plans(results), *_validation(results), *_classes(results), audited]
    return PAGE.section("partitions", text, figures, tables, context=_images(results))


def _official(results: Results) -> list[str]:
    """Return a sentence on the sizes of the dataset's official parts, if it has any."""
    parts = grouped(results.items).get("partitions", {})
    return [PAGE.text("official", parts=parts)] if parts else []


def _plans(results: Results) -> list[str]:
    """Return a sentence on the number of hashers and runs of each feature, if they differ."""
    groups = results.plain.groupby("feature", sort=False)
    plans = {name: (rows["hasher"].nunique(), sorted(set(rows["n_runs"]))) for name, rows in groups}
    different = {(n_hashers, n_runs[0], n_runs[-1]) for n_hashers, n_runs in plans.values()}
    return [PAGE.text("plans", plans=plans)] if len(different) > 1 else []


def _validation(results: Results) -> list[str]:
    """Return a sentence on the validation partitions, if there are any."""
    sizes = [
        sum(len(rows) for name, rows in parts.items() if "validation" in name) for parts in results.splits.values()
    ]
    return [PAGE.text("validation", results=results, sizes=sizes)] if any(sizes) else []


def _classes(results: Results) -> list[str]:
    """Return the number of items of a class in the partitions of each split."""
    if "labels" not in results.items:
        return []
    texts: dict[str, list[str]] = {}
    for split, parts in results.splits.items():
        counts = counts_of(parts, results.items["labels"])
        n_classes = len(counts.pop("class"))
        sizes = {WORDS[part]: own for part, own in counts.items()}
        texts.setdefault(PAGE.text("classes", n_classes=n_classes, counts=sizes), []).append(split)
    return [f"{text} ({listed(names)} split{'s' if len(names) > 1 else ''})." for text, names in texts.items()]


def _findings(findings: Any) -> Table:
    """Return a table with a row for each kind of finding."""
    columns = [name for name in ("severity", "finding", "consequence", "fix", "treatment") if name in findings]
    groups = findings.fillna("").groupby(columns, sort=True).agg(files=("file", "size"), most=("count", "max"))
    rows = [[*kind, str(files), f"{most:,}"] for *kind, files, most in groups.reset_index().itertuples(index=False)]
    return PAGE.table("findings", rows, header=[*columns, "files", "items at most"], n_labels=len(columns))


def _images(results: Results) -> dict[str, Any]:
    """Return a contact sheet with its caption; the sheet is None if the dataset has no images."""
    if results.images is None:
        return {"sheet": None}
    sheet = contact_sheet(results.images, results.items.get("labels"), results.class_names)
    return {
        "sheet": sheet,
        "caption": PAGE.text("sheet", n_shown=len(sheet.names), n_classes=len(results.class_names)),
    }


def duplicates_section(results: Results) -> Section | None:
    """Return the largest changes of scores and all changes of ranks; None if no judged pairs are known."""
    if results.duplicates is None:
        return None
    table = results.ordered(results.duplicates)
    is_main = table["metric"] == results.metric
    rows, others = table[is_main], table[~is_main]
    if rows.empty:
        return None
    cells = [
        dict(zip(PLACE, key, strict=True))
        | {"n_affected": own["n_affected"].mean(), "n_queries": own["n_queries"].mean()}
        | {"largest": _largest(own), "moves": _changed(own).to_dict("records")}
        for key, own in rows.groupby(list(PLACE), sort=False)
    ]
    largest, changed = _largest(rows), _changed(others)
    values = {"metric": results.metric, "n": len(rows), "moves": len(_changed(rows)), "largest": largest}
    text = [
        PAGE.text("duplicates-undefined", metric=results.metric)
        if largest is None
        else PAGE.text("duplicates", **values, place=", ".join(str(largest[name]) for name in PLACE)),
        PAGE.text("duplicates-others", n=len(others), moves=len(changed), metrics=dict.fromkeys(changed["metric"])),
    ]
    figures = [_differences(results, table)] if largest is not None else []
    return PAGE.section("duplicates", text, figures, [PAGE.table("duplicates", cells, metric=results.metric)])


def _differences(results: Results, table: Any) -> Figure:
    """Return the figure of the paired differences between the scores without these queries and those of all."""
    shared = table["split"].map(results.shared)
    rows = paired(table, table["difference_std"], table["n_runs"], shared).dropna(subset="difference")
    rows = rows.rename(columns={"all_queries": "value", "without": "value_versus"}).assign(versus="all queries")
    columns = ["metric", *PLACE, "n_bits", "hasher", "value", "value_versus", "difference", "low", "high", "versus"]
    sentences = {metric: PAGE.text("duplicate-differences", metric=metric, test=CORRECTED) for metric in rows["metric"]}
    difference, rows = "without these queries minus all", results.by_metric(rows[columns])
    return difference_figure("duplicate-differences", results, rows, results.combination, difference, sentences)


def _largest(rows: Any) -> Any:
    """Return the row with the largest change; None if no change is defined."""
    sizes = rows["difference"].abs()
    return None if sizes.isna().all() else rows.loc[sizes.idxmax()]


def _changed(rows: Any) -> Any:
    """Return the rows whose rank changes without these queries."""
    ranks = rows[["rank_all", "rank_without"]].dropna()
    return rows.loc[ranks.index[ranks["rank_all"] != ranks["rank_without"]]]
