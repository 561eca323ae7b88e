# Files have to be listed, since the workflow may be read from git; a test compares the list with the folder.
REFERENCE_TABLES = (
    "results/reference/cifar10/extensions.csv",
    "results/reference/cifar10/summary.csv",
    "results/reference/claims/buckets.csv",
    "results/reference/claims/cifar10_s1.csv",
    "results/reference/claims/cifar10_s2.csv",
    "results/reference/claims/datasets.csv",
    "results/reference/claims/growth.csv",
    "results/reference/claims/nuswide.csv",
    "results/reference/claims/variants.csv",
    "results/reference/hashers/summary.csv",
    "results/reference/learned/summary.csv",
    "results/reference/supervised/summary.csv",
    "results/reference/thesis/summary.csv",
)


rule claims:
    """Check the claims of the papers against the experiment, or else against the stored reference results."""
    input:
        summary="<results>/summary.csv",
        checksums=checksums("<results>/summary.csv"),
        reference=[source(path) for path in REFERENCE_TABLES if is_there(path)],
    output:
        claims="<results>/claims.json",
        checksums=checksums("<results>/claims.json"),
    log:
        "<logs>/claims.log",
    benchmark:
        "<benchmarks>/claims.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("claims"),
    params:
        code=code("claims.py"),
    message:
        "claims: {output.claims}"
    script:
        "../scripts/claims.py"
