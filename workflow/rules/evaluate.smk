rule count:
    input:
        codes="<results>/{feature}/{split}/run{run}/{hasher}/codes.h5",
        groundtruth="<results>/{feature}/{split}/run{run}/groundtruth.h5",
    output:
        counts="<results>/{feature}/{split}/run{run}/{hasher}/counts.h5",
    log:
        "<logs>/{feature}/{split}/run{run}/{hasher}/counts.log",
    benchmark:
        "<benchmarks>/{feature}/{split}/run{run}/{hasher}/counts.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["count"],
    params:
        extensions=lambda wc: [
            (name, s)
            for name in grid(wc).extensions
            for s in ([0] if name == "none" else SET["extension_bits"])
        ],
        index_order=need_index_order(SET["metrics"]),
        code=code("count.py"),
    message:
        "counts: {wildcards.hasher} on {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/count.py"


rule score:
    input:
        counts=lambda wc: expand(
            "<results>/{feature}/{split}/run{run}/{hasher}/counts.h5",
            run=range(grid(wc).runs),
            allow_missing=True,
        ),
    output:
        scores="<results>/{feature}/{split}/scores/{hasher}.csv",
    log:
        "<logs>/{feature}/{split}/scores/{hasher}.log",
    benchmark:
        "<benchmarks>/{feature}/{split}/scores/{hasher}.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["score"],
    params:
        dataset=SET["dataset"],
        metrics=SET["metrics"],
        empty=SET["empty"],
        code=code("score.py", metric=tuple(SET["metrics"])),
    message:
        "metrics: {wildcards.hasher} on {wildcards.feature}, {wildcards.split} split"
    script:
        "../scripts/score.py"


rule collect:
    input:
        scores=each("<results>/{feature}/{split}/scores/{hasher}.csv"),
    output:
        metrics="<results>/metrics.csv",
        summary="<results>/summary.csv",
    log:
        "<logs>/collect.log",
    benchmark:
        "<benchmarks>/collect.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["collect"],
    params:
        code=code("collect.py"),
    message:
        "tables: {output.metrics} and {output.summary}"
    script:
        "../scripts/collect.py"


rule evaluate:
    input:
        metrics="<results>/metrics.csv",
        summary="<results>/summary.csv",
    localrule: True
