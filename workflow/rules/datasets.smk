# Where a file came from is no parameter, so a moved mirror makes nothing run again.
rule fetch:
    output:
        file="<downloads>/{sha256}/{file}",
        provenance="<downloads>/{sha256}/{file}.json",
    log:
        "<downloads>/{sha256}/logs/{file}.log",
    benchmark:
        "<downloads>/{sha256}/logs/{file}.tsv"
    wildcard_constraints:
        sha256="[0-9a-f]{64}|recorded",
        file="|".join(re.escape(file.name) for file in FILES) or "-",
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["fetch"],
    params:
        dataset=SET["dataset"],
    message:
        "fetch: {wildcards.file}"
    script:
        "../scripts/fetch.py"


rule download:
    input:
        files=[str(PLACE.path(file)) for file in FILES],
        provenance=[str(PLACE.provenance(file)) for file in FILES],
    localrule: True


rule dataset:
    input:
        files=rules.download.input.files,
        provenance=rules.download.input.provenance,
        # A function's paths are taken as they are, whatever braces are in them.
        user=lambda wc: [on_this_machine(path) for path in USER_FILES],
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
        **NEEDS["dataset"],
    params:
        dataset=SET["dataset"],
        options=SET["dataset_options"],
        folders=lambda wc: [datasets.folder_digest(path) for path in USER_FOLDERS],
        code=code("dataset.py", dataset=SET["dataset"]),
    message:
        "dataset: {params.dataset}"
    script:
        "../scripts/dataset.py"
