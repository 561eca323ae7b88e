rule download:
    output:
        file="<downloads>/{file}",
        provenance="<downloads>/{file}.json",
    log:
        "<downloads>/logs/{file}.log",
    benchmark:
        "<downloads>/logs/{file}.tsv"
    wildcard_constraints:
        file="|".join(map(re.escape, [f.name for f in DATASET.facts["files"]])) or "-",
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=500,
    params:
        dataset=SET["dataset"],
        mirror=SET["mirror"],
        mirror_sha256=lambda wc: SET["mirror_sha256"].get(wc.file),
    message:
        "download: {wildcards.file}"
    script:
        "../scripts/download.py"


rule dataset:
    input:
        files=[f"<downloads>/{f.name}" for f in DATASET.facts["files"]],
        provenance=[f"<downloads>/{f.name}.json" for f in DATASET.facts["files"]],
    output:
        images="<results>/images.h5",
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
        code=digest("dataset", SET["dataset"]),
    message:
        "dataset: {params.dataset}"
    script:
        "../scripts/dataset.py"
