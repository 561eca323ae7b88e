# Only the report of a reproduction contains comparisons with the papers.
if CONFIG["reproduction"]:
    PUBLISHED = [source("workflow/published/cifar10_gist.csv")]
    PUBLISHED_LOSSES = [source("workflow/published/quantisation.csv")]
else:
    PUBLISHED, PUBLISHED_LOSSES = [], []


rule display:
    """Compute the numbers that the figures of one feature and split show beyond the summary."""
    input:
        stamps("display.py"),
        counts=files("<results>/{feature}/counts/{hasher}.h5"),
        codes=files("<results>/{feature}/{draw}/run0/{hasher}/codes.h5"),
        ground_truth=file("<results>/{feature}/{draw}/run0/ground_truth.h5"),
        splits="<results>/splits/{split}/run0/splits.h5",
        excluded=PLAN.excluded,
        checksums=checksums(*PLAN.excluded),
    output:
        radii="<results>/{feature}/display/{split}/radii.csv",
        curves="<results>/{feature}/display/{split}/curves.csv",
        conventions="<results>/{feature}/display/{split}/conventions.csv",
        buckets="<results>/{feature}/display/{split}/buckets.csv",
        histogram="<results>/{feature}/display/{split}/histogram.csv",
        retrieved="<results>/{feature}/display/{split}/retrieved.csv",
        # Times differ from run to run, so they are stored with the benchmarks.
        lookups="<benchmarks>/{feature}/display/{split}/lookups.csv",
        checksums=checksums(
            "<results>/{feature}/display/{split}/radii.csv",
            "<results>/{feature}/display/{split}/curves.csv",
            "<results>/{feature}/display/{split}/conventions.csv",
            "<results>/{feature}/display/{split}/buckets.csv",
            "<results>/{feature}/display/{split}/histogram.csv",
            "<results>/{feature}/display/{split}/retrieved.csv",
            "<benchmarks>/{feature}/display/{split}/lookups.csv",
        ),
    log:
        "<logs>/{feature}/display/{split}.log",
    benchmark:
        "<benchmarks>/{feature}/display/{split}/display.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("display"),
    params:
        hashers=keys("hasher"),
        n_bits=of("feature.n_bits"),
        extensions=of("extensions"),
        extended=of("extended_hasher"),
        empty=CONFIG["empty"],
        code=code("display.py", metric=displayed_metrics),
    message:
        "figures: {wildcards.feature}, {wildcards.split} split"
    script:
        "../scripts/display.py"


rule report:
    """Write the report: one HTML page that opens offline."""
    input:
        stamps("report.py"),
        content="<data>/content.h5",
        labels="<data>/items.h5",
        metrics="<results>/metrics.csv",
        summary="<results>/summary.csv",
        audit="<results>/audit.csv",
        claims=PLAN.claims,
        selection=PLAN.selection_table,
        duplicates=PLAN.duplicates,
        splits=each("<results>/splits/{split}/run0/splits.h5"),
        published=PUBLISHED,
        published_losses=PUBLISHED_LOSSES,
        displayed=PLAN.displayed,
        provenance=PLAN.provenance,
        models=each(
            "<results>/{feature}/{draw}/run{run}/{hasher}/models.h5", finished=False
        ),
        times=PLAN.times,
        checksums=checksums(*PLAN.tables),
    output:
        report=report(
            "<results>/report.html",
            caption="../report/page.rst",
            category="Report",
            labels={"content": "the whole report"},
        ),
        checksums=checksums("<results>/report.html"),
    log:
        "<logs>/report.log",
    benchmark:
        "<benchmarks>/report.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("report"),
    params:
        config=PLAN.reported_config,
        dimensions=PLAN.dimensions,
        code=code("report.py", **PLAN.plugins),
    message:
        "report: {output.report}"
    script:
        "../scripts/report.py"


rule paper:
    """Write figures and tables for a paper: PDF, SVG, PNG and CSV; LaTeX and Markdown."""
    input:
        stamps("paper.py"),
        metrics="<results>/metrics.csv",
        runs="<results>/runs.csv",
        displayed=PLAN.displayed,
        checksums=checksums(
            "<results>/metrics.csv", "<results>/runs.csv", *PLAN.displayed
        ),
    output:
        figures=report(
            directory("<results>/figures"),
            patterns=["{name}.svg"],
            caption="../report/figures.rst",
            category="Figures",
            labels={"figure": "{name}"},
        ),
        tables=directory("<results>/tables"),
    log:
        "<logs>/paper.log",
    benchmark:
        "<benchmarks>/paper.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("paper"),
    params:
        config=PLAN.paper_config,
        code=code("paper.py", metric=tuple(CONFIG["paper"]["metrics"])),
    message:
        "figures and tables for a paper: {output.figures}, {output.tables}"
    script:
        "../scripts/paper.py"
