# What supervised hashers learn from besides the training rows: a ground truth among these rows alone, with the seed of
# the one that the codes are scored by, and so with its radii. The hashers' job sees no label of any other item.
rule supervise:
    input:
        labels="<results>/items.h5",
        features="<results>/{feature}/features.h5",
        splits="<results>/splits/{split}/run{run}/splits.h5",
        preprocessing="<results>/{feature}/{split}/run{run}/preprocessing.h5",
    output:
        supervision="<results>/{feature}/{split}/run{run}/{supervision}.h5",
    log:
        "<logs>/{feature}/{split}/run{run}/{supervision}.log",
    benchmark:
        "<benchmarks>/{feature}/{split}/run{run}/{supervision}.tsv"
    wildcard_constraints:
        supervision="|".join(SUPERVISING),
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["supervise"],
    params:
        truth=lambda wc: SUPERVISING[wc.supervision],
        truth_options=lambda wc: SET["ground_truth_options"].get(
            SUPERVISING[wc.supervision], {}
        ),
        options=lambda wc: grid(wc).options,
        steps=lambda wc: grid(wc).preprocessing,
        seed=truth_seed,
        code=lambda wc: code(
            "supervise.py",
            ground_truth=SUPERVISING[wc.supervision],
            feature=wc.feature,
        ),
    message:
        "supervision: {wildcards.supervision} of {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/supervise.py"
