# The leak study measures how much training on the database raises the scores. Each run has two databases. A hasher is
# trained on items of each of them, and ranks both.
LEAK_SCORES = PLAN.each_trained("<results>/leak/run{run}.csv")


rule leak_run:
    """Draw two equal databases, train every hasher inside each of them, and rank both with both models."""
    input:
        labels="<data>/items.h5",
        features=lambda wildcards: [features({"feature": name}) for name in PLAN.leak_features(wildcards)],
    output:
        **sealed(scores="<results>/leak/run{run}.csv"),
    log:
        "<logs>/leak/run{run}.log",
    benchmark:
        "<benchmarks>/leak/run{run}.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (1500 + 4 * mb(input)),
    params:
        dataset=DATASET,
        sizes={key: size for key, size in CONFIG["leak"].items() if key != "controls"},
        features=PLAN.leak_features,
        undefined=CONFIG["undefined"],
        seed=PLAN.leak_seed,
        seeds=PLAN.leak_seeds,
        code=code(
            "leak_run.py",
            feature=PLAN.plugins["feature"],
            hasher=PLAN.plugins["hasher"],
            ground_truth=PLAN.plugins["ground_truth"],
            metric="mAP",
        ),
    script:
        "../scripts/leak_run.py"


rule leak:
    """Gather the scores of the leak study into tables, a text and a figure."""
    input:
        **sealed(scores=LEAK_SCORES),
        labels="<data>/items.h5",
    output:
        **sealed(leaks="<results>/leak.csv", summary="<results>/leak_summary.csv"),
        text="<results>/leak.md",
        figure="<results>/leak.svg",
    log:
        "<logs>/leak.log",
    params:
        experiment=EXPERIMENT.name,
        study=CONFIG["leak"],
        code=code("leak.py"),
    script:
        "../scripts/leak.py"
