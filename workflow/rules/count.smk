rule count:
    """Count the database items at each Hamming distance, for every split and run of one hasher on a feature."""
    input:
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
        "<benchmarks>/{feature}/{hasher}/count.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("count"),
    params:
        combinations=keys("split", "run"),
        index_order=in_database_order(CONFIG["metrics"]),
        code=code("count.py"),
    message:
        "counts: {wildcards.hasher} on {wildcards.feature}"
    script:
        "../scripts/count.py"
