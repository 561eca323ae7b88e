rule audit:
    """Audit every split of the experiment, and everything that was fitted on it."""
    input:
        content="<data>/content.h5",
        labels="<data>/items.h5",
        features=each("<data>/{extraction}/features.h5"),
        samples=each("<results>/samples/{sample}/run{run}.h5"),
        splits=each("<results>/splits/{split}/run{run}/splits.h5"),
        preprocessing=each("<results>/{feature}/{sample}/run{run}/preprocessing.h5"),
        ground_truths=each("<results>/{feature}/{sample}/run{run}/ground_truth.h5"),
        selections=PLAN.selections,
        supervision=PLAN.supervisions,
        training_labels=user_files(TRAINING_LABELS),
    output:
        **sealed(
            audit=report(
                "<results>/audit.csv",
                caption="../report/audit.rst",
                category="Tables",
                labels={"table": "findings of the audit"},
            )
        ),
    log:
        "<logs>/audit.log",
    benchmark:
        "<benchmarks>/audit.tsv"
    params:
        training_labels=CONFIG["training_labels"],
        states=records.states(TRAINING_LABELS),
        code=code("audit.py", feature=PLAN.plugins["feature"], split=EXPERIMENT.splits),
    script:
        "../scripts/audit.py"
