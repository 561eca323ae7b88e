rule ground_truth:
    """Build the ground truths of one run, for the database of every split protocol of a sampled split."""
    input:
        labels="<data>/items.h5",
        features=file("<data>/{extraction}/features.h5"),
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
        splits=files("<results>/splits/{split}/run{run}/splits.h5"),
    output:
        ground_truth="<results>/{feature}/{sample}/run{run}/ground_truth.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/ground_truth.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/ground_truth.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("ground_truth"),
    params:
        feature=of("feature.plugin"),
        options=of("feature.options"),
        steps=of("feature.steps"),
        splits=files("{split}"),
        ground_truths=of("ground_truths"),
        seed=of("ground_truth_seed"),
        code=code(
            "ground_truth.py",
            feature=of("feature.plugin"),
            ground_truth=of("ground_truth_plugins"),
        ),
    message:
        "ground truth: {wildcards.feature}, sample {wildcards.sample}, run {wildcards.run}"
    script:
        "../scripts/ground_truth.py"


rule ground_truths:
    """Build all ground truths of the experiment."""
    input:
        each("<results>/{feature}/{sample}/run{run}/ground_truth.h5"),
    localrule: True


# The seed is that of the ground truth with which codes are scored, so that the radii are the same. The job that trains
# a hasher reads no labels of other items.
rule supervision:
    """Build the ground truth among the training rows that supervised hashers learn from."""
    input:
        labels="<data>/items.h5",
        features=file("<data>/{extraction}/features.h5"),
        sample="<results>/samples/{sample}/run{run}.h5",
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
    output:
        supervision="<results>/{feature}/{sample}/run{run}/{supervision}.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/{supervision}.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{supervision}/supervision.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("supervision"),
    params:
        feature=of("feature.plugin"),
        options=of("feature.options"),
        steps=of("feature.steps"),
        ground_truth=of("supervising.plugin"),
        ground_truth_options=of("supervising.options"),
        seed=of("ground_truth_seed"),
        code=code(
            "supervision.py",
            feature=of("feature.plugin"),
            ground_truth=of("supervising.plugin"),
        ),
    message:
        "supervision: {wildcards.supervision} of {wildcards.feature}, sample {wildcards.sample}, run {wildcards.run}"
    script:
        "../scripts/supervision.py"
