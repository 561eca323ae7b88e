# The source of a file is not a parameter, so that moving a mirror does not rerun any job.
FILES = registry.DATASETS.entry(DATASET).files
DOWNLOADED = [str(DOWNLOADS.path(file)) for file in FILES]


rule download:
    """Download one file of the dataset, from the mirror or its official source."""
    output:
        **sealed(provenance="<downloads>/{sha256}/{file}.json"),
        file="<downloads>/{sha256}/{file}",
    log:
        "<downloads>/{sha256}/logs/{file}.log",
    wildcard_constraints:
        file="|".join(re.escape(file.name) for file in FILES) or "-",
    localrule: True
    params:
        dataset=DATASET,
        # Snakemake's cache key contains the parameters, but not the wildcards.
        sha256="{sha256}",
    script:
        "../scripts/download.py"


rule dataset:
    """Load the dataset: images and vectors into one file; ids, labels and official splits into another."""
    input:
        **sealed(provenance=[f"{file}.json" for file in DOWNLOADED]),
        files=DOWNLOADED,
        user=user_files(records.files_of_dataset(CONFIG)),
    output:
        content="<data>/content.h5",
        labels="<data>/items.h5",
    log:
        "<data>/logs/dataset.log",
    benchmark:
        "<data>/benchmarks/dataset.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1000 + mb(input) // 2),
    params:
        dataset=DATASET,
        options=CONFIG["dataset_options"],
        user=USER_STATES,
        code=code("dataset.py", dataset=DATASET),
    script:
        "../scripts/dataset.py"
