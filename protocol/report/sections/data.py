"""The data and its splits: the training set, held-out items, classes, findings of the audit, and near-duplicates."""

from typing import Any, NamedTuple

from protocol import registry
from protocol.checks import counted
from protocol.provenance.storage import grouped
from protocol.report.description import PAGE
from protocol.report.figure import ABSENT, Figure, Section, listed
from protocol.report.layout import WORDS, counts_of, layouts
from protocol.report.results import Results
from protocol.report.sections.conventions import difference_figure, paired
from protocol.scores.metadata import supervision_of
from protocol.scores.statistics import CORRECTED, why_not_shown
from protocol.scores.summary import PLACE, at
from protocol.scores.tables import Table

_OF_FINDINGS = ("severity", "finding", "consequence", "fix", "treatment")
"""The columns by which findings are counted once, in the table and in the status line."""
_IMPLAUSIBLE = 0.15
"""The difference in precision between the nearest and the second nearest item; below 0.05 on digits and CIFAR-10."""


def partitions_section(results: Results) -> Section:
    """Return the layout of each split, the sizes of its partitions, and the audit's findings."""
    figures = layouts(results.splits, len(results.items["ids"]))
    findings = results.findings
    splits = results.splits.values()
    sizes = [
        [name.replace("_", " "), *(f"{len(parts[name]):,}" if name in parts else ABSENT for parts in splits)]
        for name in dict.fromkeys(name for parts in splits for name in parts)
    ]
    tables = [PAGE.table("partitions", sizes, header=["partition", *results.splits])]
    tables += [_trained_on(results)] + ([] if findings.empty else [_findings(findings)])
    numbers = _distinct(findings).groupby("severity").size().items()
    kinds = [counted(n, "informational finding" if kind == "information" else kind) for kind, n in numbers]
    audited = PAGE.text("findings", parts=kinds) if kinds else PAGE.text("no-findings")
    text = [
        *_duplicates_advice(results),
        *_official(results),
        *_plans(results),
        *_validation(results),
        *_classes(results),
        audited,
    ]
    return PAGE.section("partitions", text, figures, tables)


class Status(NamedTuple):
    """A line at the top of the page: a text, the section with its details, and ``error``, ``warning`` or ``fine``."""

    text: str
    section: str
    level: str


def status(results: Results) -> list[Status]:
    """Return what a reader must know first: findings of the audit, undefined scores, and doubtful parts."""
    lines = []
    distinct = _distinct(results.findings)
    for level in ("error", "warning"):
        if n := int((distinct["severity"] == level).sum()):
            lines.append(Status(PAGE.text("status-audit", found=counted(n, level)), "table-findings", level))
    shares = at(results.table["curves"], metric="without_relevant")
    for worst in shares[shares["value"] > 0].nlargest(1, "value").itertuples():
        lines.append(Status(PAGE.text("status-undefined", worst=worst), "answer", "warning"))
    if near := too_near(results):
        lines.append(Status(PAGE.text("status-too-near", **near), "partitions", "warning"))
    if registry.DATASETS.entry(results.config["dataset"]).required:  # own data, of which parts may be missing
        lines += [Status(note, "provenance", "warning") for note in results.provenance["notes"]]
    if any(len(versions) > 1 for versions in results.libraries.values()):
        lines.append(Status(PAGE.text("status-mixed"), "provenance", "warning"))
    return lines or [Status(PAGE.text("status-fine"), "partitions", "fine")]


def _distinct(findings: Any) -> Any:
    """Return the first finding of each row of the table, in which all files with the same finding share a row."""
    return findings.drop_duplicates([name for name in _OF_FINDINGS if name in findings])


def too_near(results: Results) -> dict[str, Any]:
    """Return the precision of the nearest and of the second nearest item, if they differ implausibly; else {}.

    Precision of ordinary data falls slowly with the rank. If queries have copies in the database, only their nearest
    items are relevant more often. The second nearest item has the precision 2 P@2 - P@1.
    """
    rows = at(results.table["curves"], metric="precision")
    precisions = rows.pivot_table(index=[*PLACE, "hasher", "n_bits"], columns="at", values="value")
    if not {1, 2} <= set(precisions):
        return {}
    precisions = precisions.assign(second=2 * precisions[2] - precisions[1])
    best = precisions.loc[(precisions[1] - precisions["second"]).idxmax()]
    if best[1] - best["second"] < _IMPLAUSIBLE:
        return {}
    hasher, n_bits = best.name[-2:]
    return {"first": best[1], "second": best["second"], "hasher": hasher, "n_bits": n_bits}


def _duplicates_advice(results: Results) -> list[str]:
    near = too_near(results)
    if not near:
        return []
    file = next(path for path in results.records if path.endswith("/content.h5"))
    if results.images is None:  # the array in this file may only point to the user's own file
        own, array = results.config.get("dataset_options", {}).get("features"), next(iter(results.provenance["arrays"]))
        file = own or f"{file}:{array}"
    return [PAGE.text("too-near", file=file, vectors=results.images is None, **near)]


def _official(results: Results) -> list[str]:
    """Return a sentence on the sizes of the dataset's official splits, if it has any."""
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


def _trained_on(results: Results) -> Table:
    """Return a table with a row for each kind of supervision, and the number of training items of each split."""
    learners: dict[str, dict[str, None]] = {}
    for feature, hasher in results.plain[["feature", "hasher"]].drop_duplicates().itertuples(index=False):
        learners.setdefault(supervision_of(results.config, hasher, feature), {})[hasher] = None
    words = {"none": "feature vectors", "unknown": "not recorded (finished codes)"}
    sizes = [f"{len(parts['train']):,}" for parts in results.splits.values()]
    rows = [
        [", ".join(hashers), words.get(kind, f"feature vectors and {kind}")]
        + (sizes if kind != "unknown" else [ABSENT] * len(sizes))
        for kind, hashers in learners.items()
    ]
    return PAGE.table("trained-on", rows, header=["hashers", "trained on", *results.splits])


def _findings(findings: Any) -> Table:
    """Return a table with a row for each kind of finding."""
    columns = [name for name in _OF_FINDINGS if name in findings]
    groups = findings.fillna("").groupby(columns, sort=True).agg(files=("file", "size"), most=("count", "max"))
    rows = [[*kind, str(files), f"{most:,}"] for *kind, files, most in groups.reset_index().itertuples(index=False)]
    return PAGE.table("findings", rows, header=[*columns, "files", "largest number of items"], n_labels=len(columns))


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
    tested = {"test": CORRECTED, "is_tested": rows["low"].notna().any()}
    tested["why"] = why_not_shown(table["n_runs"], shared.max())
    sentences = {metric: PAGE.text("duplicate-differences", metric=metric, **tested) for metric in rows["metric"]}
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
