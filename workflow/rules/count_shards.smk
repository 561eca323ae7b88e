# These rules replace `count` if the config file sets `count_shards`.
scattergather:
    count=CONFIG["count_shards"],


rule count_shard:
    """Count one shard of the database, in the database of every split protocol of a sampled split."""
    input:
        codes="<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5",
        ground_truth="<results>/{feature}/{sample}/run{run}/ground_truth.h5",
        splits=files("<results>/splits/{split}/run{run}/splits.h5"),
    output:
        counts="<results>/{feature}/{sample}/run{run}/{hasher}/shards/{scatteritem}.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/{hasher}/shards/{scatteritem}.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{hasher}/shards/{scatteritem}/count_shard.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("count_shard"),
    params:
        splits=files("{split}"),
        number=of("shard"),
        n_shards=CONFIG["count_shards"],
        code=code("count_shard.py"),
    message:
        "counts: {wildcards.hasher} on {wildcards.feature}, sample {wildcards.sample}, run {wildcards.run}, shard {wildcards.scatteritem}"
    script:
        "../scripts/count_shard.py"


rule add_counts:
    """Add up the counts of all shards of the database, for every split and run of one hasher on a feature."""
    input:
        shards=of("shards"),
        codes=of_combinations("<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5"),
        ground_truths=of_combinations(
            "<results>/{feature}/{sample}/run{run}/ground_truth.h5"
        ),
        splits=of_combinations("<results>/splits/{split}/run{run}/splits.h5"),
    output:
        counts="<results>/{feature}/counts/{hasher}.h5",
    log:
        "<logs>/{feature}/counts/{hasher}.log",
    benchmark:
        "<benchmarks>/{feature}/{hasher}/add_counts.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("add_counts"),
    params:
        combinations=keys("split", "run"),
        n_shards=CONFIG["count_shards"],
        code=code("add_counts.py"),
    message:
        "counts of all shards: {wildcards.hasher} on {wildcards.feature}"
    script:
        "../scripts/add_counts.py"
