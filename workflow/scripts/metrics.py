"""Put the scores of all cells into one table, and summarise it over the runs."""

from protocol.report import collect, summarise, write_table


def main(job):
    """Write metrics.csv and summary.csv."""
    metrics = collect(job.input.scores)
    write_table(job.output.metrics, metrics)
    write_table(job.output.summary, summarise(metrics))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
