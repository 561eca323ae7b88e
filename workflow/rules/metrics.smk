from protocol.auditing import known_pairs_sha256

EXCLUDED = ["<results>/excluded.csv"] if PLAN.exclusion_file else []
SCORES = each("<results>/{feature}/scores/{hasher}.csv")
WITHOUT = each("<results>/{feature}/duplicates/{hasher}.csv") if PLAN.duplicates else []


rule excluded:
    """List the queries that the key `exclude_queries` excludes from the scores of every split and run."""
    input:
        labels="<data>/items.h5",
        splits=each("<results>/splits/{split}/run{run}/splits.h5"),
        file=user_files(PLAN.exclusion_file),
    output:
        excluded="<results>/excluded.csv",
        checksums=checksums("<results>/excluded.csv"),
    log:
        "<logs>/excluded.log",
    benchmark:
        "<benchmarks>/excluded.tsv"
    conda:
        "../../envs/protocol.yaml"
    params:
        split_runs=PLAN.split_runs,
        states=records.states(PLAN.exclusion_file),
        near_duplicates=None,
        code=code("excluded.py"),
    message:
        "table: {output.excluded}"
    script:
        "../scripts/excluded.py"


rule score:
    """Compute every metric of one hasher, over all runs and splits of a feature."""
    input:
        counts="<results>/{feature}/counts/{hasher}.h5",
        excluded=EXCLUDED,
        checksums=checksums(*EXCLUDED),
    output:
        scores="<results>/{feature}/scores/{hasher}.csv",
        checksums=checksums("<results>/{feature}/scores/{hasher}.csv"),
    log:
        "<logs>/{feature}/scores/{hasher}.log",
    benchmark:
        "<benchmarks>/{feature}/{hasher}/score.tsv"
    conda:
        "../../envs/protocol.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1000 + 10 * mb(input)),
    params:
        dataset=DATASET,
        extensions=PLAN.extensions,
        metrics=CONFIG["metrics"],
        undefined=CONFIG["undefined"],
        code=code("score.py", metric=METRICS),
    message:
        "scores: {wildcards.hasher} on {wildcards.feature}"
    script:
        "../scripts/score.py"


rule metrics:
    """Gather the scores, their means over the runs, the runs, the options selected, and the effect of near-duplicates."""
    input:
        scores=SCORES,
        without=WITHOUT,
        excluded=EXCLUDED,
        checksums=checksums(*SCORES, *WITHOUT, *EXCLUDED),
        selections=PLAN.selections,
    output:
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
        checksums=checksums(
            *(f"<results>/{name}.csv" for name in ("metrics", "runs", "summary")),
            *(PLAN.selection_table + PLAN.duplicates),
        ),
    log:
        "<logs>/metrics.log",
    benchmark:
        "<benchmarks>/metrics.tsv"
    conda:
        "../../envs/protocol.yaml"
    params:
        undefined=CONFIG["undefined"],
        options=PLAN.options_of_scores,
        supervision=PLAN.supervision_of_methods,
        code=code("metrics.py", metric=METRICS),
    message:
        "tables: {output.metrics}, {output.summary} and {output.runs}"
    script:
        "../scripts/metrics.py"


if PLAN.duplicates:

    include: "duplicates.smk"
