rule count:
    input:
        codes=R + "/{feature}/{split}/run{run}/{hasher}/codes.h5",
        groundtruth=R + "/{feature}/{split}/run{run}/groundtruth.h5",
    output:
        counts=R + "/{feature}/{split}/run{run}/{hasher}/counts.h5",
    params:
        extensions=lambda wc: [
            (name, s) for name in grid(wc).extensions for s in ([0] if name == "none" else SET["extension_bits"])
        ],
        code=room_digest("ranking"),
    log:
        R + "/logs/{feature}/{split}/run{run}/{hasher}/counts.log",
    benchmark:
        R + "/benchmarks/{feature}/{split}/run{run}/{hasher}/counts.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    message:
        "counts: {wildcards.hasher} on {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/count.py"


rule score:
    input:
        counts=lambda wc: expand(
            R + "/{feature}/{split}/run{run}/{hasher}/counts.h5", run=range(grid(wc).runs), allow_missing=True
        ),
    output:
        scores=R + "/{feature}/{split}/scores/{hasher}.csv",
    params:
        dataset=SET["dataset"],
        metrics=SET["metrics"],
        code=digest("metric", *SET["metrics"]) + room_digest("ranking"),
    log:
        R + "/logs/{feature}/{split}/scores/{hasher}.log",
    benchmark:
        R + "/benchmarks/{feature}/{split}/scores/{hasher}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    message:
        "metrics: {wildcards.hasher} on {wildcards.feature}, {wildcards.split} split"
    script:
        "../scripts/score.py"


rule collect:
    input:
        scores=each(R + "/{feature}/{split}/scores/{hasher}.csv"),
    output:
        metrics=R + "/metrics.csv",
        summary=R + "/summary.csv",
    params:
        code=room_digest("report"),
    log:
        R + "/logs/collect.log",
    benchmark:
        R + "/benchmarks/collect.tsv"
    threads: 1
    resources:
        mem_mb=2000,
    message:
        "tables: {output.metrics} and {output.summary}"
    script:
        "../scripts/collect.py"


rule evaluate:
    localrule: True
    input:
        metrics=R + "/metrics.csv",
        summary=R + "/summary.csv",
