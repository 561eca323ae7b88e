# Claims about data are judged on the setting's own rows, and where it has none on the kept tables.
rule ledger:
    input:
        summary="<results>/summary.csv",
        kept=[on_this_machine(path) for path in KEPT],
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
        **NEEDS["ledger"],
    params:
        code=registry.code_digest(SCRIPTS / "claims.py", **ALL_PLUGINS),
    message:
        "claims: {output.claims}"
    script:
        "../scripts/claims.py"


rule claims:
    input:
        claims="<results>/claims.json",
    localrule: True
