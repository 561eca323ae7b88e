"""The experiment: selected options, run time, definitions, the papers' scores and claims, and provenance."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.evaluation import CONVENTIONS
from protocol.report.description import PAGE
from protocol.report.figure import Section
from protocol.report.results import Results
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_KINDS = ("feature", "ground_truth", "split", "hasher")
_ON = ["dataset", "feature", "ground_truth", "split", "hasher", "metric", "n_bits"]
_OPEN = ("refuted", "not replicated")


def published_section(results: Results) -> Section | None:
    """Return the published scores whose combination was run, with the differences; None if there are none."""
    if results.published is None:
        return None
    both = results.published.merge(results.plain, on=_ON)
    if both.empty:
        return None
    both = both.assign(gap=both["mean"] - both["value"])
    sizes = both["gap"].abs()
    values = {"n": len(both), "near": int((sizes < 0.01).sum()), "farthest": both.loc[sizes.idxmax()]}
    table = PAGE.table("published", both.to_dict("records"))
    return PAGE.section("published", [PAGE.text("published", **values)], tables=[table])


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
    rows = choices(results.selection)
    text = PAGE.text("options", metric=rows[0]["metric"])
    return PAGE.section("options", [text], tables=[PAGE.table("options", rows)])


def choices(selection: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return one row per feature, draw, hasher and code length.

    Parameters
    ----------
    selection : DataFrame
        As `protocol.selection.write_table` writes it.

    Returns
    -------
    list of dict
        The combination (``feature``, ``sample``, ``hasher``, ``n_bits``) and the criterion (``ground_truth``,
        ``metric``); ``chosen``: pairs of options and the number of runs that chose them, the most frequent first; and
        mean scores over the runs: ``best``, and ``default``, which is NaN if the grid lacks the default.
    """
    cell = ["feature", "sample", "hasher", "n_bits", "ground_truth", "metric"]
    rows = []
    for key, own in selection.groupby(cell, sort=True):
        chosen = own[own["chosen"]]
        rows.append(
            dict(zip(cell, key, strict=True))
            | {
                "chosen": Counter(chosen["options"]).most_common(),
                "default": own.loc[own["default"], "score"].mean(),
                "best": chosen["score"].mean(),
            }
        )
    return rows


def time_spent_section(results: Results) -> Section | None:
    """Return the seconds of each stage, and the memory of its largest job; None without benchmark files."""
    if results.times.empty:
        return None
    groups = results.times.groupby("stage", sort=True)
    stages = groups.agg(
        jobs=("seconds", "size"), seconds=("seconds", "sum"), longest=("seconds", "max"), megabytes=("megabytes", "max")
    ).reset_index()
    stages = stages.sort_values("seconds", ascending=False, kind="stable")
    total, first = stages["seconds"].sum(), stages.iloc[0]
    figure = PAGE.figure(
        "seconds-by-stage",
        stages,
        chart={"stages": list(stages["stage"])},
        total=total,
        share=first["seconds"] / total,
        n_jobs=int(first["jobs"]),
        stage=first["stage"],
        megabytes=stages["megabytes"].max(),
    )
    return PAGE.section("time", [PAGE.text("time")], [figure])


def meanings_section(results: Results) -> Section:
    """Return the metrics with their ties, denominator and undefined values, the conventions, and the plug-ins."""
    entries = {entry.name: entry for entry in map(registry.METRICS.entry, results.config["metrics"])}
    tables = [
        PAGE.table("metrics", map(vars, entries.values())),
        PAGE.table("named-conventions", map(vars, CONVENTIONS)),
        *(_plugins(results, kind) for kind in _KINDS),
    ]
    return PAGE.section("meanings", [PAGE.text("meanings", empty=results.config["empty"])], tables=tables)


def _plugins(results: Results, kind: str) -> Table:
    """Return a table of the plug-ins of a kind, without columns that are empty for all of them."""
    finished = _finished(results) if kind == "hasher" else {}
    described = [_described(results, kind, name) for name in dict.fromkeys(results.plain[kind]) if name not in finished]
    columns = [column for column in described[0] if any(row[column] for row in described)]
    rows = [[row.get(column, "") for column in columns] for row in (*described, *finished.values())]
    return PAGE.table(f"{kind}s", rows, of="plugins", header=columns, n_labels=len(columns), kind=kind)


def _described(results: Results, kind: str, name: str) -> dict[str, str]:
    """Return the row of a plug-in, by column."""
    entry, config_name = registry.entry(kind, _plugin(results, kind, name)), results.config_name(kind, name)
    options = _options_of(results, kind, name)
    return {
        "name": name if name == config_name else f"{name} ({config_name})",
        "meaning": entry.summary,
        "source": entry.source,
        "deviations": getattr(entry, "deviations", ""),
        "options": ", ".join(f"{option} = {value}" for option, value in options.items()),
    }


def _finished(results: Results) -> dict[str, dict[str, str]]:
    """Return the row of each method with finished codes, by column."""
    return {
        name: {
            "name": name,
            "meaning": "Finished codes, computed outside this pipeline; how they were learned is not recorded.",
            "source": f"queries: {own['query']}; database: {own['database']}",
        }
        for name, own in results.config.get("codes", {}).items()
    }


def _plugin(results: Results, kind: str, name: str) -> str:
    """Return the plug-in behind a name in the experiment."""
    if kind == "feature":
        return str(results.config["features"][name].get("base", name))
    return str(results.config.get(f"{kind}_bases", {}).get(name, name))


def _options_of(results: Results, kind: str, name: str) -> dict[str, Any]:
    if kind == "feature":
        own = results.config["features"][name]
        steps = own["preprocessing"]
        by_side = steps if isinstance(steps, Mapping) else {"": steps}
        texts = [f"{side} {' '.join(names) or 'none'}".strip() for side, names in by_side.items()]
        return own["options"] | {"preprocessing": "; ".join(texts)}
    grid = results.config.get(f"{kind}_grids", {}).get(name, {})
    searched = {option: f"chosen from {', '.join(map(str, values))}" for option, values in grid.items()}
    return results.config.get(f"{kind}_options", {}).get(name, {}) | searched


def provenance_section(results: Results) -> Section:
    """Return the provenance records of the files of run 0 and the complete configuration."""
    files = [
        {"path": path, "digest": provenance["digest"][:16]}
        | {key: provenance[key] for key in ("maker", "seed", "inputs", "parameters")}
        for path, provenance in results.records.items()
    ]
    mixed = [
        PAGE.text("mixed", library=library, versions=sorted(versions.items()))
        for library, versions in sorted(results.libraries.items())
        if len(versions) > 1
    ]
    context = {"files": files, "config": results.config, "versions": results.provenance["versions"]}
    text = [*results.provenance["notes"], PAGE.text("provenance"), *mixed]
    return PAGE.section("provenance", text, context=context)
