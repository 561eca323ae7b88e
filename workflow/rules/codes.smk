rule hash:
    input:
        unpack(selected),
        unpack(supervised),
        features="<results>/{feature}/features.h5",
        splits="<results>/splits/{split}/run{run}/splits.h5",
        preprocessing="<results>/{feature}/{split}/run{run}/preprocessing.h5",
    output:
        codes="<results>/{feature}/{split}/run{run}/{hasher}/codes.h5",
        models="<results>/{feature}/{split}/run{run}/{hasher}/models.h5",
    log:
        "<logs>/{feature}/{split}/run{run}/{hasher}/codes.log",
    benchmark:
        "<benchmarks>/{feature}/{split}/run{run}/{hasher}/codes.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["hash"],
    params:
        options=lambda wc: grid(wc).options,
        steps=lambda wc: grid(wc).steps,
        hasher_options=lambda wc: SET["hasher_options"][wc.hasher],
        seeds=model_seeds,
        code=lambda wc: code("hash.py", hasher=wc.hasher, feature=wc.feature),
    message:
        "codes: {wildcards.hasher} on {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/hash.py"


rule codes:
    input:
        each("<results>/{feature}/{split}/run{run}/{hasher}/codes.h5"),
    localrule: True
