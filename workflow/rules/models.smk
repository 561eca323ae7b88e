rule selection:
    """Choose one hasher's options from its grid, on the validation partitions of one run."""
    input:
        unpack(supervision_of),
        labels="<data>/items.h5",
        features=features_of,
        draw="<results>/draws/{draw}/run{run}.h5",
        preprocessing="<results>/{feature}/{draw}/run{run}/preprocessing.h5",
    output:
        selection="<results>/{feature}/{draw}/run{run}/{hasher}/selection.h5",
    log:
        "<logs>/{feature}/{draw}/run{run}/{hasher}/selection.log",
    benchmark:
        "<benchmarks>/{feature}/{draw}/run{run}/{hasher}/selection.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=memory("selection"),
        runtime=minutes("selection"),
    params:
        dataset=DATASET,
        feature=feature_plugin,
        options=feature_options,
        steps=preprocessing_steps,
        hasher=hasher_plugin,
        hasher_options=hasher_options,
        grid=hasher_grid,
        model_seeds=model_seeds,
        criterion=selection_criterion,
        ground_truth=selecting_plugin,
        ground_truth_options=selecting_options,
        ground_truth_seed=ground_truth_seed,
        code=code_of(
            "selection.py", "feature", "hasher", "selection", "selection metric"
        ),
    message:
        "selection: {wildcards.hasher} on {wildcards.feature}, draw {wildcards.draw}, run {wildcards.run}"
    script:
        "../scripts/selection.py"


rule selection_table:
    """Gather the scores of every searched option and the choices."""
    input:
        selections=SELECTIONS,
    output:
        table="<results>/selection.csv",
        checksums=checksums("<results>/selection.csv"),
    log:
        "<logs>/selection.log",
    benchmark:
        "<benchmarks>/selection_table.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=memory("selection_table"),
        runtime=minutes("selection_table"),
    params:
        code=code("selection_table.py"),
    message:
        "table: {output.table}"
    script:
        "../scripts/selection_table.py"


rule selections:
    """Choose the options of all hashers that have a grid."""
    input:
        required_selection_table,
    localrule: True


# The job reuses models of its previous output that would not change, so that after a code length is added, only that
# length is trained.
rule model:
    """Train one hasher on the training set of one run, at every code length, and encode the queries and all items."""
    input:
        unpack(selection_of),
        unpack(supervision_of),
        features=features_of,
        draw="<results>/draws/{draw}/run{run}.h5",
        preprocessing="<results>/{feature}/{draw}/run{run}/preprocessing.h5",
    output:
        models="<results>/{feature}/{draw}/run{run}/{hasher}/models.h5",
        codes="<results>/{feature}/{draw}/run{run}/{hasher}/codes.h5",
    log:
        "<logs>/{feature}/{draw}/run{run}/{hasher}/model.log",
    benchmark:
        "<benchmarks>/{feature}/{draw}/run{run}/{hasher}/model.tsv"
    wildcard_constraints:
        hasher=TRAINED,
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=memory("model"),
        runtime=minutes("model"),
    params:
        feature=feature_plugin,
        options=feature_options,
        steps=preprocessing_steps,
        hasher=hasher_plugin,
        hasher_options=hasher_options,
        seeds=model_seeds,
        code=code_of("model.py", "feature", "hasher"),
    message:
        "model: {wildcards.hasher} on {wildcards.feature}, draw {wildcards.draw}, run {wildcards.run}"
    script:
        "../scripts/model.py"


rule finished_codes:
    """Read the codes of a method that were computed elsewhere, for the splits of one draw."""
    input:
        files=finished_paths,
        splits=counted_split_files,
    output:
        codes="<results>/{feature}/{draw}/run{run}/{hasher}/codes.h5",
    log:
        "<logs>/{feature}/{draw}/run{run}/{hasher}/finished_codes.log",
    benchmark:
        "<benchmarks>/{feature}/{draw}/run{run}/{hasher}/finished_codes.tsv"
    wildcard_constraints:
        hasher=FINISHED,
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=memory("finished_codes"),
        runtime=minutes("finished_codes"),
    params:
        files=finished_files,
        options=finished_options,
        code=code("finished_codes.py"),
    message:
        "finished codes: {wildcards.hasher} on {wildcards.feature}, draw {wildcards.draw}, run {wildcards.run}"
    script:
        "../scripts/finished_codes.py"


rule models:
    """Train all hashers of the experiment and encode the items; read the finished codes."""
    input:
        each("<results>/{feature}/{draw}/run{run}/{hasher}/codes.h5"),
    localrule: True
