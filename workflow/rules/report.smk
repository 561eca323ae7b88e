rule page:
    input:
        content="<results>/content.h5",
        labels="<results>/items.h5",
        metrics="<results>/metrics.csv",
        summary="<results>/summary.csv",
        findings="<results>/audit.csv",
        selection=SELECTION_TABLE,
        splits=each("<results>/splits/{split}/run0/splits.h5"),
        published=[on_this_machine(path) for path in PUBLISHED],
    output:
        report=report("<results>/report.html", category="report"),
    log:
        "<logs>/report.log",
    benchmark:
        "<benchmarks>/report.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["page"],
    params:
        # Where files come from makes no result.
        setting={
            key: value
            for key, value in SET.items()
            if key not in ("mirror", "offline")
        },
        # The page prints what every plug-in says of itself.
        code=room_digest("report", "metrics", *registry.ROOMS.values()),
    message:
        "report: {output.report}"
    script:
        "../scripts/page.py"


rule report:
    input:
        report="<results>/report.html",
    localrule: True
