# The leak study measures how much training on the database raises the scores. Each run has two databases. A hasher is
# trained on items of each of them, and ranks both.
SIDES = [f"<results>/leak/run{{run}}/splits_{side}.h5" for side in ("a", "b")]
LEAK_SCORES = PLAN.each_trained("<results>/leak/run{run}/{feature}/{hasher}.csv")


rule leak_split:
    """Draw queries and two equal databases, with the training sets inside each."""
    input:
        labels="<data>/items.h5",
    output:
        sides=SIDES,
    log:
        "<logs>/leak/run{run}/splits.log",
    benchmark:
        "<benchmarks>/leak/run{run}/splits.tsv"
    conda:
        "../../envs/protocol.yaml"
    params:
        sizes={key: size for key, size in CONFIG["leak"].items() if key != "controls"},
        seed=PLAN.leak_seed,
        code=code("leak_split.py"),
    message:
        "leak: two databases, run {wildcards.run}"
    script:
        "../scripts/leak_split.py"


# Everything except the hasher is fitted once, on items that are in neither database.
use rule preprocessing as leak_preprocessing with:
    input:
        features=features,
        sample=SIDES[0],
    output:
        preprocessing="<results>/leak/run{run}/{feature}/preprocessing.h5",
    log:
        "<logs>/leak/run{run}/{feature}/preprocessing.log",
    benchmark:
        "<benchmarks>/leak/run{run}/{feature}/preprocessing.tsv"
    message:
        "leak: preprocessing of {wildcards.feature}, run {wildcards.run}"


use rule ground_truth as leak_ground_truth with:
    input:
        labels="<data>/items.h5",
        features=features,
        preprocessing="<results>/leak/run{run}/{feature}/preprocessing.h5",
        splits=SIDES,
    output:
        ground_truth="<results>/leak/run{run}/{feature}/ground_truth.h5",
    log:
        "<logs>/leak/run{run}/{feature}/ground_truth.log",
    benchmark:
        "<benchmarks>/leak/run{run}/{feature}/ground_truth.tsv"
    params:
        splits=["a", "b"],
    message:
        "leak: ground truth of {wildcards.feature}, run {wildcards.run}"


rule leak_score:
    """Train one hasher inside each database of a run and rank both databases with both models."""
    input:
        features=features,
        preprocessing="<results>/leak/run{run}/{feature}/preprocessing.h5",
        sides=SIDES,
        ground_truth="<results>/leak/run{run}/{feature}/ground_truth.h5",
    output:
        scores="<results>/leak/run{run}/{feature}/{hasher}.csv",
        checksums=checksums("<results>/leak/run{run}/{feature}/{hasher}.csv"),
    log:
        "<logs>/leak/run{run}/{feature}/{hasher}.log",
    benchmark:
        "<benchmarks>/leak/run{run}/{feature}/{hasher}.tsv"
    conda:
        "../../envs/protocol.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1500 + 4 * mb(input)),
    params:
        dataset=DATASET,
        feature=PLAN.feature,
        hasher=PLAN.hasher,
        undefined=CONFIG["undefined"],
        seeds=PLAN.leak_model_seeds,
        code=code(
            "leak_score.py", feature=PLAN.feature, hasher=PLAN.hasher, metric="mAP"
        ),
    message:
        "leak: {wildcards.hasher} on {wildcards.feature}, run {wildcards.run}"
    script:
        "../scripts/leak_score.py"


rule leak:
    """Gather the scores of the leak study into tables, a text and a figure."""
    input:
        labels="<data>/items.h5",
        scores=LEAK_SCORES,
        checksums=checksums(*LEAK_SCORES),
    output:
        leaks="<results>/leak.csv",
        summary="<results>/leak_summary.csv",
        text="<results>/leak.md",
        figure="<results>/leak.svg",
        checksums=checksums("<results>/leak.csv", "<results>/leak_summary.csv"),
    log:
        "<logs>/leak.log",
    benchmark:
        "<benchmarks>/leak.tsv"
    conda:
        "../../envs/protocol.yaml"
    params:
        experiment=EXPERIMENT.name,
        study=CONFIG["leak"],
        code=code("leak.py"),
    message:
        "leak: {output.summary}"
    script:
        "../scripts/leak.py"
