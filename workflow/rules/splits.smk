# Protocols that differ only in their database share a draw, so that each hasher is trained once for all of them.
rule draw:
    """Draw queries, validation partitions and training set of one run."""
    input:
        stamps("draw.py"),
        labels="<data>/items.h5",
        lists=local_files("list_files"),
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
        **needs("draw"),
    params:
        sizes=of("draw_sizes"),
        lists=of("split_options"),
        states=of("list_states"),
        seed=of("draw_seed"),
        code=code("draw.py", split=of("split")),
    message:
        "draw: {wildcards.draw}, run {wildcards.run}"
    script:
        "../scripts/draw.py"


rule split:
    """Add the database of one split protocol to a draw."""
    input:
        stamps("split.py"),
        labels="<data>/items.h5",
        draw=file("<results>/draws/{draw}/run{run}.h5"),
        lists=local_files("list_files"),
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
        **needs("split"),
    params:
        lists=of("split_options"),
        states=of("list_states"),
        code=code("split.py", split=of("split")),
    message:
        "splits: {wildcards.split}, run {wildcards.run}"
    script:
        "../scripts/split.py"


rule splits:
    """Make all splits of the experiment."""
    input:
        each("<results>/splits/{split}/run{run}/splits.h5"),
    localrule: True
