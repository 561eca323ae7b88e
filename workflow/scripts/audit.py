"""Audit every split of the experiment, and everything that was fitted on it."""

from protocol.auditing import write_findings
from protocol.auditing.experiment import audit_experiment


def main(job):
    """Write the findings by file."""
    findings = audit_experiment(
        items=job.input.labels,
        content=job.input.content,
        features=job.input.features,
        splits=job.input.splits,
        preprocessing=job.input.preprocessing,
        ground_truths=job.input.ground_truths,
        learned=[*job.input.selections, *job.input.supervision],
        training_labels=job.params.training_labels,
    )
    write_findings(job.output.audit, findings)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
