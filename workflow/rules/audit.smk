rule findings:
    input:
        content="<results>/content.h5",
        labels="<results>/items.h5",
        splits=each("<results>/splits/{split}/run{run}/splits.h5"),
        features=each("<results>/{feature}/features.h5"),
        preprocessing=each("<results>/{feature}/{split}/run{run}/preprocessing.h5"),
        groundtruth=each("<results>/{feature}/{split}/run{run}/groundtruth.h5"),
        selections=SELECTIONS,
        supervision=SUPERVISIONS,
    output:
        findings="<results>/audit.csv",
    log:
        "<logs>/audit.log",
    benchmark:
        "<benchmarks>/audit.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["findings"],
    params:
        code=registry.code_digest(
            SCRIPTS / "findings.py",
            feature=SETTING.grids,
            split=registry.names("split"),
        ),
    message:
        "audit: every split of the setting"
    script:
        "../scripts/findings.py"


rule audit:
    input:
        findings="<results>/audit.csv",
    localrule: True
