# The pipeline. `snakemake` runs the default experiment, on handwritten digits, up to its report.
# To run another experiment: snakemake --configfile workflow/config/cifar10.yaml
from snakemake.utils import min_version

# The first version that supports path variables with every storage.
min_version("9.21.1")


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


if PLAN.duplicates:

    include: "workflow/rules/duplicates.smk"


include: "workflow/rules/audit.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/leak.smk"


if workflow.is_main_process:
    try:
        CODE.update(confirm=IS_MODULE)  # Snakemake does not call a module's `onstart`
    except ProtocolError as error:
        raise WorkflowError(str(error))


onstart:
    CODE.confirm()
    # To limit the number of jobs per second, Snakemake checks all ready jobs every second, once for each finished job.
    # A single machine does not need the limit, which takes up to a third of a core (Snakemake 9.27). A test checks that
    # Snakemake still has this attribute.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


rule all:
    """Run the whole experiment, up to its report."""
    default_target: True
    input:
        rules.report.output,
        # Inputs of the report, listed so that a deleted table is written again although the report is up to date.
        rules.metrics.output,
        rules.audit.output,
    localrule: True
