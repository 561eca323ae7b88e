# Protocols that differ only in their database share a sampled split, so that each hasher is trained once for all of them.
rule sample:
    """Draw queries, validation partitions and training set of one run."""
    input:
        labels="<data>/items.h5",
        lists=local_files("list_files"),
    output:
        sample="<results>/samples/{sample}/run{run}.h5",
    log:
        "<logs>/samples/{sample}/run{run}.log",
    benchmark:
        "<benchmarks>/samples/{sample}/run{run}/sample.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("sample"),
    params:
        sizes=of("sample_sizes"),
        lists=of("split_options"),
        states=states("list_files"),
        seed=of("sample_seed"),
        code=code("sample.py", split=of("split")),
    message:
        "sample: {wildcards.sample}, run {wildcards.run}"
    script:
        "../scripts/sample.py"


rule split:
    """Add the database of one split protocol to a sampled split."""
    input:
        labels="<data>/items.h5",
        sample=file("<results>/samples/{sample}/run{run}.h5"),
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
        states=states("list_files"),
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
