rule relevance:
    input:
        labels="<results>/items.h5",
        features="<results>/{feature}/features.h5",
        splits="<results>/splits/{split}/run{run}/splits.h5",
        preprocessing="<results>/{feature}/{split}/run{run}/preprocessing.h5",
    output:
        groundtruth="<results>/{feature}/{split}/run{run}/groundtruth.h5",
    log:
        "<logs>/{feature}/{split}/run{run}/groundtruth.log",
    benchmark:
        "<benchmarks>/{feature}/{split}/run{run}/groundtruth.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["relevance"],
    params:
        truths=lambda wc: {
            name: SET["ground_truth_options"][name] for name in grid(wc).ground_truths
        },
        options=lambda wc: grid(wc).options,
        steps=lambda wc: grid(wc).preprocessing,
        seed=truth_seed,
        code=lambda wc: code(
            "relevance.py",
            ground_truth=tuple(grid(wc).ground_truths),
            feature=wc.feature,
        ),
    message:
        "ground truth: {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/relevance.py"


rule groundtruth:
    input:
        each("<results>/{feature}/{split}/run{run}/groundtruth.h5"),
    localrule: True
