rule extract:
    input:
        images=R + "/images.h5",
    output:
        features=R + "/{feature}/features.h5",
    params:
        options=lambda wc: grid(wc).options,
        code=lambda wc: digest("feature", wc.feature),
    log:
        R + "/logs/{feature}/features.log",
    benchmark:
        R + "/benchmarks/{feature}/features.tsv"
    threads: 1
    resources:
        mem_mb=2000,
    message:
        "features: {wildcards.feature}"
    script:
        "../scripts/extract.py"


rule preprocess:
    input:
        features=R + "/{feature}/features.h5",
        splits=R + "/splits/{split}/run{run}/splits.h5",
    output:
        preprocessing=R + "/{feature}/{split}/run{run}/preprocessing.h5",
    params:
        options=lambda wc: grid(wc).options,
        steps=lambda wc: grid(wc).preprocessing,
        seed=lambda wc: derive(SET["seed"], SET["dataset"], "preprocess", wc.feature, int(wc.run)),
        code=lambda wc: digest("feature", wc.feature),
    log:
        R + "/logs/{feature}/{split}/run{run}/preprocessing.log",
    benchmark:
        R + "/benchmarks/{feature}/{split}/run{run}/preprocessing.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    message:
        "preprocessing: {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/preprocess.py"


rule features:
    localrule: True
    input:
        expand(R + "/{feature}/features.h5", feature=SETTING.grids),
