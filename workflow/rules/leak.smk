# How much training on the database flatters a hasher: two databases a run, training inside each, ranking both.
rule leak_halves:
    input:
        labels="<results>/items.h5",
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
        **NEEDS["leak_halves"],
    params:
        sizes=lambda wc: {
            key: size for key, size in leak_study().items() if key != "controls"
        },
        seed=lambda wc: derive(SET["seed"], SET["dataset"], "leak", int(wc.run)),
        code=code("halves.py"),
    message:
        "leak: two databases, run {wildcards.run}"
    script:
        "../scripts/halves.py"


# What is not the hasher is fitted once, on items that are in neither database.
use rule preprocess as leak_preprocess with:
    input:
        features="<results>/{feature}/features.h5",
        splits="<results>/leak/run{run}/splits_a.h5",
    output:
        preprocessing="<results>/leak/run{run}/{feature}/preprocessing.h5",
    log:
        "<logs>/leak/run{run}/{feature}/preprocessing.log",
    benchmark:
        "<benchmarks>/leak/run{run}/{feature}/preprocessing.tsv"
    message:
        "leak: preprocessing of {wildcards.feature}, run {wildcards.run}"


use rule relevance as leak_relevance with:
    input:
        labels="<results>/items.h5",
        features="<results>/{feature}/features.h5",
        splits="<results>/leak/run{run}/splits_{side}.h5",
        preprocessing="<results>/leak/run{run}/{feature}/preprocessing.h5",
    output:
        groundtruth="<results>/leak/run{run}/{feature}/groundtruth_{side}.h5",
    log:
        "<logs>/leak/run{run}/{feature}/groundtruth_{side}.log",
    benchmark:
        "<benchmarks>/leak/run{run}/{feature}/groundtruth_{side}.tsv"
    wildcard_constraints:
        side="[ab]",
    message:
        "leak: ground truth of {wildcards.feature}, database {wildcards.side}, run {wildcards.run}"


rule leak_scores:
    input:
        features="<results>/{feature}/features.h5",
        preprocessing="<results>/leak/run{run}/{feature}/preprocessing.h5",
        splits_a="<results>/leak/run{run}/splits_a.h5",
        splits_b="<results>/leak/run{run}/splits_b.h5",
        groundtruth_a="<results>/leak/run{run}/{feature}/groundtruth_a.h5",
        groundtruth_b="<results>/leak/run{run}/{feature}/groundtruth_b.h5",
    output:
        scores="<results>/leak/run{run}/{feature}/{hasher}.csv",
    log:
        "<logs>/leak/run{run}/{feature}/{hasher}.log",
    benchmark:
        "<benchmarks>/leak/run{run}/{feature}/{hasher}.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["leak_scores"],
    params:
        dataset=SET["dataset"],
        options=lambda wc: grid(wc).options,
        steps=lambda wc: grid(wc).preprocessing,
        hasher_options=lambda wc: SET["hasher_options"][wc.hasher],
        empty=SET["empty"],
        # The two sides have seeds of their own. With one for both, a hasher that learns nothing would make the same
        # model twice, and be a control of nothing: zero, whatever is wrong.
        seeds=lambda wc: {
            (size, n_bits): {
                side: derive(
                    SET["seed"],
                    SET["dataset"],
                    wc.feature,
                    wc.hasher,
                    n_bits,
                    int(wc.run),
                    side,
                    size,
                )
                for side in ("a", "b")
            }
            for size in leak_study()["train_per_class"]
            for n_bits in grid(wc).n_bits
        },
        code=lambda wc: code(
            "leak.py", hasher=wc.hasher, feature=wc.feature, metric="mAP"
        ),
    message:
        "leak: {wildcards.hasher} on {wildcards.feature}, run {wildcards.run}"
    script:
        "../scripts/leak.py"


rule leak_tables:
    input:
        labels="<results>/items.h5",
        scores=each("<results>/leak/run{run}/{feature}/{hasher}.csv"),
    output:
        leaks="<results>/leak.csv",
        summary="<results>/leak_summary.csv",
        text="<results>/leak.md",
        figure="<results>/leak.svg",
    log:
        "<logs>/leak.log",
    benchmark:
        "<benchmarks>/leak.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["leak_tables"],
    params:
        setting=SET["setting"],
        study=lambda wc: leak_study(),
        code=code("leak_tables.py"),
    message:
        "leak: {output.summary}"
    script:
        "../scripts/leak_tables.py"


rule leak:
    input:
        rules.leak_tables.output,
    localrule: True
