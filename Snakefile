# The targets. `snakemake` makes the report of the embedded default, the digits.
# Another experiment: snakemake --configfile workflow/config/cifar10.yaml
from snakemake.utils import min_version

min_version("9.21.1")  # the first that reads path variables with every storage


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/datasets.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/splits.smk"
include: "workflow/rules/ground_truths.smk"
include: "workflow/rules/models.smk"


if CONFIG["count_shards"] == 1:

    include: "workflow/rules/count.smk"

else:

    include: "workflow/rules/count_shards.smk"


include: "workflow/rules/metrics.smk"


if DUPLICATES:

    include: "workflow/rules/duplicates.smk"


include: "workflow/rules/audit.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/leak.smk"


onstart:
    # Snakemake's limit of jobs a second looks at all ready jobs again every second, once for each job that has finished.
    # On one machine nothing needs the limit, and it costs up to a third of a core (Snakemake 9.27). A test holds the
    # attribute to Snakemake's.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


rule all:
    """Run the whole experiment, up to its report."""
    default_target: True
    input:
        rules.report.output,
    localrule: True
