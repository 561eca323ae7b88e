"""Audit every split of the experiment, and everything that was fitted on it."""

import logging

from protocol.auditing import write_findings
from protocol.auditing.experiment import audit_experiment, audit_libraries


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
    results = (path for path in job.input if path.endswith(".h5"))
    write_findings(job.output.audit, findings, audit_libraries(results))
    errors = [
        f"{file}: {one.name} ({one.count:,})"
        for file, of_file in findings.items()
        for one in of_file
        if one.severity == "error"
    ]
    if errors:
        more = f" and {len(errors) - 1:,} more" * (len(errors) > 1)
        logging.warning("The audit found errors: %s%s. All are in %s.", errors[0], more, job.output.audit)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
