"""Gather the scores of an experiment, summarise them over the runs, and list the runs."""

from protocol.evaluation.exclusion import excluded_labels, read_positions
from protocol.scores.summary import COLUMNS, collect, runs_of, summarise
from protocol.scores.tables import write_table


def main(job):
    """Write metrics.csv, summary.csv and runs.csv."""
    scores, p = collect(job.input.scores), job.params
    runs = scores[["feature", "split", "run"]].drop_duplicates().itertuples(index=False, name=None)
    excluded = excluded_labels(read_positions(job.input.excluded), runs)
    write_table(job.output.metrics, scores[list(COLUMNS)])
    about = {"options": p.options, "supervision": p.supervision, "excluded": excluded}
    write_table(job.output.summary, summarise(scores, undefined=p.undefined, **about))
    write_table(job.output.runs, runs_of(scores))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
