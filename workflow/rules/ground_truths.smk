rule ground_truth:
    """Build the ground truths of one run, for the database of every split protocol of a draw."""
    input:
        labels="<data>/items.h5",
        features=features_of,
        preprocessing="<results>/{feature}/{draw}/run{run}/preprocessing.h5",
        splits=split_files,
    output:
        ground_truth="<results>/{feature}/{draw}/run{run}/ground_truth.h5",
    log:
        "<logs>/{feature}/{draw}/run{run}/ground_truth.log",
    benchmark:
        "<benchmarks>/{feature}/{draw}/run{run}/ground_truth.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=memory("ground_truth"),
        runtime=minutes("ground_truth"),
    params:
        feature=feature_plugin,
        options=feature_options,
        steps=preprocessing_steps,
        splits=splits_of_draw,
        ground_truths=ground_truths_of,
        seed=ground_truth_seed,
        code=code_of("ground_truth.py", "feature", "ground_truths"),
    message:
        "ground truth: {wildcards.feature}, draw {wildcards.draw}, run {wildcards.run}"
    script:
        "../scripts/ground_truth.py"


rule ground_truths:
    """Build all ground truths of the experiment."""
    input:
        each("<results>/{feature}/{draw}/run{run}/ground_truth.h5"),
    localrule: True


# The seed is that of the ground truth with which codes are scored, so that the radii are the same. The job that trains
# a hasher reads no labels of other items.
rule supervision:
    """Build the ground truth among the training rows that supervised hashers learn from."""
    input:
        labels="<data>/items.h5",
        features=features_of,
        draw="<results>/draws/{draw}/run{run}.h5",
        preprocessing="<results>/{feature}/{draw}/run{run}/preprocessing.h5",
    output:
        supervision="<results>/{feature}/{draw}/run{run}/{supervision}.h5",
    log:
        "<logs>/{feature}/{draw}/run{run}/{supervision}.log",
    benchmark:
        "<benchmarks>/{feature}/{draw}/run{run}/{supervision}/supervision.tsv"
    wildcard_constraints:
        supervision="|".join(SUPERVISING),
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=memory("supervision"),
        runtime=minutes("supervision"),
    params:
        feature=feature_plugin,
        options=feature_options,
        steps=preprocessing_steps,
        ground_truth=supervising_plugin,
        ground_truth_options=supervising_options,
        seed=ground_truth_seed,
        code=code_of("supervision.py", "feature", "supervision"),
    message:
        "supervision: {wildcards.supervision} of {wildcards.feature}, draw {wildcards.draw}, run {wildcards.run}"
    script:
        "../scripts/supervision.py"
