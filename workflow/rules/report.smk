# Only the report of a reproduction contains comparisons with the papers.
if CONFIG["reproduction"]:
    PUBLISHED = [source("workflow/published/cifar10_gist.csv")]
    PUBLISHED_LOSSES = [source("workflow/published/quantisation.csv")]
    CLAIMS = ["<results>/claims.json"]
else:
    PUBLISHED = []
    PUBLISHED_LOSSES = []
    CLAIMS = []
# The files whose provenance the report prints: those of run 0.
SHOWN = [
    "<data>/content.h5",
    *each("<data>/{extraction}/features.h5"),
    *each("<results>/draws/{draw}/run0.h5"),
    *each("<results>/splits/{split}/run0/splits.h5"),
    *each("<results>/{feature}/{draw}/run0/preprocessing.h5"),
    *each("<results>/{feature}/{draw}/run0/ground_truth.h5"),
    *each("<results>/{feature}/{draw}/run0/{hasher}/models.h5", finished=False),
    *each("<results>/{feature}/{draw}/run0/{hasher}/codes.h5"),
]
# The benchmark files of the jobs that the results come from.
TIMED = [
    "<data>/benchmarks/dataset.tsv",
    *each("<benchmarks>/draws/{draw}/run{run}/draw.tsv"),
    *each("<benchmarks>/splits/{split}/run{run}/split.tsv"),
    *each("<benchmarks>/{feature}/{draw}/run{run}/preprocessing.tsv"),
    *each("<benchmarks>/{feature}/{draw}/run{run}/ground_truth.tsv"),
    *supervised("<benchmarks>/{feature}/{draw}/run{run}/{supervision}/supervision.tsv"),
    *searched("<benchmarks>/{feature}/{draw}/run{run}/{hasher}/selection.tsv"),
    *each("<benchmarks>/{feature}/{draw}/run{run}/{hasher}/model.tsv", finished=False),
    *each(
        "<benchmarks>/{feature}/{draw}/run{run}/{hasher}/finished_codes.tsv",
        finished=True,
    ),
    *counting_times(),
    *each("<benchmarks>/{feature}/{hasher}/score.tsv"),
]
# The CSV and JSON files of other stages that the page reads.
TABLES = [
    "<results>/metrics.csv",
    "<results>/summary.csv",
    "<results>/audit.csv",
    *CLAIMS,
    *SELECTION_TABLE,
    *DUPLICATES,
    *displayed(),
]
# The inputs of the page.
REPORTED = {
    "content": "<data>/content.h5",
    "labels": "<data>/items.h5",
    "metrics": "<results>/metrics.csv",
    "summary": "<results>/summary.csv",
    "audit": "<results>/audit.csv",
    "claims": CLAIMS,
    "selection": SELECTION_TABLE,
    "duplicates": DUPLICATES,
    "splits": each("<results>/splits/{split}/run0/splits.h5"),
    "published": PUBLISHED,
    "published_losses": PUBLISHED_LOSSES,
    "displayed": displayed(),
    "provenance": SHOWN,
    "models": each(
        "<results>/{feature}/{draw}/run{run}/{hasher}/models.h5", finished=False
    ),
    "times": TIMED,
    "checksums": checksums(*TABLES),
}
# The results do not depend on the source of files or the number of shards, nor the page on the choice for a paper.
REPORTED_CONFIG = {
    key: value
    for key, value in CONFIG.items()
    if key not in ("mirror", "offline", "count_shards", "paper")
}
DIMENSIONS = {name: known_dimension(name) for name in EXPERIMENT.features}
# The page prints the records of all plug-ins in use.
REPORT_PLUGINS = {
    "dataset": (DATASET,),
    "feature": tuple(plan.plugin for plan in EXPERIMENT.features.values()),
    "split": EXPERIMENT.splits,
    "ground_truth": tuple(use.plugin for use in EXPERIMENT.ground_truths.values()),
    "hasher": tuple(use.plugin for use in EXPERIMENT.hashers.values()),
    "metric": tuple(registry.names("metric")),
}


rule display:
    """Compute the numbers that the figures of one feature and split show beyond the summary."""
    input:
        counts=counts_of_split,
        codes=codes_of_run0,
        ground_truth=ground_truth_of_run0,
        splits="<results>/splits/{split}/run0/splits.h5",
    output:
        radii="<results>/{feature}/display/{split}/radii.csv",
        curves="<results>/{feature}/display/{split}/curves.csv",
        conventions="<results>/{feature}/display/{split}/conventions.csv",
        buckets="<results>/{feature}/display/{split}/buckets.csv",
        histogram="<results>/{feature}/display/{split}/histogram.csv",
        retrieved="<results>/{feature}/display/{split}/retrieved.csv",
        # Times differ from run to run, so they are stored with the benchmarks.
        lookups="<benchmarks>/{feature}/display/{split}/lookups.csv",
        checksums=checksums(*DISPLAYED),
    log:
        "<logs>/{feature}/display/{split}.log",
    benchmark:
        "<benchmarks>/{feature}/display/{split}/display.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        mem_mb=memory("display"),
        runtime=minutes("display"),
    params:
        n_bits=n_bits_of,
        extended=extended_hasher,
        empty=CONFIG["empty"],
        code=code("display.py", metric=tuple(registry.names("metric"))),
    message:
        "figures: {wildcards.feature}, {wildcards.split} split"
    script:
        "../scripts/display.py"


rule report:
    """Write the report: one HTML page that opens offline."""
    input:
        **REPORTED,
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
        mem_mb=memory("report"),
        runtime=minutes("report"),
    params:
        config=REPORTED_CONFIG,
        dimensions=DIMENSIONS,
        code=code("report.py", **REPORT_PLUGINS),
    message:
        "report: {output.report}"
    script:
        "../scripts/report.py"


rule paper:
    """Write figures and tables for a paper: PDF, SVG, PNG and CSV; LaTeX and Markdown."""
    input:
        metrics="<results>/metrics.csv",
        runs="<results>/runs.csv",
        displayed=displayed(),
        checksums=checksums("<results>/metrics.csv", "<results>/runs.csv", *displayed()),
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
        mem_mb=memory("paper"),
        runtime=minutes("paper"),
    params:
        config={
            key: CONFIG[key]
            for key in ("dataset", "names", "empty", "paper", *SUPERVISION_KEYS)
        },
        code=code("paper.py", metric=tuple(CONFIG["paper"]["metrics"])),
    message:
        "figures and tables for a paper: {output.figures}, {output.tables}"
    script:
        "../scripts/paper.py"
