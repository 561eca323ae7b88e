# Of the features, ground truths by labels read only the training rows, whose digest is recorded.
rule ground_truth:
    """Build the ground truths of one run, for the database of every split protocol of a sampled split."""
    input:
        labels="<data>/items.h5",
        features=features,
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
        splits=splits,
    output:
        ground_truth="<results>/{feature}/{sample}/run{run}/ground_truth.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/ground_truth.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/ground_truth.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (500 + mb(input) // (1 if PLAN.measures(wildcards) else 4)),
    params:
        feature=PLAN.feature,
        splits=names_of_splits,
        ground_truths=PLAN.ground_truths,
        seed=PLAN.ground_truth_seed,
        code=code("ground_truth.py", feature=PLAN.feature, ground_truth=PLAN.ground_truths),
    script:
        "../scripts/ground_truth.py"


# The seed is that of the ground truth with which codes are scored, so that the radii are the same. The job that trains
# a hasher reads no labels of other items.
rule supervision:
    """Build the ground truth among the training rows that supervised hashers learn from."""
    input:
        labels="<data>/items.h5",
        features=features,
        sample="<results>/samples/{sample}/run{run}.h5",
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
        training_labels=user_files(TRAINING_LABELS),
    output:
        supervision="<results>/{feature}/{sample}/run{run}/{supervision}.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/{supervision}.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{supervision}/supervision.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1000 + mb(input) // 4),
    params:
        feature=PLAN.feature,
        ground_truth=PLAN.supervising,
        seed=PLAN.ground_truth_seed,
        training_labels=CONFIG["training_labels"],
        states=records.states(TRAINING_LABELS),
        code=code("supervision.py", feature=PLAN.feature, ground_truth=PLAN.supervising),
    script:
        "../scripts/supervision.py"
