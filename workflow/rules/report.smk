from protocol.report.examples import METRICS as EXAMPLE_METRICS
from protocol.scores.metadata import SUPERVISION_KEYS

# The report does not depend on the source of files, the folder of plug-ins or the number of shards.
NOT_REPORTED = {"mirror", "offline", "plugins", "count_shards"}
NAMES = {"names": EXPERIMENT.display_names}
# Only the report of a reproduction contains comparisons with the papers.
PUBLISHED = ["workflow/published/cifar10_gist.csv"] if CONFIG["reproduction"] else []
# Files have to be listed, since the workflow may be read from git; a test compares the list with the folder. A copy of
# a checkout may lack the stored results.
REFERENCE_TABLES = """
    cifar10/extensions cifar10/full claims/buckets claims/cifar10_s1 claims/cifar10_s2 claims/datasets claims/growth
    claims/nuswide claims/variants hashers/summary learned/summary supervised/summary thesis/summary
"""
REFERENCE = [f"results/reference/{table}.csv" for table in REFERENCE_TABLES.split()]
TABLES = ("radii", "curves", "conventions", "histogram", "retrieved")
EXAMPLES = {table: f"<results>/{{feature}}/examples/{{split}}/{table}.csv" for table in TABLES}
ALL_EXAMPLES = [file for pattern in EXAMPLES.values() for file in each(pattern)]


rule examples:
    """Compute the numbers that the figures of one feature and split show beyond the summary."""
    input:
        **sealed(excluded=EXCLUDED),
        counts=every("<results>/{feature}/counts/{hasher}.h5"),
        codes=every("<results>/{feature}/{sample}/run0/{hasher}/codes.h5"),
        ground_truth=one("<results>/{feature}/{sample}/run0/ground_truth.h5"),
        splits="<results>/splits/{split}/run0/splits.h5",
    output:
        **sealed(**EXAMPLES),
    log:
        "<logs>/{feature}/examples/{split}.log",
    benchmark:
        "<benchmarks>/{feature}/examples/{split}/examples.tsv"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * (3000 + 4 * mb(input)),
    params:
        hashers=every("{hasher}"),
        n_bits=PLAN.n_bits,
        undefined=CONFIG["undefined"],
        code=code("examples.py", metric=EXAMPLE_METRICS),
    script:
        "../scripts/examples.py"


rule claims:
    """Check the claims of the papers against the experiment, or else against the stored reference results."""
    input:
        **sealed(summary="<results>/summary.csv"),
        reference=[source(path) for path in REFERENCE if not CHECKOUT.is_dir() or (CHECKOUT / path).exists()],
    output:
        **sealed(claims="<results>/claims.json"),
    log:
        "<logs>/claims.log",
    params:
        code=code("claims.py"),
    script:
        "../scripts/claims.py"


rule report:
    """Write the report: one HTML page that opens offline."""
    input:
        **sealed(
            metrics="<results>/metrics.csv",
            summary="<results>/summary.csv",
            audit="<results>/audit.csv",
            claims=PLAN.claims,
            selection=PLAN.selection_table,
            duplicates=PLAN.duplicates,
            examples=ALL_EXAMPLES,
        ),
        content="<data>/content.h5",
        labels="<data>/items.h5",
        splits=each("<results>/splits/{split}/run0/splits.h5"),
        published=[source(path) for path in PUBLISHED],
        provenance=PLAN.provenance,
        models=PLAN.each_trained("<results>/{feature}/{sample}/run{run}/{hasher}/models.h5"),
    output:
        report=report(
            "<results>/report.html",
            caption="../report/page.rst",
            category="Report",
            labels={"content": "the whole report"},
        ),
    log:
        "<logs>/report.log",
    params:
        config={key: CONFIG[key] for key in CONFIG if key not in NOT_REPORTED} | NAMES,
        code=code("report.py", **PLAN.plugins),
    script:
        "../scripts/report.py"


rule paper:
    """Write figures and tables for a paper: PDF, SVG, PNG and CSV; LaTeX and Markdown."""
    input:
        **sealed(
            metrics="<results>/metrics.csv",
            summary="<results>/summary.csv",
            examples=ALL_EXAMPLES,
        ),
        report=ancient("<results>/report.html"),  # which is not read, but brought up to date as well
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
    params:
        config={key: CONFIG[key] for key in ("metrics", "undefined", "unhashed", *SUPERVISION_KEYS)} | NAMES,
        code=code("paper.py", metric=METRICS),
    script:
        "../scripts/paper.py"
