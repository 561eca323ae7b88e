"""The experiment: selected options, run time, definitions of everything that it uses, and provenance."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt

from protocol import registry
from protocol.checks import counted
from protocol.evaluation import CONVENTIONS
from protocol.report.figure import ABSENT, Figure, Section, rows_chart, tooltips
from protocol.report.results import Results
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_KINDS = ("feature", "ground_truth", "split", "hasher")


def options_section(results: Results) -> Section | None:
    """Return the selected options, how often each was selected, and the gain; None if no options were selected."""
    if results.selection is None:
        return None
    searched = choices(results.selection)
    rows = [
        [
            row["feature"],
            row["ground_truth"],
            row["draw"],
            row["hasher"],
            str(row["n_bits"]),
            ", ".join(f"{options} ({n_runs})" for options, n_runs in row["chosen"]),
            f"{row['best']:.4f}",
            *(
                (f"{row['default']:.4f}", f"{row['best'] - row['default']:+.4f}")
                if row["default"] == row["default"]
                else ("not in the grid", ABSENT)
            ),
        ]
        for row in searched
    ]
    header = [
        "feature",
        "ground truth",
        "draw",
        "hasher",
        "bits",
        "selected (number of runs)",
        "best",
        "defaults",
        "difference",
    ]
    text = (
        f"In every run, each hasher with a grid was trained with every combination of its options and scored by "
        f"{searched[0]['metric']} on the validation queries and the validation database; the best was selected. "
        "The test queries were not used. The best of several validation scores is biased upwards, so only the test "
        "scores measure the gain. Split protocols that differ only in their database share the selection. The file "
        "selection.csv contains every score."
    )
    table = Table(
        "options",
        "Validation scores of the best options and of the defaults, means over the runs.",
        header,
        rows,
        n_labels=6,
    )
    return Section("options", "Selected options", [text], tables=[table])


def choices(selection: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return one row per feature, draw, hasher and code length.

    Parameters
    ----------
    selection : DataFrame
        As `protocol.selection.write_table` writes it.

    Returns
    -------
    list of dict
        The combination (``feature``, ``draw``, ``hasher``, ``n_bits``) and the criterion (``ground_truth``,
        ``metric``); ``chosen``: pairs of options and the number of runs that chose them, the most frequent first; and
        mean scores over the runs: ``best``, and ``default``, which is NaN if the grid lacks the default.
    """
    cell = ["feature", "draw", "hasher", "n_bits", "ground_truth", "metric"]
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
    jobs = counted(int(first["jobs"]), "job")
    shows = (
        f"All jobs together took {total:,.0f} s, {first['seconds'] / total:.0%} of it in the {jobs} of the stage "
        f"“{first['stage']}”. The largest job used {stages['megabytes'].max():,.0f} MB of memory."
    )
    base = rows_chart().encode(
        y=alt.Y("stage:N", title=None, sort=list(stages["stage"])),
        x=alt.X("seconds:Q", title="seconds, summed over all jobs"),
        tooltip=tooltips("stage:N", "jobs:Q", "seconds:Q", "longest:Q", "megabytes:Q"),
    )
    text = base.mark_text(align="left", dx=4, fontSize=11).encode(text=alt.Text("seconds:Q", format=",.0f"))
    chart = alt.layer(base.mark_bar(height=14, color="#2f7fd1"), text).properties(
        width="container", height=alt.Step(22)
    )
    note = (
        "Wall time and memory as Snakemake measured them on this machine; no result depends on them. Feature "
        "extraction is not included, because experiments on the same dataset share it."
    )
    figure = Figure("time", "Seconds by stage", shows, chart, stages)
    return Section("time", "Run time and memory", [note], [figure], folded=True)


def meanings_section(results: Results) -> Section:
    """Return the metrics with their ties, denominator and undefined values, the conventions, and the plug-ins."""
    config = results.config
    undefined = (
        "they count 0, and the query stays in the mean"
        if config["empty"] == "zero"
        else "the query is left out of the mean"
    )
    entries = {entry.name: entry for entry in (registry.METRICS.entry(name) for name in config["metrics"])}
    metrics = [[m.name, m.summary, m.ties, m.denominator, m.empty, m.source] for m in entries.values()]
    tables = [
        Table("metrics", "Metrics.", ["metric", "meaning", "ties", "denominator", "undefined", "source"], metrics, 6),
        Table(
            "named-conventions",
            "Named conventions, with the values that each calls mAP.",
            ["convention", "meaning", "calls mAP", "source"],
            [[rules.name, rules.summary, ", ".join(rules.called_map), rules.source] for rules in CONVENTIONS],
            4,
        ),
        *(_plugins(results, kind) for kind in _KINDS),
    ]
    text = f"Undefined values (0/0) in this experiment: {undefined} (empty = {config['empty']})."
    return Section("meanings", "Definitions", [text], tables=tables, folded=True)


def _plugins(results: Results, kind: str) -> Table:
    finished = _finished(results) if kind == "hasher" else {}
    names = [name for name in dict.fromkeys(results.plain[kind]) if name not in finished]
    entries = [registry.entry(kind, _plugin(results, kind, name)) for name in names]
    config_names = [results.config_name(kind, name) for name in names]
    columns = {
        "name": [name if name == own else f"{name} ({own})" for name, own in zip(names, config_names, strict=True)],
        "meaning": [entry.summary for entry in entries],
        "source": [entry.source for entry in entries],
        "deviations": [getattr(entry, "deviations", "") for entry in entries],
        "options": [
            ", ".join(f"{option} = {value}" for option, value in _options_of(results, kind, name).items())
            for name in names
        ],
    }
    columns = {name: texts for name, texts in columns.items() if any(texts)}
    rows = list(zip(*columns.values(), strict=True))
    rows += [tuple(texts.get(column, "") for column in columns) for texts in finished.values()]
    return Table(f"{kind}s", f"{kind.replace('_', ' ').capitalize()}s.", list(columns), rows, len(columns))


def _finished(results: Results) -> dict[str, dict[str, str]]:
    """Return the row of each method with finished codes, by column."""
    return {
        name: {
            "name": name,
            "meaning": "Finished codes, made outside this pipeline; how they were learned is not recorded.",
            "source": f"queries: {own['query']}; database: {own['database']}",
        }
        for name, own in results.config.get("codes", {}).items()
    }


def _plugin(results: Results, kind: str, name: str) -> str:
    """Return the plug-in behind a name in the experiment."""
    if kind == "feature":
        return str(results.config["features"][name].get("use", name))
    return str(results.config.get(f"{kind}_uses", {}).get(name, name))


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
    text = (
        "Every file has a record of the code, the inputs and the seed that it was made with. These are the records of "
        "run 0."
    )
    files = [
        {"path": path, "digest": provenance["digest"][:16]}
        | {key: provenance[key] for key in ("maker", "seed", "inputs", "parameters")}
        for path, provenance in results.records.items()
    ]
    return Section(
        "provenance",
        "Provenance and configuration",
        [text, *_mixed(results)],
        template="provenance.html.j2",
        context={"files": files, "config": results.config, "versions": results.provenance["versions"]},
        folded=True,
    )


def _mixed(results: Results) -> list[str]:
    """Return a warning for each library that occurs with several versions in the provenance records."""
    return [
        f"Warning: the files of this experiment were made with different versions of {library}: "
        f"{', '.join(f'{version} ({n} files)' for version, n in sorted(versions.items()))}. Delete the experiment's "
        "folder and run again to have all results from one environment."
        for library, versions in sorted(results.libraries.items())
        if len(versions) > 1
    ]
