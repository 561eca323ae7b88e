"""Write the report's figures and tables as a paper takes them: PDF, PNG, SVG and LaTeX."""

from protocol.report import reading, write_figures, write_tables


def main(job):
    """Gather the experiment's results and write both folders."""
    with reading(dict(job.input.items()), config=job.params.config, dimensions=job.params.dimensions) as results:
        write_figures(job.output.figures, results)
        write_tables(job.output.tables, results)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
