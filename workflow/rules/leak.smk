# The leak study measures how much training on the database raises the scores. Each run has two databases. A hasher is
# trained on items of each of them, and ranks both.
rule leak_split:
    """Draw queries and two equal databases, with the training sets inside each."""
    input:
        labels="<data>/items.h5",
    output:
        a="<results>/leak/run{run}/splits_a.h5",
        b="<results>/leak/run{run}/splits_b.h5",
    log:
        "<logs>/leak/run{run}/splits.log",
    benchmark:
        "<benchmarks>/leak/run{run}/splits.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("leak_split"),
    params:
        sizes={key: size for key, size in CONFIG["leak"].items() if key != "controls"},
        seed=of("leak_seed"),
        code=code("leak_split.py"),
    message:
        "leak: two databases, run {wildcards.run}"
    script:
        "../scripts/leak_split.py"


# Everything except the hasher is fitted once, on items that are in neither database.
use rule preprocessing as leak_preprocessing with:
    input:
        features=file("<data>/{extraction}/features.h5"),
        sample="<results>/leak/run{run}/splits_a.h5",
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
        features=file("<data>/{extraction}/features.h5"),
        preprocessing="<results>/leak/run{run}/{feature}/preprocessing.h5",
        splits=[
            "<results>/leak/run{run}/splits_a.h5",
            "<results>/leak/run{run}/splits_b.h5",
        ],
    output:
        ground_truth="<results>/leak/run{run}/{feature}/ground_truth.h5",
    log:
        "<logs>/leak/run{run}/{feature}/ground_truth.log",
    benchmark:
        "<benchmarks>/leak/run{run}/{feature}/ground_truth.tsv"
    params:
        feature=of("feature.plugin"),
        options=of("feature.options"),
        steps=of("feature.steps"),
        splits=["a", "b"],
        ground_truths=of("ground_truths"),
        seed=of("ground_truth_seed"),
        code=code(
            "ground_truth.py",
            feature=of("feature.plugin"),
            ground_truth=of("ground_truth_plugins"),
        ),
    message:
        "leak: ground truth of {wildcards.feature}, run {wildcards.run}"


rule leak_score:
    """Train one hasher inside each database of a run and rank both databases with both models."""
    input:
        features=file("<data>/{extraction}/features.h5"),
        preprocessing="<results>/leak/run{run}/{feature}/preprocessing.h5",
        splits_a="<results>/leak/run{run}/splits_a.h5",
        splits_b="<results>/leak/run{run}/splits_b.h5",
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
    threads: 1
    resources:
        **needs("leak_score"),
    params:
        dataset=DATASET,
        feature=of("feature.plugin"),
        options=of("feature.options"),
        steps=of("feature.steps"),
        hasher=of("hasher.plugin"),
        hasher_options=of("hasher.options"),
        undefined=CONFIG["undefined"],
        seeds=of("leak_model_seeds"),
        code=code(
            "leak_score.py",
            feature=of("feature.plugin"),
            hasher=of("hasher.plugin"),
            metric="mAP",
        ),
    message:
        "leak: {wildcards.hasher} on {wildcards.feature}, run {wildcards.run}"
    script:
        "../scripts/leak_score.py"


LEAK_SCORES = each("<results>/leak/run{run}/{feature}/{hasher}.csv", finished=False)


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
        checksums=checksums(
            "<results>/leak.csv",
            "<results>/leak_summary.csv",
            "<results>/leak.md",
            "<results>/leak.svg",
        ),
    log:
        "<logs>/leak.log",
    benchmark:
        "<benchmarks>/leak.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("leak"),
    params:
        experiment=EXPERIMENT.name,
        study=CONFIG["leak"],
        code=code("leak.py"),
    message:
        "leak: {output.summary}"
    script:
        "../scripts/leak.py"
