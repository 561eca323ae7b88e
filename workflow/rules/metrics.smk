rule counts:
    """Count the distances for all hashers of the experiment."""
    input:
        each("<results>/{feature}/counts/{hasher}.h5"),
    localrule: True


rule excluded:
    """List the queries that the key `exclude_queries` excludes from the scores of every split and run."""
    input:
        labels="<data>/items.h5",
        splits=each("<results>/splits/{split}/run{run}/splits.h5"),
        file=local_files("plan.exclusion_file"),
    output:
        excluded="<results>/excluded.csv",
        checksums=checksums("<results>/excluded.csv"),
    log:
        "<logs>/excluded.log",
    benchmark:
        "<benchmarks>/excluded.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("excluded"),
    params:
        splits=PLAN.keys("split", "run"),
        state=[datasets.file_state(path) for path in PLAN.exclusion_file],
        code=code("excluded.py"),
    message:
        "table: {output.excluded}"
    script:
        "../scripts/excluded.py"


rule score:
    """Compute every metric of one hasher, over all runs and splits of a feature."""
    input:
        counts="<results>/{feature}/counts/{hasher}.h5",
        excluded=PLAN.excluded,
        checksums=checksums(*PLAN.excluded),
    output:
        scores="<results>/{feature}/scores/{hasher}.csv",
        checksums=checksums("<results>/{feature}/scores/{hasher}.csv"),
    log:
        "<logs>/{feature}/scores/{hasher}.log",
    benchmark:
        "<benchmarks>/{feature}/{hasher}/score.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("score"),
    params:
        dataset=DATASET,
        extensions=of("extensions"),
        metrics=CONFIG["metrics"],
        undefined=CONFIG["undefined"],
        code=code("score.py", metric=tuple(CONFIG["metrics"])),
    message:
        "scores: {wildcards.hasher} on {wildcards.feature}"
    script:
        "../scripts/score.py"


SCORES = each("<results>/{feature}/scores/{hasher}.csv")


rule metrics:
    """Gather the scores into metrics.csv, their means over the runs into summary.csv, and the runs into runs.csv."""
    input:
        scores=SCORES,
        excluded=PLAN.excluded,
        checksums=checksums(*SCORES, *PLAN.excluded),
    output:
        metrics="<results>/metrics.csv",
        runs="<results>/runs.csv",
        summary=report(
            "<results>/summary.csv",
            caption="../report/summary.rst",
            category="Tables",
            labels={"table": "every metric, mean over the runs"},
        ),
        checksums=checksums(
            "<results>/metrics.csv", "<results>/runs.csv", "<results>/summary.csv"
        ),
    log:
        "<logs>/metrics.log",
    benchmark:
        "<benchmarks>/metrics.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("metrics"),
    params:
        undefined=CONFIG["undefined"],
        options=PLAN.options_of_scores,
        supervision=PLAN.supervision_of_methods,
        code=code("metrics.py", metric=tuple(CONFIG["metrics"])),
    message:
        "tables: {output.metrics}, {output.summary} and {output.runs}"
    script:
        "../scripts/metrics.py"
