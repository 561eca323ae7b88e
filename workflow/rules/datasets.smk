rule download:
    output:
        file=DOWNLOADS + "/{file}",
        provenance=DOWNLOADS + "/{file}.json",
    params:
        dataset=SET["dataset"],
        mirror=SET["mirror"],
        mirror_sha256=lambda wc: SET["mirror_sha256"].get(wc.file),
    wildcard_constraints:
        file="|".join(map(re.escape, [f.name for f in DATASET.facts["files"]])) or "-",
    log:
        DOWNLOADS + "/logs/{file}.log",
    benchmark:
        DOWNLOADS + "/logs/{file}.tsv"
    threads: 1
    resources:
        mem_mb=500,
    message:
        "download: {wildcards.file}"
    script:
        "../scripts/download.py"


rule dataset:
    input:
        files=[f"{DOWNLOADS}/{f.name}" for f in DATASET.facts["files"]],
        provenance=[f"{DOWNLOADS}/{f.name}.json" for f in DATASET.facts["files"]],
    output:
        images=R + "/images.h5",
        labels=R + "/items.h5",
    params:
        dataset=SET["dataset"],
        code=digest("dataset", SET["dataset"]),
    log:
        R + "/logs/dataset.log",
    benchmark:
        R + "/benchmarks/dataset.tsv"
    threads: 1
    resources:
        mem_mb=2000,
    message:
        "dataset: {params.dataset}"
    script:
        "../scripts/dataset.py"
