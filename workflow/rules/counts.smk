from protocol.metrics import in_database_order


# With the key `count_shards`, several jobs count one shard of the database each, and `count` adds up their counts.
rule count_shard:
    """Count one shard of the database, in the database of every split protocol of a sampled split."""
    input:
        codes="<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5",
        ground_truth="<results>/{feature}/{sample}/run{run}/ground_truth.h5",
        splits=splits,
    output:
        counts="<results>/{feature}/{sample}/run{run}/{hasher}/shards/{shard}.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/{hasher}/shards/{shard}.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{hasher}/shards/{shard}/count_shard.tsv"
    params:
        splits=names_of_splits,
        n_shards=CONFIG["count_shards"],
        code=code("count_shard.py"),
    script:
        "../scripts/count_shard.py"


rule count:
    """Count the database items at each Hamming distance, for every split and run of one hasher on a feature."""
    input:
        shards=shards,
        codes=of_each_split("<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5"),
        ground_truths=of_each_split("<results>/{feature}/{sample}/run{run}/ground_truth.h5"),
        splits=of_each_split("<results>/splits/{split}/run{run}/splits.h5"),
    output:
        counts="<results>/{feature}/counts/{hasher}.h5",
    log:
        "<logs>/{feature}/counts/{hasher}.log",
    benchmark:
        "<benchmarks>/{feature}/{hasher}/count.tsv"
    resources:
        # The counts of shards are only added up.
        mem_mb=lambda wildcards, input, attempt: attempt * (1000 + 10 * mb(input.shards or input)),
        runtime=lambda wildcards, input, attempt: attempt * (30 + 8 * mb(input)),
    params:
        split_runs=PLAN.split_runs,
        index_order=in_database_order(CONFIG["metrics"]),
        n_shards=CONFIG["count_shards"],
        code=code("count.py"),
    script:
        "../scripts/count.py"
