rule extract:
    input:
        content="<results>/content.h5",
    output:
        features="<results>/{feature}/features.h5",
    log:
        "<logs>/{feature}/features.log",
    benchmark:
        "<benchmarks>/{feature}/features.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["extract"],
    params:
        options=lambda wc: grid(wc).options,
        code=lambda wc: code("extract.py", feature=wc.feature),
    message:
        "features: {wildcards.feature}"
    script:
        "../scripts/extract.py"


rule preprocess:
    input:
        features="<results>/{feature}/features.h5",
        splits="<results>/splits/{split}/run{run}/splits.h5",
    output:
        preprocessing="<results>/{feature}/{split}/run{run}/preprocessing.h5",
    log:
        "<logs>/{feature}/{split}/run{run}/preprocessing.log",
    benchmark:
        "<benchmarks>/{feature}/{split}/run{run}/preprocessing.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["preprocess"],
    params:
        options=lambda wc: grid(wc).options,
        steps=lambda wc: grid(wc).steps,
        seed=lambda wc: derive(
            SET["seed"], SET["dataset"], "preprocess", wc.feature, int(wc.run)
        ),
        code=lambda wc: code("preprocess.py", feature=wc.feature),
    message:
        "preprocessing: {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/preprocess.py"


rule features:
    input:
        expand("<results>/{feature}/features.h5", feature=SETTING.grids),
    localrule: True
