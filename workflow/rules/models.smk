rule selection:
    """Choose one hasher's options from its grid, on the validation partitions of one run."""
    input:
        unpack(supervision),
        labels="<data>/items.h5",
        features=features,
        sample="<results>/samples/{sample}/run{run}.h5",
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
    output:
        selection="<results>/{feature}/{sample}/run{run}/{hasher}/selection.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/{hasher}/selection.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{hasher}/selection.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1500 + mb(input) // 4),
        runtime=lambda wildcards, input, attempt: attempt * (240 + mb(input) // 10),
    params:
        dataset=DATASET,
        feature=PLAN.feature,
        hasher=PLAN.hasher,
        grid=PLAN.grid,
        model_seeds=PLAN.model_seeds,
        criterion=PLAN.criterion,
        ground_truth=PLAN.selecting,
        ground_truth_seed=PLAN.ground_truth_seed,
        code=code(
            "selection.py",
            feature=PLAN.feature,
            hasher=PLAN.hasher,
            ground_truth=PLAN.selecting,
            metric=CONFIG["selection"]["metric"],
        ),
    script:
        "../scripts/selection.py"


# The job reuses models of its previous output that would not change, so that after a code length is added, only that
# length is trained.
rule model:
    """Train one hasher on the training set of one run, at every code length, and encode the queries and all items."""
    input:
        unpack(selection),
        unpack(supervision),
        features=features,
        sample="<results>/samples/{sample}/run{run}.h5",
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
    output:
        models="<results>/{feature}/{sample}/run{run}/{hasher}/models.h5",
        codes="<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5",
        times="<benchmarks>/{feature}/{sample}/run{run}/{hasher}/times.csv",
    log:
        "<logs>/{feature}/{sample}/run{run}/{hasher}/model.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{hasher}/model.tsv"
    wildcard_constraints:
        hasher="|".join(EXPERIMENT.hashers),
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1500 + mb(input) // 4),
        runtime=lambda wildcards, input, attempt: attempt * (120 + mb(input) // 10),
    params:
        feature=PLAN.feature,
        hasher=PLAN.hasher,
        seeds=PLAN.model_seeds,
        code=code("model.py", feature=PLAN.feature, hasher=PLAN.hasher),
    script:
        "../scripts/model.py"


rule precomputed_codes:
    """Read the codes of a method that were computed elsewhere, for all splits with the same sample."""
    input:
        files=lambda wildcards: user_files(PLAN.code_paths(wildcards)),
        splits=splits,
    output:
        codes="<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/{hasher}/precomputed_codes.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{hasher}/precomputed_codes.tsv"
    wildcard_constraints:
        # The pattern of a wildcard must not be empty.
        hasher="|".join(EXPERIMENT.codes) or "nothing",
    params:
        files=PLAN.code_files,
        states=lambda wildcards: records.states(PLAN.code_paths(wildcards)),
        options=PLAN.code_options,
        code=code("precomputed_codes.py"),
    script:
        "../scripts/precomputed_codes.py"
