rule split:
    input:
        labels="<results>/items.h5",
    output:
        splits="<results>/splits/{split}/run{run}/splits.h5",
    log:
        "<logs>/splits/{split}/run{run}.log",
    benchmark:
        "<benchmarks>/splits/{split}/run{run}.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=500,
    params:
        sizes=SET["split_sizes"],
        seed=lambda wc: derive(SET["seed"], SET["dataset"], "split", int(wc.run)),
        code=lambda wc: digest("split", wc.split),
    message:
        "splits: {wildcards.split}, run {wildcards.run}"
    script:
        "../scripts/split.py"


rule splits:
    input:
        each("<results>/splits/{split}/run{run}/splits.h5"),
    localrule: True
