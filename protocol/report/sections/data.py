"""The data and its splits: sizes, findings of the audit, near-duplicates, and retrieved items.

The images nearest to some queries are those of mLGAP, figure 7.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from protocol import registry
from protocol.auditing.findings import SEVERITIES
from protocol.inputs.images import base64_png
from protocol.report.figure import PAGE, Section
from protocol.report.results import Results, with_display_names
from protocol.scores.summary import SETTING, at
from protocol.splits import LISTS

TILE = 48  # pixels
_QUERIES = 3
"""The number of queries whose nearest items are shown."""
_UNDEFINED = "without relevant items counts as 0"
"""In the registry, the treatment of such queries by metrics that are undefined for them and no others."""
_OF_FINDINGS = ["severity", "finding", "consequence", "fix", "treatment"]
"""The columns by which findings are counted once, in their paragraphs and in the status line."""


def partitions_section(results: Results) -> Section:
    """Return the sizes of each split's partitions, and the audit's findings."""
    findings = results.findings.fillna("")
    findings = findings.sort_values("severity", key=lambda names: names.map(SEVERITIES.index), kind="stable")
    kinds = findings.drop_duplicates(_OF_FINDINGS).groupby("severity", sort=False).size().to_dict()
    undefined, matters = without_relevant(results)
    text = [*([] if kinds else [PAGE.text("no-findings")]), *([undefined] if undefined and not matters else [])]
    paragraphs = [_paragraph(own) for _, own in findings.groupby(_OF_FINDINGS, sort=False)]
    context = {"findings": paragraphs, "title": PAGE.text("findings", kinds=kinds)}
    return PAGE.section("partitions", text, tables=[PAGE.table("partitions", partition_rows(results))], context=context)


def partition_rows(results: Results) -> Iterator[dict[str, Any]]:
    """Yield the sizes of each split's partitions; ``shared`` training items are also in the database."""
    for split, parts in results.splits.items():
        rows = {name: parts.get(name, np.empty(0, dtype=np.int64)) for name in LISTS}
        unused = len(results.items["ids"]) - len(np.unique(np.concatenate([*rows.values()])))
        sizes = {name: len(positions) for name, positions in rows.items()}
        shared = int(np.isin(rows["train"], rows["database"]).sum())
        yield {"split": split, **sizes, "shared": shared, "unused": unused}


def _paragraph(own: Any) -> dict[str, str]:
    """Return the first row of a kind of finding, and in words how many items are affected, where, and which."""
    first = own.iloc[0].to_dict() | {"examples": str(own["examples"].iloc[0])}
    return first | {"items": PAGE.text("finding-items", n=list(own["count"]), files=own["file"].nunique(), **first)}


def without_relevant(results: Results) -> tuple[str, bool]:
    """Return a sentence on the queries without relevant items, and whether another treatment would change a ranking.

    The sentence, "" if there are none, is about the setting with most of them, or one in which a ranking would change.
    """
    runs = at(results.run_scores, metric=results.metric).merge(_without_relevant(results), how="left").fillna({"n": 0})
    groups = [own for _, own in runs.groupby(list(SETTING)) if own["n"].any()]
    if not groups or _UNDEFINED not in registry.METRICS.entry(results.metric).undefined:
        return "", False
    changes = ((_ranks_change(results, own), own) for own in groups)
    matters, own = max(changes, key=lambda one: (one[0], one[1]["n"].sum()))
    n = own.drop_duplicates("run")["n"].astype(int).tolist()
    n_queries = len(results.splits[own["split"].iloc[0]]["query"])
    values = {"own": own.iloc[0], "n": list(filter(None, n)), "of": len(n), "n_queries": n_queries, "matters": matters}
    return PAGE.text("without-relevant", results=results, **values), matters


def _without_relevant(results: Results) -> Any:
    """Return the number of queries without relevant items, by setting and run, as the audit found them."""
    import pandas as pd

    rows = at(results.findings, finding="query-without-relevant").astype({"consequence": str, "file": str})
    places = rows["consequence"].str.extract("^With the ground truth (.+) on the split (.+?), these ")
    parts = rows["file"].str.extract(r"([^/]+)/[^/]+/run(\d+)/[^/]+$")
    names = dict(zip(SETTING, (parts[0], places[0], places[1]), strict=True))
    shown = with_display_names(pd.DataFrame(names), results.config)
    return rows.assign(**shown, run=parts[1], n=rows["count"]).dropna().astype({"run": int})[[*SETTING, "run", "n"]]


def _ranks_change(results: Results, scores: Any) -> bool:
    """Return whether a hasher's rank changes if the scores of these queries are left out, or count as 0.

    The share of such queries is the same for all hashers of a run, so only the weights of the runs change.
    """
    defined = 1 - scores["n"] / len(results.splits[scores["split"].iloc[0]]["query"])
    other = scores["value"] / defined if results.config["undefined"] == "zero" else scores["value"] * defined
    groups = scores.assign(other=other).groupby(["n_bits", "hasher"])[["value", "other"]]
    ranks = groups.mean().round(8).groupby("n_bits").rank().fillna(0)
    return bool((ranks["value"] != ranks["other"]).any())


class Status(NamedTuple):
    """A line at the top of the page: a text, the section with its details, and ``error``, ``warning`` or ``fine``."""

    text: str
    section: str
    level: str


def status(results: Results) -> list[Status]:
    """Return what a reader must know first: errors of the audit, then whatever makes scores doubtful, then warnings."""
    severities = results.findings.drop_duplicates(_OF_FINDINGS)["severity"].tolist()
    of_rows = results.findings["severity"].tolist()

    def audited(level: str) -> list[Status]:
        text = PAGE.text("status-audit", level=level, n=severities.count(level), rows=of_rows.count(level))
        return [Status(text, "findings", level)] * (level in of_rows)

    lines = audited("error")
    undefined, matters = without_relevant(results)
    lines += [Status(undefined, "findings", "warning")] if matters else []
    others = at(results.findings, finding="other-training-labels").sort_values("count")
    lines += [Status(one.consequence, "findings", "warning") for one in others.tail(1).itertuples()]
    if registry.DATASETS.entry(results.config["dataset"]).required:  # own data, of which parts may be missing
        lines += [Status(note, "provenance", "warning") for note in results.provenance["notes"]]
    if any(len(versions) > 1 for versions in results.libraries.values()):
        lines.append(Status(PAGE.text("status-mixed"), "provenance", "warning"))
    lines += audited("warning")
    return lines or [Status(PAGE.text("status-fine"), "partitions", "fine")]


def duplicates_section(results: Results) -> Section | None:
    """Return the largest change of the scores, and how many ranks change; None if no judged pairs are known."""
    if results.duplicates is None or (rows := at(results.duplicates, metric=results.metric)).empty:
        return None
    sizes = rows["difference"].abs()
    if sizes.isna().all():
        return PAGE.section("duplicates", [PAGE.text("duplicates-undefined", metric=results.metric)])
    ranks = rows[["rank_all", "rank_without"]].dropna()
    moves = int((ranks["rank_all"] != ranks["rank_without"]).sum())
    text = PAGE.text("duplicates", metric=results.metric, n=len(rows), moves=moves, largest=rows.loc[sizes.idxmax()])
    return PAGE.section("duplicates", [text])


def retrieved_section(results: Results) -> Section | None:
    """Return the nearest items of a few queries under the best and the worst hasher; None without images."""
    if results.images is None:
        return None
    selection = results.selections[0]
    ranked = at(results.plain, **selection.combination, metric=results.metric).fillna({"mean": -1})
    ranked = ranked.sort_values("mean", ascending=False, kind="stable")["hasher"]
    rows = at(results.table["retrieved"], **selection.setting)
    rows = rows[rows["query"].isin(np.unique(rows["query"])[:_QUERIES])]
    by_hasher = {hasher: at(rows, hasher=hasher) for hasher in (ranked.iloc[0], ranked.iloc[-1])}
    found = {name: [_query(results, own) for _, own in rows.groupby("query")] for name, rows in by_hasher.items()}
    searches = [{"hasher": hasher, "queries": queries} for hasher, queries in found.items()]
    shares = {hasher: rows["relevant"].mean() for hasher, rows in by_hasher.items()}
    text = PAGE.text("retrieved", metric=results.metric, where=selection.where(), shares=shares)
    return PAGE.section("retrieved", [text], context={"searches": searches})


def _query(results: Results, rows: Any) -> dict[str, Any]:
    groups = []
    for distance, nearest in rows.groupby("distance", sort=True):
        pairs = zip(nearest["item"], nearest["relevant"].astype(bool), strict=True)
        items = [_item(results, item) | {"relevant": relevant} for item, relevant in pairs]
        groups.append({"distance": distance, "at_distance": int(nearest["at_distance"].iloc[0]), "items": items})
    return _item(results, int(rows["query"].iloc[0])) | {"groups": groups}


def _item(results: Results, number: int) -> dict[str, str]:
    """Return an item's image, and its classes or its id."""
    labels = results.items.get("labels")
    png = base64_png(results.images[number : number + 1][0], TILE, compression=9)
    if labels is None:
        return {"png": png, "name": str(results.items["ids"][number].decode())}
    names = np.flatnonzero(labels[number]) if labels.ndim == 2 else labels[number : number + 1]
    return {"png": png, "name": ", ".join(results.class_names[name] for name in names.tolist()) or "no class"}
