# One target rule per stage; `snakemake --cores all` makes the report of the embedded default.
# Another setting: snakemake --cores all --configfile workflow/config/cifar10.yaml
include: "workflow/rules/common.smk"
include: "workflow/rules/datasets.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/splits.smk"
include: "workflow/rules/groundtruth.smk"
include: "workflow/rules/supervision.smk"
include: "workflow/rules/selection.smk"
include: "workflow/rules/codes.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/leak.smk"


rule all:
    default_target: True
    input:
        rules.report.input,
    localrule: True
