"""Undocumented behaviour of Snakemake on which the workflow relies."""

from pathlib import Path

from snakemake.scheduling import job_scheduler


def test_the_scheduler_has_the_rate_limiter_that_the_snakefile_turns_off(root):
    assert "workflow.scheduler.job_rate_limiter = None" in (root / "workflow" / "Snakefile").read_text()
    source = Path(job_scheduler.__file__).read_text()
    assert "self.job_rate_limiter" in source
    assert "if self.job_rate_limiter is None" in source or "self.job_rate_limiter is not None" in source
