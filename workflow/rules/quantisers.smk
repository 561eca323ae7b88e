QUANTISED = each("<results>/{feature}/{sample}/run{run}/quantisers.csv")


rule quantised:
    """Compare quantisers and hashers at equal bytes, for every split of a sampled split in one run."""
    input:
        features=features,
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
        splits=splits,
    output:
        **sealed(quantisers="<results>/{feature}/{sample}/run{run}/quantisers.csv"),
    log:
        "<logs>/{feature}/{sample}/run{run}/quantisers.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/quantisers.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1500 + 4 * mb(input)),
    params:
        dataset=DATASET,
        feature=PLAN.feature,
        splits=names_of_splits,
        ground_truths=PLAN.ground_truths,
        quantisers=CONFIG["quantisers"],
        seed=PLAN.ground_truth_seed,
        code=code("quantised.py", feature=PLAN.feature, **PLAN.quantisers),
    script:
        "../scripts/quantised.py"


rule quantisers:
    """Gather the shares of the nearest items that quantisers find into quantisers.csv."""
    input:
        **sealed(tables=QUANTISED),
    output:
        **sealed(quantisers="<results>/quantisers.csv"),
    log:
        "<logs>/quantisers.log",
    params:
        code=code("quantisers.py"),
    script:
        "../scripts/quantisers.py"
