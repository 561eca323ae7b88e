rule feature_part:
    """Extract one feature from one part of the images."""
    input:
        content="<data>/content.h5",
    output:
        features=temp("<data>/{extraction}/parts/{part}.h5"),
    log:
        "<data>/{extraction}/logs/part{part}.log",
    benchmark:
        "<data>/{extraction}/benchmarks/part{part}.tsv"
    wildcard_constraints:
        part="[0-9]+",
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("feature_part"),
    params:
        feature=of("feature.plugin"),
        options=of("feature.options"),
        n_parts=of("n_parts"),
        code=code("feature_part.py", feature=of("feature.plugin")),
    message:
        "features: {wildcards.extraction}, part {wildcards.part} of {params.n_parts}"
    script:
        "../scripts/feature_part.py"


# The rule has no benchmark, since Snakemake writes none if the file is in its cache (`--cache`).
rule feature:
    """Extract one feature from all images, or join the parts for a large dataset."""
    input:
        content="<data>/content.h5",
        parts=of("parts"),
    output:
        features="<data>/{extraction}/features.h5",
    log:
        "<data>/{extraction}/logs/features.log",
    cache: True
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("feature"),
    params:
        feature=of("feature.plugin"),
        options=of("feature.options"),
        code=code("feature.py", feature=of("feature.plugin")),
    message:
        "features: {wildcards.extraction}"
    script:
        "../scripts/feature.py"


rule features:
    """Extract all features of the experiment."""
    input:
        [f"<data>/{name}/features.h5" for name in EXPERIMENT.extractions],
    localrule: True


rule preprocessing:
    """Fit the preprocessing of one feature on the training set of one run."""
    input:
        features=file("<data>/{extraction}/features.h5"),
        sample="<results>/samples/{sample}/run{run}.h5",
    output:
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/preprocessing.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/preprocessing.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("preprocessing"),
    params:
        feature=of("feature.plugin"),
        options=of("feature.options"),
        steps=of("feature.steps"),
        seed=of("preprocessing_seed"),
        code=code("preprocessing.py", feature=of("feature.plugin")),
    message:
        "preprocessing: {wildcards.feature}, sample {wildcards.sample}, run {wildcards.run}"
    script:
        "../scripts/preprocessing.py"
