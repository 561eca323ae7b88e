rule relevance:
    input:
        labels=R + "/items.h5",
        features=R + "/{feature}/features.h5",
        splits=R + "/splits/{split}/run{run}/splits.h5",
        preprocessing=R + "/{feature}/{split}/run{run}/preprocessing.h5",
    output:
        groundtruth=R + "/{feature}/{split}/run{run}/groundtruth.h5",
    params:
        truths=lambda wc: {name: SET["ground_truth_options"].get(name, {}) for name in grid(wc).ground_truths},
        options=lambda wc: grid(wc).options,
        steps=lambda wc: grid(wc).preprocessing,
        seed=lambda wc: derive(SET["seed"], SET["dataset"], "groundtruth", wc.feature, int(wc.run)),
        code=lambda wc: digest("ground_truth", *grid(wc).ground_truths) + digest("feature", wc.feature),
    log:
        R + "/logs/{feature}/{split}/run{run}/groundtruth.log",
    benchmark:
        R + "/benchmarks/{feature}/{split}/run{run}/groundtruth.tsv"
    threads: 1
    resources:
        mem_mb=2000,
    message:
        "ground truth: {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/relevance.py"


rule groundtruth:
    localrule: True
    input:
        each(R + "/{feature}/{split}/run{run}/groundtruth.h5"),
