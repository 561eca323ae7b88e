"""The time and memory of each stage, from Snakemake's benchmark files."""

import altair as alt

from protocol.checks import counted
from protocol.report.figure import Figure, Section, rows_chart, tooltips
from protocol.report.results import Results


def section(results: Results) -> Section | None:
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
