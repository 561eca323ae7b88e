# A workflow that imports this one from the path SOURCE.
configfile: "experiment.yaml"


module protocol:
    snakefile:
        "SOURCE"
    config:
        config


use rule * from protocol as protocol_*


rule summary:
    default_target: True
    input:
        rules.protocol_splits.input,
    output:
        "summary.txt",
    shell:
        "ls {input} > {output}"
