# Protocols that differ only in their database share a sampled split, so that each hasher is trained once for all of
# them. What is drawn is a parameter: an edit of the database in a declaration repeats `split`, but not `sample`.
rule sample:
    """Draw queries, validation partitions and training set of one run."""
    input:
        labels="<data>/items.h5",
        lists=lambda wildcards: user_files(PLAN.split_lists(wildcards)),
    output:
        sample="<results>/samples/{sample}/run{run}.h5",
    log:
        "<logs>/samples/{sample}/run{run}.log",
    benchmark:
        "<benchmarks>/samples/{sample}/run{run}/sample.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (600 + 6 * mb(input)),
    params:
        declaration=PLAN.sample_declaration,
        sizes=PLAN.sample_sizes,
        options=PLAN.split_options,
        states=lambda wildcards: records.states(PLAN.split_lists(wildcards)),
        seed=PLAN.sample_seed,
        code=code("sample.py", split=PLAN.drawing_code),
    script:
        "../scripts/sample.py"


rule split:
    """Add the database of one split protocol to a sampled split."""
    input:
        labels="<data>/items.h5",
        sample=one("<results>/samples/{sample}/run{run}.h5"),
        lists=lambda wildcards: user_files(PLAN.split_lists(wildcards)),
    output:
        splits="<results>/splits/{split}/run{run}/splits.h5",
    log:
        "<logs>/splits/{split}/run{run}.log",
    benchmark:
        "<benchmarks>/splits/{split}/run{run}/split.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (600 + 4 * mb(input)),
    params:
        options=PLAN.split_options,
        states=lambda wildcards: records.states(PLAN.split_lists(wildcards)),
        code=code("split.py", split=PLAN.split),
    script:
        "../scripts/split.py"
