"""Write figures and tables for a paper: PDF, SVG, PNG and CSV; LaTeX and Markdown."""

from protocol.report.paper import paper_figures, paper_tables, read_chosen, write_figures, write_tables


def main(job):
    """Read what the paper shows of the experiment's results, and write both folders."""
    chosen = read_chosen(job.input.metrics, job.input.runs, job.input.displayed, job.params.config)
    write_figures(job.output.figures, paper_figures(chosen))
    write_tables(job.output.tables, paper_tables(chosen))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
