"""Gather the scores of the leak study into tables, a text and a figure."""

from protocol.provenance import storage
from protocol.report import leak_figure, leak_text, leaks, summarise_leaks
from protocol.scores.tables import write_table


def main(job):
    """Write leak.csv (every run), leak_summary.csv, leak.md and leak.svg."""
    p, table = job.params, leaks(job.input.scores)
    summary = summarise_leaks(table, p.study["controls"])
    write_table(job.output.leaks, table)
    write_table(job.output.summary, summary)
    provenance = storage.read_provenance(job.input.labels)
    text = leak_text(table, summary, provenance=provenance, experiment=p.experiment, study=p.study)
    for path, content in ((job.output.text, text), (job.output.figure, leak_figure(summary))):
        storage.write_text(path, content)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
