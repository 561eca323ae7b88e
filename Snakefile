# Snakemake starts here in a checkout. The whole pipeline is in workflow/Snakefile, where the catalogue of workflows and
# `snakedeploy` expect it.
include: "workflow/Snakefile"


# Snakemake forgets the default target of an included file. This attribute is not documented; a test compares the plans.
workflow.default_target = rules.all.rule.name
