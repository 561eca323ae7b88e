rule page:
    input:
        labels=R + "/items.h5",
        metrics=R + "/metrics.csv",
        summary=R + "/summary.csv",
        findings=R + "/audit.csv",
        splits=each(R + "/splits/{split}/run0/splits.h5"),
        published="workflow/published",
    output:
        report=report(R + "/report.html", category="report"),
    params:
        setting=SET,
        code=room_digest("report", "metrics"),
    log:
        R + "/logs/report.log",
    benchmark:
        R + "/benchmarks/report.tsv"
    threads: 1
    resources:
        mem_mb=2000,
    message:
        "report: {output.report}"
    script:
        "../scripts/page.py"


rule report:
    localrule: True
    input:
        report=R + "/report.html",
