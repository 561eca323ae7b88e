# Claims about data are judged on the setting's own rows, and where it has none on the kept tables.
rule ledger:
    input:
        summary="<results>/summary.csv",
        kept=sorted(Path(workflow.basedir, "results/reference").glob("*/*.csv")),
    output:
        claims="<results>/claims.json",
    log:
        "<logs>/claims.log",
    benchmark:
        "<benchmarks>/claims.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        code=room_digest("claims", "metrics", "groundtruth", "splits"),
    message:
        "claims: {output.claims}"
    script:
        "../scripts/claims.py"


rule claims:
    input:
        claims="<results>/claims.json",
    localrule: True
