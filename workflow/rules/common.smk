"""The experiment and its plan, and the few functions that connect the plan with Snakemake."""

import functools
import os
import re
import sys
from operator import attrgetter
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.io import sourcecache_entry

# The folder of the project, even if another workflow imports this one; a URL if it is imported from git.
CHECKOUT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
# Every job imports the package of this checkout, even if another one is installed. Without a checkout, it imports the
# installed package.
if (CHECKOUT / "protocol").is_dir():
    sys.path.insert(0, str(CHECKOUT))
    before = filter(None, [os.environ.get("PYTHONPATH")])
    os.environ.update(PYTHONPATH=os.pathsep.join([str(CHECKOUT), *before]))
# Linear algebra uses one thread, since with several threads the last bits of a sum may differ.
for variable in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM"):
    os.environ[f"{variable}_THREADS"] = "1"

try:
    from protocol import configuration, datasets, registry
except ModuleNotFoundError as error:
    source = workflow.current_basedir
    if error.name != "protocol" or source.is_local:
        raise
    raise WorkflowError(
        "The package is not installed in Snakemake's environment: pip install "
        f"'hashing-protocol[pipeline] @ git+https://{source.host}/{source.repo}@{source.ref}'"
    )
from protocol.auditing import known_pairs_sha256
from protocol.checks import ProtocolError
from protocol.configuration.records import refusal
from protocol.datasets import Place
from protocol.metrics import in_database_order
from protocol.provenance import sources
from protocol.provenance.storage import check_writable
from protocol.scores.metadata import SUPERVISION_KEYS

try:
    IS_MODULE = not workflow.modifier.is_main_snakefile()
    EXPERIMENT = configuration.load(
        config,
        from_file=IS_MODULE or bool(workflow.configfiles),
        files=[] if IS_MODULE else workflow.configfiles,
    )
    configuration.check_installed(EXPERIMENT)
    PLAN, CONFIG = configuration.Plan(EXPERIMENT), EXPERIMENT.config
    config.update(CONFIG)  # scripts receive the checked configuration
    DATASET = CONFIG["dataset"]
    FILES = registry.DATASETS.entry(DATASET).files
    PLACE = Place(
        DATASET, Path("results/downloads"), CONFIG["mirror"], CONFIG["mirror_sha256"]
    )
    check_writable(f"results/{EXPERIMENT.name}")
except ProtocolError as error:
    raise WorkflowError(str(error))


# `data` contains the files that do not depend on the experiment: the loaded dataset and its features.
pathvars:
    results=f"results/{EXPERIMENT.name}",
    data=f"results/datasets/{EXPERIMENT.data}",
    downloads=f"results/downloads/{DATASET}",
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",


wildcard_constraints:
    **PLAN.wildcards,


def source(path):
    """Return a file of the project, from the checkout or from git. Moving the checkout does not rerun any job."""
    return sourcecache_entry(str(workflow.source_path(f"../../{path}")), path)


def is_there(path):
    """Return whether the project has a file: a copy of a checkout may lack the stored results."""
    return not CHECKOUT.is_dir() or (CHECKOUT / path).exists()


# The functions below call it for the same files and plug-ins again and again.
code_digest = functools.cache(
    lambda script, plugins: sources.code_digest(script, **dict(plugins))
)
# Every script imports this one, and a script from git sees only fetched files.
source("workflow/scripts/job.py")
# The files of a pattern for all combinations of feature, split, run and hasher.
each = PLAN.each


def of(name):
    """Return a function of the wildcards that returns an attribute of the job (see `configuration.plan.Job`)."""
    return lambda wildcards: attrgetter(name)(PLAN.job(wildcards.items()))


def files(pattern):
    """Return a function that returns the files of a pattern for all combinations that agree with the wildcards."""
    return lambda wildcards: PLAN.job(wildcards.items()).files(pattern)


def of_combinations(pattern):
    """Return a function that returns the file of a pattern for each of those combinations."""
    return lambda wildcards: PLAN.job(wildcards.items()).of_combinations(pattern)


def keys(*names):
    """Return a function that returns fields of these combinations, in the same order, as tuples."""
    return lambda wildcards: PLAN.job(wildcards.items()).keys(*names)


def file(pattern):
    """Return a function that returns the one file of a pattern that the wildcards determine."""
    return lambda wildcards: PLAN.job(wildcards.items()).file(pattern)


def local_files(name):
    """Return a function that returns files of the user, which are local even if the results are in an object store.

    Snakemake does not interpret braces in paths that a function returns.
    """
    return lambda wildcards: [local(str(path)) for path in of(name)(wildcards)]


def states(name):
    """Return a function that returns the states of such files."""
    return lambda wildcards: [datasets.file_state(path) for path in of(name)(wildcards)]


def checksums(*tables):
    """Return the checksum files of CSV, JSON and text files, which rules that read such files declare as inputs."""
    return [f"{table}.sha256" for table in tables]


def code(script, **plugins):
    """Return a function that returns a digest of a script, of the job's plug-ins, and of all code that they import.

    `plugins` contains a name or a tuple of names for each kind, or a function that returns them from the wildcards.
    """
    path = str(source(f"workflow/scripts/{script}"))

    def digest(wildcards):
        names = {
            kind: names(wildcards) if callable(names) else names
            for kind, names in plugins.items()
        }
        return code_digest(path, tuple(names.items()))

    return digest


def metrics_of_examples(wildcards):
    """Return the metrics that the script of `examples` computes."""
    from protocol.report.examples import METRICS

    return METRICS


def needs(name):
    """Return functions that return the memory and the time of a rule's job, more at each further attempt."""

    def megabytes(wildcards, attempt):
        return PLAN.job(wildcards.items()).need(name, attempt)["mem_mb"]

    def minutes(wildcards, attempt):
        return PLAN.job(wildcards.items()).need(name, attempt)["runtime"]

    return {"mem_mb": megabytes, "runtime": minutes}


def build_dag(build=workflow._build_dag):
    """Make the plan, and check the existing results that it relies on, before any job starts and in dry runs."""
    build()
    executes = workflow.is_main_process and workflow.executor_plugin is not None
    if executes and not workflow.touch:
        if lines := refusal(workflow, EXPERIMENT.name):
            raise WorkflowError("\n".join(lines))


# Snakemake has no hook for a finished plan: it calls `onstart` neither in dry runs nor for modules, nor if there is
# nothing to be done. This method is not documented; tests run it.
workflow._build_dag = build_dag
