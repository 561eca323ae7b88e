rule count:
    """Count the database items at each Hamming distance, in the database of every split protocol of a draw."""
    input:
        stamps("count.py"),
        codes="<results>/{feature}/{draw}/run{run}/{hasher}/codes.h5",
        ground_truth="<results>/{feature}/{draw}/run{run}/ground_truth.h5",
        splits=files("<results>/splits/{split}/run{run}/splits.h5"),
    output:
        counts="<results>/{feature}/{draw}/run{run}/{hasher}/counts.h5",
    log:
        "<logs>/{feature}/{draw}/run{run}/{hasher}/counts.log",
    benchmark:
        "<benchmarks>/{feature}/{draw}/run{run}/{hasher}/count.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("count"),
    params:
        splits=files("{split}"),
        index_order="index_average_precision" in needs_of_metrics(CONFIG["metrics"]),
        code=code("count.py"),
    message:
        "counts: {wildcards.hasher} on {wildcards.feature}, draw {wildcards.draw}, run {wildcards.run}"
    script:
        "../scripts/count.py"
