# Protocols that differ only in their database share a draw, so that each hasher is trained once for all of them.
rule draw:
    """Draw queries, validation partitions and training set of one run."""
    input:
        labels="<data>/items.h5",
        lists=draw_lists,
    output:
        draw="<results>/draws/{draw}/run{run}.h5",
    log:
        "<logs>/draws/{draw}/run{run}.log",
    benchmark:
        "<benchmarks>/draws/{draw}/run{run}/draw.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=memory("draw"),
        runtime=minutes("draw"),
    params:
        sizes=draw_sizes,
        lists=draw_options,
        seed=draw_seed,
        code=code_of("draw.py", "draw"),
    message:
        "draw: {wildcards.draw}, run {wildcards.run}"
    script:
        "../scripts/draw.py"


rule split:
    """Add the database of one split protocol to a draw."""
    input:
        labels="<data>/items.h5",
        draw=draw_of_split,
        lists=split_lists,
    output:
        splits="<results>/splits/{split}/run{run}/splits.h5",
    log:
        "<logs>/splits/{split}/run{run}.log",
    benchmark:
        "<benchmarks>/splits/{split}/run{run}/split.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=memory("split"),
        runtime=minutes("split"),
    params:
        lists=split_options,
        code=code_of("split.py", "split"),
    message:
        "splits: {wildcards.split}, run {wildcards.run}"
    script:
        "../scripts/split.py"


rule splits:
    """Make all splits of the experiment."""
    input:
        each("<results>/splits/{split}/run{run}/splits.h5"),
    localrule: True
