rule split:
    input:
        labels=R + "/items.h5",
    output:
        splits=R + "/splits/{split}/run{run}/splits.h5",
    params:
        sizes=SET["split_sizes"],
        seed=lambda wc: derive(SET["seed"], SET["dataset"], "split", int(wc.run)),
        code=lambda wc: digest("split", wc.split),
    log:
        R + "/logs/splits/{split}/run{run}.log",
    benchmark:
        R + "/benchmarks/splits/{split}/run{run}.tsv"
    threads: 1
    resources:
        mem_mb=500,
    message:
        "splits: {wildcards.split}, run {wildcards.run}"
    script:
        "../scripts/split.py"


rule splits:
    localrule: True
    input:
        each(R + "/splits/{split}/run{run}/splits.h5"),
