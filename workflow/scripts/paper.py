"""Write the report's figures and tables as a paper takes them: PDF, PNG, SVG and CSV; LaTeX and Markdown."""

from protocol.claims import printed
from protocol.report import reading, write_figures, write_tables
from protocol.report.sections import sections


def main(job):
    """Gather the experiment's results and write both folders."""
    files, params = dict(job.input.items()), job.params
    with reading(files, config=params.config, dimensions=params.dimensions, printed=printed()) as results:
        parts = sections(results)
        write_figures(job.output.figures, [figure for part in parts for figure in part.figures])
        write_tables(job.output.tables, [table for part in parts for table in part.tables])


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
