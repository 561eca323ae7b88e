# The source of a file is not a parameter, so that moving a mirror does not rerun any job.
FILES = registry.DATASETS.entry(DATASET).files


rule download:
    """Download one file of the dataset, from the mirror or its official source."""
    output:
        file="<downloads>/{sha256}/{file}",
        provenance="<downloads>/{sha256}/{file}.json",
        checksums=checksums("<downloads>/{sha256}/{file}.json"),
    log:
        "<downloads>/{sha256}/logs/{file}.log",
    benchmark:
        "<downloads>/{sha256}/logs/{file}.tsv"
    wildcard_constraints:
        sha256="[0-9a-f]{64}|recorded",
        file="|".join(re.escape(file.name) for file in FILES) or "-",
    localrule: True
    conda:
        "../../envs/protocol.yaml"
    params:
        dataset=DATASET,
        # Snakemake's cache key contains the parameters, but not the wildcards.
        sha256="{sha256}",
    message:
        "download: {wildcards.file}"
    script:
        "../scripts/download.py"


rule downloads:
    """Download all files of the dataset."""
    input:
        files=[str(DOWNLOADS.path(file)) for file in FILES],
        provenance=[str(DOWNLOADS.provenance(file)) for file in FILES],
    localrule: True


rule dataset:
    """Load the dataset: images and vectors into one file; ids, labels and official splits into another."""
    input:
        files=rules.downloads.input.files,
        provenance=rules.downloads.input.provenance,
        checksums=checksums(*rules.downloads.input.provenance),
        user=user_files(records.files_of_dataset(CONFIG)),
    output:
        content="<data>/content.h5",
        labels="<data>/items.h5",
    log:
        "<data>/logs/dataset.log",
    benchmark:
        "<data>/benchmarks/dataset.tsv"
    conda:
        "../../envs/protocol.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1000 + mb(input) // 2),
    params:
        dataset=DATASET,
        options=CONFIG["dataset_options"],
        user=USER_STATES,
        code=code("dataset.py", dataset=DATASET),
    message:
        "dataset: {params.dataset}"
    script:
        "../scripts/dataset.py"
