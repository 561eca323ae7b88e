EXCLUDED = ["<results>/excluded.csv"] if PLAN.exclusion_file else []
EXCLUDED_OF = {"scores": EXCLUDED, "duplicates": ["<results>/near_duplicates.csv"]}
SCORES = each("<results>/{feature}/scores/{hasher}.csv")
SCORES += each("<results>/{feature}/scores/unhashed.csv") if CONFIG["unhashed"] else []
WITHOUT = each("<results>/{feature}/duplicates/{hasher}.csv") if PLAN.duplicates else []


rule excluded:
    """List the queries of every split and run that no score contains: those of the user's file, or near-duplicates."""
    input:
        labels="<data>/items.h5",
        splits=each("<results>/splits/{split}/run{run}/splits.h5"),
        file=user_files(PLAN.exclusion_file),
    output:
        **sealed(excluded="<results>/{excluded}.csv"),
    log:
        "<logs>/{excluded}.log",
    params:
        split_runs=PLAN.split_runs,
        states=records.states(PLAN.exclusion_file),
        near_duplicates=lambda wildcards: (
            known_pairs_sha256(DATASET) if wildcards.excluded == "near_duplicates" else None
        ),
        code=code("excluded.py"),
    script:
        "../scripts/excluded.py"


# `duplicates` has every metric without the queries that have a near-duplicate in the database or the training set.
rule score:
    """Compute every metric of one hasher, over all runs and splits of a feature."""
    input:
        unpack(lambda wildcards: sealed(excluded=EXCLUDED_OF[wildcards.scores])),
        counts="<results>/{feature}/counts/{hasher}.h5",
    output:
        **sealed(scores="<results>/{feature}/{scores}/{hasher}.csv"),
    log:
        "<logs>/{feature}/{scores}/{hasher}.log",
    benchmark:
        "<benchmarks>/{feature}/{scores}/{hasher}.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1000 + 10 * mb(input)),
    params:
        dataset=DATASET,
        extensions=PLAN.extensions,
        metrics=CONFIG["metrics"],
        undefined=CONFIG["undefined"],
        code=code("score.py", metric=METRICS),
    script:
        "../scripts/score.py"


rule unhashed:
    """Compute the metrics of the vectors of a feature, before the preprocessing, over all runs and splits."""
    input:
        **sealed(excluded=EXCLUDED),
        features=features,
        preprocessing=of_each_split("<results>/{feature}/{sample}/run{run}/preprocessing.h5"),
        ground_truths=of_each_split("<results>/{feature}/{sample}/run{run}/ground_truth.h5"),
        splits=of_each_split("<results>/splits/{split}/run{run}/splits.h5"),
    output:
        **sealed(scores="<results>/{feature}/scores/unhashed.csv"),
    log:
        "<logs>/{feature}/scores/unhashed.log",
    benchmark:
        "<benchmarks>/{feature}/scores/unhashed.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1500 + 2 * mb(input)),
        runtime=lambda wildcards, input, attempt: attempt * (60 + mb(input)),
    params:
        dataset=DATASET,
        feature=PLAN.feature,
        split_runs=PLAN.split_runs,
        distance=CONFIG["unhashed"],
        metrics=CONFIG["metrics"],
        undefined=CONFIG["undefined"],
        code=code("unhashed.py", feature=PLAN.feature, metric=METRICS),
    script:
        "../scripts/unhashed.py"


rule metrics:
    """Gather the scores, their means over the runs, the runs, the options selected, and the effect of near-duplicates."""
    input:
        **sealed(scores=SCORES, without=WITHOUT, excluded=EXCLUDED),
        selections=PLAN.selections,
    output:
        **sealed(
            metrics="<results>/metrics.csv",
            runs="<results>/runs.csv",
            summary=report(
                "<results>/summary.csv",
                caption="../report/summary.rst",
                category="Tables",
                labels={"table": "every metric, mean over the runs"},
            ),
            selection=PLAN.selection_table,
            duplicates=PLAN.duplicates,
        ),
    log:
        "<logs>/metrics.log",
    params:
        undefined=CONFIG["undefined"],
        options=PLAN.options_of_scores,
        supervision=PLAN.supervision_of_methods,
        unhashed=CONFIG["unhashed"],
        code=code("metrics.py", metric=METRICS),
    script:
        "../scripts/metrics.py"
