"""Gather the scores of an experiment, summarise them over the runs, and list the runs and the selected options."""

from protocol.evaluation.exclusion import excluded_labels, read_positions
from protocol.hashers.selection import write_table as write_selections
from protocol.scores.summary import collect, tables_of, with_and_without
from protocol.scores.tables import write_table


def main(job):
    """Write metrics.csv, summary.csv and runs.csv; selection.csv and duplicates.csv if the experiment has them."""
    scores, p = collect(job.input.scores), job.params
    runs = scores[["feature", "split", "run"]].drop_duplicates().itertuples(index=False, name=None)
    excluded = excluded_labels(read_positions(job.input.excluded), runs)
    about = {"options": p.options, "supervision": p.supervision, "excluded": excluded, "unhashed": p.unhashed}
    for name, table in tables_of(scores, undefined=p.undefined, **about).items():
        write_table(job.output[name.removesuffix(".csv")], table)
    for path in job.output.selection:
        write_selections(path, job.input.selections)
    for path in job.output.duplicates:
        write_table(path, with_and_without(scores, collect(job.input.without)))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
