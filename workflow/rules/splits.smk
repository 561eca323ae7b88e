rule split:
    input:
        labels="<results>/items.h5",
        # A function's paths are taken as they are, whatever braces are in them.
        lists=lambda wc: [on_this_machine(path) for path in lists_of(wc.split).values()],
    output:
        splits="<results>/splits/{split}/run{run}/splits.h5",
    log:
        "<logs>/splits/{split}/run{run}.log",
    benchmark:
        "<benchmarks>/splits/{split}/run{run}.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["split"],
    params:
        # Only the sizes that the protocol leaves open: those that it declares are in its code.
        sizes=lambda wc: {
            name: SET["split_sizes"][name]
            for name in registry.get("split", wc.split).open
        },
        lists=lambda wc: SET["split_options"][wc.split],
        seed=lambda wc: derive(SET["seed"], SET["dataset"], "split", int(wc.run)),
        code=lambda wc: code("split.py", split=wc.split),
    message:
        "splits: {wildcards.split}, run {wildcards.run}"
    script:
        "../scripts/split.py"


rule splits:
    input:
        each("<results>/splits/{split}/run{run}/splits.h5"),
    localrule: True
