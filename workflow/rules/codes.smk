rule hash:
    input:
        features=R + "/{feature}/features.h5",
        splits=R + "/splits/{split}/run{run}/splits.h5",
        preprocessing=R + "/{feature}/{split}/run{run}/preprocessing.h5",
    output:
        codes=R + "/{feature}/{split}/run{run}/{hasher}/codes.h5",
    params:
        options=lambda wc: grid(wc).options,
        steps=lambda wc: grid(wc).preprocessing,
        hasher_options=lambda wc: SET["hasher_options"].get(wc.hasher, {}),
        # One seed a code length, whatever other lengths there are; the split protocol is left out, so that standard
        # and improved runs train the same model and differ in the database only.
        seeds=lambda wc: {
            n_bits: derive(SET["seed"], SET["dataset"], wc.feature, wc.hasher, n_bits, int(wc.run))
            for n_bits in grid(wc).n_bits
        },
        code=lambda wc: digest("hasher", wc.hasher) + digest("feature", wc.feature),
    log:
        R + "/logs/{feature}/{split}/run{run}/{hasher}/codes.log",
    benchmark:
        R + "/benchmarks/{feature}/{split}/run{run}/{hasher}/codes.tsv"
    threads: 1
    resources:
        mem_mb=2000,
    message:
        "codes: {wildcards.hasher} on {wildcards.feature}, {wildcards.split} split, run {wildcards.run}"
    script:
        "../scripts/hash.py"


rule codes:
    localrule: True
    input:
        each(R + "/{feature}/{split}/run{run}/{hasher}/codes.h5"),
