"""Write figures and tables for a paper: PDF, SVG, PNG and CSV; LaTeX and Markdown."""

from protocol.report import figure_files, table_files, write_folder
from protocol.report.manuscript import paper_figures, paper_tables, read_scores


def main(job):
    """Read what the paper shows of the experiment's results, and write both folders."""
    results = read_scores(job.input.metrics, job.input.summary, job.input.examples, job.params.config)
    write_folder(job.output.figures, figure_files(list(paper_figures(results))))
    write_folder(job.output.tables, table_files(paper_tables(results)))


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
