RUN0 = [cell for cell in SETTING.cells() if cell["run"] == 0]
# What the figures are drawn from besides the summary, by feature and split.
DISPLAYED = ("radii", "conventions", "buckets", "histogram", "retrieved")
# What the page and the paper are made from.
RESULTS = {
    "content": "<results>/content.h5",
    "labels": "<results>/items.h5",
    "metrics": "<results>/metrics.csv",
    "summary": "<results>/summary.csv",
    "findings": "<results>/audit.csv",
    "selection": SELECTION_TABLE,
    "splits": each("<results>/splits/{split}/run0/splits.h5"),
    "published": [on_this_machine(path) for path in PUBLISHED],
    "displayed": [
        *(
            path
            for name in DISPLAYED
            for path in each(f"<results>/{{feature}}/{{split}}/display/{name}.csv")
        ),
        *each("<benchmarks>/{feature}/{split}/display/lookups.csv"),
    ],
    "passports": [
        "<results>/content.h5",
        *each("<results>/{feature}/features.h5"),
        *each("<results>/splits/{split}/run0/splits.h5"),
        *each("<results>/{feature}/{split}/run0/preprocessing.h5"),
        *each("<results>/{feature}/{split}/run0/groundtruth.h5"),
        *each("<results>/{feature}/{split}/run0/{hasher}/models.h5", RUN0),
        *each("<results>/{feature}/{split}/run0/{hasher}/codes.h5", RUN0),
    ],
    "claims": "<results>/claims.json",
}
# Where files come from makes no result.
SHOWN_SETTING = {
    key: value for key, value in SET.items() if key not in ("mirror", "offline")
}


rule display:
    input:
        counts=lambda wc: expand(
            "<results>/{feature}/{split}/run{run}/{hasher}/counts.h5",
            run=range(grid(wc).runs),
            hasher=grid(wc).hashers,
            allow_missing=True,
        ),
        codes=lambda wc: expand(
            "<results>/{feature}/{split}/run0/{hasher}/codes.h5",
            hasher=grid(wc).hashers,
            allow_missing=True,
        ),
        counts0=lambda wc: expand(
            "<results>/{feature}/{split}/run0/{hasher}/counts.h5",
            hasher=grid(wc).hashers,
            allow_missing=True,
        ),
        groundtruth="<results>/{feature}/{split}/run0/groundtruth.h5",
        splits="<results>/splits/{split}/run0/splits.h5",
    output:
        radii="<results>/{feature}/{split}/display/radii.csv",
        conventions="<results>/{feature}/{split}/display/conventions.csv",
        buckets="<results>/{feature}/{split}/display/buckets.csv",
        histogram="<results>/{feature}/{split}/display/histogram.csv",
        retrieved="<results>/{feature}/{split}/display/retrieved.csv",
        # Times: they stand with the benchmarks, as they differ from one run of the project to the next.
        lookups="<benchmarks>/{feature}/{split}/display/lookups.csv",
    log:
        "<logs>/{feature}/{split}/display.log",
    benchmark:
        "<benchmarks>/{feature}/{split}/display.tsv"
    conda:
        "../../envs/protocol.yaml"
    threads: 1
    resources:
        **NEEDS["display"],
    params:
        n_bits=lambda wc: grid(wc).n_bits,
        hashers=lambda wc: grid(wc).hashers,
        # The hasher of RAMAP's tables, or else the first.
        extended=lambda wc: (
            "lsh" if "lsh" in grid(wc).hashers else grid(wc).hashers[0]
        ),
        empty=SET["empty"],
        code=code("display.py"),
    message:
        "figures: {wildcards.feature}, {wildcards.split} split"
    script:
        "../scripts/display.py"


rule page:
    input:
        **RESULTS,
    output:
        report=report(
            "<results>/report.html",
            caption="../report/page.rst",
            category="Report",
        ),
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
        setting=SHOWN_SETTING,
        benchmarks=benchmarks,
        # The page prints what every plug-in says of itself.
        code=registry.code_digest(SCRIPTS / "page.py", **ALL_PLUGINS),
    message:
        "report: {output.report}"
    script:
        "../scripts/page.py"


rule draw:
    input:
        **RESULTS,
    output:
        figures=report(
            directory("<results>/figures"),
            patterns=["{name}.svg"],
            caption="../report/figures.rst",
            category="Figures",
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
        **NEEDS["draw"],
    params:
        setting=SHOWN_SETTING,
        benchmarks=benchmarks,
        code=registry.code_digest(SCRIPTS / "paper.py", **ALL_PLUGINS),
    message:
        "figures and tables for a paper: {output.figures}, {output.tables}"
    script:
        "../scripts/paper.py"


rule report:
    input:
        report="<results>/report.html",
    localrule: True


rule paper:
    input:
        figures="<results>/figures",
        tables="<results>/tables",
    localrule: True
