# Every metric without the queries that have a near-duplicate in the database or the training set. These rules exist
# only for datasets for which the project contains judged pairs.
rule score_without:
    """Compute every metric of one hasher, as `score` does, without the queries that have a judged near-duplicate."""
    input:
        labels="<data>/items.h5",
        splits=files("<results>/splits/{split}/run{run}/splits.h5"),
        counts="<results>/{feature}/counts/{hasher}.h5",
        excluded=PLAN.excluded,
        checksums=checksums(*PLAN.excluded),
    output:
        scores="<results>/{feature}/duplicates/{hasher}.csv",
        checksums=checksums("<results>/{feature}/duplicates/{hasher}.csv"),
    log:
        "<logs>/{feature}/duplicates/{hasher}.log",
    benchmark:
        "<benchmarks>/{feature}/{hasher}/score_without.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("score_without"),
    params:
        dataset=DATASET,
        splits=keys("split", "run"),
        metrics=CONFIG["metrics"],
        undefined=CONFIG["undefined"],
        pairs=known_pairs_sha256(DATASET),
        code=code("score_without.py", metric=tuple(CONFIG["metrics"])),
    message:
        "scores without near-duplicates: {wildcards.hasher} on {wildcards.feature}"
    script:
        "../scripts/score_without.py"


SCORES_WITHOUT = each("<results>/{feature}/duplicates/{hasher}.csv")


rule duplicates:
    """Gather the scores with and without these queries, their differences, and the ranks of the hashers."""
    input:
        scores=SCORES,
        without=SCORES_WITHOUT,
        checksums=checksums(*SCORES, *SCORES_WITHOUT),
    output:
        duplicates="<results>/duplicates.csv",
        checksums=checksums("<results>/duplicates.csv"),
    log:
        "<logs>/duplicates.log",
    benchmark:
        "<benchmarks>/duplicates.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("duplicates"),
    params:
        code=code("duplicates.py", metric=tuple(CONFIG["metrics"])),
    message:
        "table: {output.duplicates}"
    script:
        "../scripts/duplicates.py"
