rule findings:
    input:
        labels=R + "/items.h5",
        splits=each(R + "/splits/{split}/run{run}/splits.h5"),
        preprocessing=each(R + "/{feature}/{split}/run{run}/preprocessing.h5"),
        groundtruth=each(R + "/{feature}/{split}/run{run}/groundtruth.h5"),
    output:
        findings=R + "/audit.csv",
    params:
        sizes=SET["split_sizes"],
        code=room_digest("audit"),
    log:
        R + "/logs/audit.log",
    benchmark:
        R + "/benchmarks/audit.tsv"
    threads: 1
    resources:
        mem_mb=1000,
    message:
        "audit: every split of the setting"
    script:
        "../scripts/findings.py"


rule audit:
    localrule: True
    input:
        findings=R + "/audit.csv",
