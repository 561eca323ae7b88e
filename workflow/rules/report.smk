# The report does not depend on the source of files, the number of shards or the choice for a paper.
NOT_REPORTED = ("mirror", "offline", "count_shards", "paper")


# Only the report of a reproduction contains comparisons with the papers.
if CONFIG["reproduction"]:
    PUBLISHED = [source("workflow/published/cifar10_gist.csv")]
else:
    PUBLISHED = []


rule examples:
    """Compute the numbers that the figures of one feature and split show beyond the summary."""
    input:
        counts=files("<results>/{feature}/counts/{hasher}.h5"),
        codes=files("<results>/{feature}/{sample}/run0/{hasher}/codes.h5"),
        ground_truth=file("<results>/{feature}/{sample}/run0/ground_truth.h5"),
        splits="<results>/splits/{split}/run0/splits.h5",
        excluded=PLAN.excluded,
        checksums=checksums(*PLAN.excluded),
    output:
        radii="<results>/{feature}/examples/{split}/radii.csv",
        curves="<results>/{feature}/examples/{split}/curves.csv",
        conventions="<results>/{feature}/examples/{split}/conventions.csv",
        buckets="<results>/{feature}/examples/{split}/buckets.csv",
        histogram="<results>/{feature}/examples/{split}/histogram.csv",
        retrieved="<results>/{feature}/examples/{split}/retrieved.csv",
        # Times differ from run to run, so they are stored with the benchmarks.
        lookups="<benchmarks>/{feature}/examples/{split}/lookups.csv",
        checksums=checksums(
            "<results>/{feature}/examples/{split}/radii.csv",
            "<results>/{feature}/examples/{split}/curves.csv",
            "<results>/{feature}/examples/{split}/conventions.csv",
            "<results>/{feature}/examples/{split}/buckets.csv",
            "<results>/{feature}/examples/{split}/histogram.csv",
            "<results>/{feature}/examples/{split}/retrieved.csv",
            "<benchmarks>/{feature}/examples/{split}/lookups.csv",
        ),
    log:
        "<logs>/{feature}/examples/{split}.log",
    benchmark:
        "<benchmarks>/{feature}/examples/{split}/examples.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **needs("examples"),
    params:
        hashers=keys("hasher"),
        n_bits=of("feature.n_bits"),
        extensions=of("extensions"),
        extended=of("extended_hasher"),
        undefined=CONFIG["undefined"],
        code=code("examples.py", metric=metrics_of_examples),
    message:
        "figures: {wildcards.feature}, {wildcards.split} split"
    script:
        "../scripts/examples.py"


rule report:
    """Write the report: one HTML page that opens offline."""
    input:
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
        examples=PLAN.examples,
        provenance=PLAN.provenance,
        models=each(
            "<results>/{feature}/{sample}/run{run}/{hasher}/models.h5", finished=False
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
        config={key: value for key, value in CONFIG.items() if key not in NOT_REPORTED},
        code=code("report.py", **PLAN.plugins),
    message:
        "report: {output.report}"
    script:
        "../scripts/report.py"


rule paper:
    """Write figures and tables for a paper: PDF, SVG, PNG and CSV; LaTeX and Markdown."""
    input:
        metrics="<results>/metrics.csv",
        runs="<results>/runs.csv",
        examples=PLAN.examples,
        checksums=checksums(
            "<results>/metrics.csv", "<results>/runs.csv", *PLAN.examples
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
        config={
            key: CONFIG[key]
            for key in ("dataset", "names", "undefined", "paper", *SUPERVISION_KEYS)
        },
        code=code("paper.py", metric=tuple(CONFIG["paper"]["metrics"])),
    message:
        "figures and tables for a paper: {output.figures}, {output.tables}"
    script:
        "../scripts/paper.py"
