rule selection:
    """Choose one hasher's options from its grid, on the validation partitions of one run."""
    input:
        unpack(of("supervision_file")),
        labels="<data>/items.h5",
        features=file("<data>/{extraction}/features.h5"),
        sample="<results>/samples/{sample}/run{run}.h5",
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
    output:
        selection="<results>/{feature}/{sample}/run{run}/{hasher}/selection.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/{hasher}/selection.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{hasher}/selection.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("selection"),
    params:
        dataset=DATASET,
        feature=of("feature.plugin"),
        options=of("feature.options"),
        steps=of("feature.steps"),
        hasher=of("hasher.plugin"),
        hasher_options=of("hasher.options"),
        grid=of("hasher.grid"),
        model_seeds=of("model_seeds"),
        criterion=of("criterion"),
        ground_truth=of("selecting.plugin"),
        ground_truth_options=of("selecting.options"),
        ground_truth_seed=of("ground_truth_seed"),
        code=code(
            "selection.py",
            feature=of("feature.plugin"),
            hasher=of("hasher.plugin"),
            ground_truth=of("selecting.plugin"),
            metric=CONFIG["selection"]["metric"],
        ),
    message:
        "selection: {wildcards.hasher} on {wildcards.feature}, sample {wildcards.sample}, run {wildcards.run}"
    script:
        "../scripts/selection.py"


rule selection_table:
    """Gather the scores of every searched option and the choices."""
    input:
        selections=PLAN.selections,
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
        **needs("selection_table"),
    params:
        code=code("selection_table.py"),
    message:
        "table: {output.table}"
    script:
        "../scripts/selection_table.py"


if PLAN.selections:

    rule selections:
        """Choose the options of all hashers that have a grid."""
        input:
            PLAN.selection_table,
        localrule: True


# The job reuses models of its previous output that would not change, so that after a code length is added, only that
# length is trained.
rule model:
    """Train one hasher on the training set of one run, at every code length, and encode the queries and all items."""
    input:
        unpack(of("selection_file")),
        unpack(of("supervision_file")),
        features=file("<data>/{extraction}/features.h5"),
        sample="<results>/samples/{sample}/run{run}.h5",
        preprocessing="<results>/{feature}/{sample}/run{run}/preprocessing.h5",
    output:
        models="<results>/{feature}/{sample}/run{run}/{hasher}/models.h5",
        codes="<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/{hasher}/model.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{hasher}/model.tsv"
    wildcard_constraints:
        hasher="|".join(EXPERIMENT.hashers),
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("model"),
    params:
        feature=of("feature.plugin"),
        options=of("feature.options"),
        steps=of("feature.steps"),
        hasher=of("hasher.plugin"),
        hasher_options=of("hasher.options"),
        seeds=of("model_seeds"),
        code=code("model.py", feature=of("feature.plugin"), hasher=of("hasher.plugin")),
    message:
        "model: {wildcards.hasher} on {wildcards.feature}, sample {wildcards.sample}, run {wildcards.run}"
    script:
        "../scripts/model.py"


rule finished_codes:
    """Read the codes of a method that were computed elsewhere, for all splits with the same sample."""
    input:
        files=local_files("code_paths"),
        splits=files("<results>/splits/{split}/run{run}/splits.h5"),
    output:
        codes="<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5",
    log:
        "<logs>/{feature}/{sample}/run{run}/{hasher}/finished_codes.log",
    benchmark:
        "<benchmarks>/{feature}/{sample}/run{run}/{hasher}/finished_codes.tsv"
    wildcard_constraints:
        # The pattern of a wildcard must not be empty.
        hasher="|".join(EXPERIMENT.codes) or "nothing",
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("finished_codes"),
    params:
        files=of("code_files"),
        states=states("code_paths"),
        options=of("code_options"),
        code=code("finished_codes.py"),
    message:
        "finished codes: {wildcards.hasher} on {wildcards.feature}, sample {wildcards.sample}, run {wildcards.run}"
    script:
        "../scripts/finished_codes.py"


rule models:
    """Train all hashers of the experiment and encode the items; read the finished codes."""
    input:
        each("<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5"),
    localrule: True
