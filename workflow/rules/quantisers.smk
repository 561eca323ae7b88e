rule quantised:
    """Compare quantisers and hashers at equal bytes, for every split of a sampled split in one run."""
    input:
        features=file("<data>/{extraction}/features.h5"),
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
        splits=files("<results>/splits/{split}/run{run}/splits.h5"),
    output:
        quantisers="<results>/{feature}/{sample}/run{run}/quantisers.csv",
        checksums=checksums("<results>/{feature}/{sample}/run{run}/quantisers.csv"),
    log:
        "<logs>/{feature}/{sample}/run{run}/quantisers.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/quantisers.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("quantised"),
    params:
        dataset=DATASET,
        feature=of("feature.plugin"),
        options=of("feature.options"),
        steps=of("feature.steps"),
        splits=files("{split}"),
        ground_truths=of("ground_truths"),
        quantisers=CONFIG["quantisers"],
        seed=of("ground_truth_seed"),
        code=code("quantised.py", feature=of("feature.plugin"), **PLAN.quantisers),
    message:
        "quantisers: {wildcards.feature}, sample {wildcards.sample}, run {wildcards.run}"
    script:
        "../scripts/quantised.py"


QUANTISED = each("<results>/{feature}/{sample}/run{run}/quantisers.csv")


rule quantisers:
    """Gather the shares of the nearest items that quantisers find into quantisers.csv."""
    input:
        tables=QUANTISED,
        checksums=checksums(*QUANTISED),
    output:
        quantisers="<results>/quantisers.csv",
        checksums=checksums("<results>/quantisers.csv"),
    log:
        "<logs>/quantisers.log",
    benchmark:
        "<benchmarks>/quantisers.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("quantisers"),
    params:
        code=code("quantisers.py"),
    message:
        "quantisers: {output.quantisers}"
    script:
        "../scripts/quantisers.py"
