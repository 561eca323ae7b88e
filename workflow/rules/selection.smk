rule search:
    input:
        unpack(supervised),
        labels="<results>/items.h5",
        features="<results>/{feature}/features.h5",
        splits="<results>/splits/{split}/run{run}/splits.h5",
        preprocessing="<results>/{feature}/{split}/run{run}/preprocessing.h5",
    output:
        selection=SELECTION,
    log:
        "<logs>/{feature}/{split}/run{run}/{hasher}/selection.log",
    benchmark:
        "<benchmarks>/{feature}/{split}/run{run}/{hasher}/selection.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["search"],
    params:
        cell=lambda wc: {
            "dataset": SET["dataset"],
            **dict(wc.items()),
            "run": int(wc.run),
        },
        grid=lambda wc: SET["hasher_grids"][wc.hasher],
        hasher_options=lambda wc: SET["hasher_options"][wc.hasher],
        model_seeds=model_seeds,
        criterion=criterion,
        truth_options=lambda wc: SET["ground_truth_options"][
            criterion(wc)["ground_truth"]
        ],
        truth_seed=truth_seed,
        options=lambda wc: grid(wc).options,
        steps=lambda wc: grid(wc).steps,
        code=lambda wc: code(
            "search.py",
            hasher=wc.hasher,
            feature=wc.feature,
            ground_truth=criterion(wc)["ground_truth"],
            metric=criterion(wc)["metric"],
        ),
    message:
        "selection: {wildcards.hasher} on {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/search.py"


rule choices:
    input:
        selections=SELECTIONS,
    output:
        table="<results>/selection.csv",
    log:
        "<logs>/selection.log",
    benchmark:
        "<benchmarks>/selection.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["choices"],
    params:
        code=code("choices.py"),
    message:
        "table: {output.table}"
    script:
        "../scripts/choices.py"


rule select:
    input:
        selection_table,
    localrule: True
