rule claims:
    """Judge the claims of the papers on the experiment's rows, and where it has none on the stored reference results."""
    input:
        summary="<results>/summary.csv",
        reference=REFERENCE_TABLES,
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
        mem_mb=memory("claims"),
        runtime=minutes("claims"),
    params:
        code=code("claims.py"),
    message:
        "claims: {output.claims}"
    script:
        "../scripts/claims.py"
