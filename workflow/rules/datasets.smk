# An archive's place says which bytes it holds, so settings that want others don't take it from one another; where it
# came from is no parameter, so a moved mirror makes nothing run again.
ARCHIVES = [
    f"<downloads>/{SET['mirror_sha256'].get(file.name, file.sha256) or 'unknown'}/{file.name}"
    for file in DATASET.facts["files"]
]


rule download:
    output:
        file="<downloads>/{sha256}/{file}",
        provenance="<downloads>/{sha256}/{file}.json",
    log:
        "<downloads>/{sha256}/logs/{file}.log",
    benchmark:
        "<downloads>/{sha256}/logs/{file}.tsv"
    wildcard_constraints:
        sha256="[0-9a-f]{64}|unknown",
        file="|".join(re.escape(file.name) for file in DATASET.facts["files"]) or "-",
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=500,
    params:
        dataset=SET["dataset"],
    message:
        "download: {wildcards.file}"
    script:
        "../scripts/download.py"


rule dataset:
    input:
        files=ARCHIVES,
        provenance=[f"{path}.json" for path in ARCHIVES],
        # A function's paths are taken as they are, whatever braces are in them.
        user=lambda wc: [str(path) for path in USER_FILES],
    output:
        content="<results>/content.h5",
        labels="<results>/items.h5",
    log:
        "<logs>/dataset.log",
    benchmark:
        "<benchmarks>/dataset.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=2000,
    params:
        dataset=SET["dataset"],
        options=SET["dataset_options"],
        folders=lambda wc: [datasets.folder_digest(path) for path in USER_FOLDERS],
        code=digest("dataset", SET["dataset"]),
    message:
        "dataset: {params.dataset}"
    script:
        "../scripts/dataset.py"
