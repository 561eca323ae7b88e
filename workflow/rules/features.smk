# The rule has no benchmark, since Snakemake writes none if the file is in its cache (`--cache`).
rule feature:
    """Extract one feature from all images, or join the parts for a large dataset."""
    input:
        content="<data>/content.h5",
        parts=parts,
    output:
        features="<data>/{extraction}/features.h5",
    log:
        "<data>/{extraction}/logs/features.log",
    cache: True
    params:
        feature=PLAN.extraction,
        code=code("feature.py", feature=PLAN.extraction),
    script:
        "../scripts/feature.py"


use rule feature as feature_part with:
    input:
        content="<data>/content.h5",
    output:
        features=temp("<data>/{extraction}/parts/{part}.h5"),
    log:
        "<data>/{extraction}/logs/part{part}.log",
    benchmark:
        "<data>/{extraction}/benchmarks/part{part}.tsv"
    cache: False
    params:
        n_parts=PLAN.n_parts,


rule preprocessing:
    """Fit the preprocessing of one feature on the training set of one run."""
    input:
        features=features,
        sample="<results>/samples/{sample}/run{run}.h5",
    output:
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/preprocessing.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/preprocessing.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1000 + mb(input) // 4),
    params:
        feature=PLAN.feature,
        seed=PLAN.preprocessing_seed,
        code=code("preprocessing.py", feature=PLAN.feature),
    script:
        "../scripts/preprocessing.py"
