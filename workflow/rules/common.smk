"""The experiment and its plan, and the functions of wildcards that several rules use."""

import functools
import gc
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import MissingRuleException, WorkflowError
from snakemake.io import sourcecache_entry
from snakemake.logging import logger

# A plan has many objects that all stay. Every collection would look at them, which takes a tenth of the time.
gc.disable()
# The folder of the project, even if another workflow imports this one; a URL if it is imported from git.
CHECKOUT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
if set("{}") & set(str(CHECKOUT)):  # Snakemake takes them for wildcards
    raise WorkflowError(f"{CHECKOUT}: Snakemake can't run in a folder with braces in its path. Rename the folder.")
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
    from protocol import configuration, registry
except ModuleNotFoundError as error:
    origin = workflow.current_basedir
    if error.name != "protocol" or origin.is_local:
        raise
    raise WorkflowError(
        "The package is not installed in Snakemake's environment: pip install "
        f"'hashing-protocol[pipeline] @ git+https://{origin.host}/{origin.repo}@{origin.ref}'"
    )
from protocol.auditing import errors_in, known_pairs_sha256
from protocol.checks import ProtocolError, close
from protocol.configuration import records
from protocol.datasets import Downloads
from protocol.inputs.arrays import path_of
from protocol.provenance import sources
from protocol.provenance.storage import check_writable

try:
    IS_MODULE = not workflow.modifier.is_main_snakefile()
    if IS_MODULE and not config:
        advice = 'Write `configfile: "my.yaml"` before it and `config: config` in it'
        raise ProtocolError(f"The module has no configuration. {advice}.")
    FILES_OF_CONFIG = [] if IS_MODULE else workflow.configfiles
    EXPERIMENT = configuration.load(config, from_file=IS_MODULE or bool(FILES_OF_CONFIG), files=FILES_OF_CONFIG)
    configuration.check_installed(EXPERIMENT)
    PLAN, CONFIG = configuration.Plan(EXPERIMENT), EXPERIMENT.config
    config.update(CONFIG)  # scripts receive the checked configuration
    USER_STATES = records.states_of_dataset(CONFIG)
    DATASET = CONFIG["dataset"]
    DOWNLOADS = Downloads(DATASET, Path("results/downloads"), CONFIG["mirror"], CONFIG["mirror_sha256"])
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
    sha256="[0-9a-f]{64}|recorded",
    part="[0-9]+",
    shard="[0-9]+-of-[0-9]+",
    scores="scores|duplicates",
    excluded="excluded|near_duplicates",


# The user's file with labels for training, if hashers do not learn from those of the dataset.
TRAINING_LABELS = [path_of(file) for file in [CONFIG["training_labels"]] if file is not None]
each, METRICS = PLAN.each, tuple(CONFIG["metrics"])


def source(path):
    """Return a file of the project, from the checkout or from git. Moving the checkout does not rerun any job."""
    return sourcecache_entry(str(workflow.source_path(f"../../{path}")), path)


# Every script imports this one, and a script from git sees only fetched files.
source("workflow/scripts/job.py")
# The functions below call it for the same files and plug-ins again and again.
code_digest = functools.cache(lambda script, plugins: sources.code_digest(script, **dict(plugins)))


def code(script, **plugins):
    """Return a function that returns a digest of a script, of the job's plug-ins, and of all code that they import.

    `plugins` contains, by kind, names, or a parameter that describes plug-ins: a function of the wildcards.
    """
    path = str(source(f"workflow/scripts/{script}"))

    def names(value, wildcards):
        described = value(wildcards) if callable(value) else value
        if not isinstance(described, dict):
            return described
        described = [described] if "plugin" in described else described.values()
        return tuple(one["plugin"] for one in described)

    def digest(wildcards):
        named = [(kind, names(value, wildcards)) for kind, value in plugins.items()]
        return code_digest(path, tuple(named))

    return digest


def sealed(**tables):
    """Return CSV and JSON files together with their checksum files, which the rules that write and read them declare.

    An edited table is refused, what it was made with stands in the second line, and an object store has declared files
    only. An HDF5 file contains both itself.
    """
    files = [[table] if isinstance(table, str) else table for table in tables.values()]
    return tables | {"checksums": [f"{file}.sha256" for file in sum(files, [])]}


def mb(files):
    """Return the size in MB of those files that exist already: a job of a group may read what the group writes."""
    return sum(os.path.getsize(file) for file in files if os.path.exists(file)) // 2**20


def user_files(paths):
    """Return files of the user as inputs: local ones, even if the results are in an object store.

    Their contents are compared (`records.states`), not their times.
    """
    return [ancient(local(str(path).replace("{", "{{").replace("}", "}}"))) for path in paths]


def one(pattern):
    """Return a function that returns the one file of a pattern that a job's wildcards determine."""
    return functools.partial(PLAN.file, pattern)


def every(pattern):
    """Return a function that returns every file of a pattern that agrees with a job's wildcards."""
    return functools.partial(each, pattern)


def of_each_split(pattern):
    """Return a function that returns the file of a pattern for every split and run, in the order of `split_runs`."""
    return functools.partial(PLAN.each_split, pattern)


features = one("<data>/{extraction}/features.h5")
splits = every("<results>/splits/{split}/run{run}/splits.h5")
names_of_splits = every("{split}")


def supervision(wildcards):
    """Return the file that a hasher learns from in addition to the training rows, if any, by its name."""
    patterns = PLAN.supervision(wildcards.hasher)
    return {"supervision": PLAN.file(pattern, wildcards) for pattern in patterns}


def selection(wildcards):
    """Return the file with a hasher's selected options, if it has a grid, by its name."""
    file = "<results>/{feature}/{sample}/run{run}/{hasher}/selection.h5"
    return {"selection": file.format(**wildcards)} if PLAN.grid(wildcards) else {}


def parts(wildcards):
    """Return the parts of an extraction; none if one job extracts everything."""
    number = PLAN.n_parts(wildcards)
    file = f"<data>/{wildcards.extraction}/parts/{{}}.h5"
    return [file.format(part) for part in range(number)] if number > 1 else []


def shards(wildcards):
    """Return the counts of all shards, for every split and run; none if the database is not divided."""
    folder = "<results>/{feature}/{sample}/run{run}/{hasher}/shards"
    folders = PLAN.each_split(folder, wildcards)
    return [f"{one}/{shard}.h5" for one in folders for shard in PLAN.shards]


def build_dag(build=workflow._build_dag):
    """Make the plan, and check the existing results that it relies on, before any job starts and in dry runs."""
    try:
        build()
    except MissingRuleException as error:
        name = re.search("to produce (.*?)(?: \\(|$)", str(error))[1]
        if "/" not in name:  # a stage, and no file
            meant = close(name, [rule.name for rule in workflow.rules if not rule.has_wildcards()])
            hint = "".join(f"Did you mean {stage}? " for stage in meant)
            error.args = (f"{error} {hint}The option --list-target-rules lists all stages.",)
        raise
    gc.enable()
    executes = workflow.is_main_process and workflow.executor_plugin is not None
    if executes and not workflow.touch:
        if lines := records.refusal(workflow, EXPERIMENT.name):
            raise WorkflowError("\n".join(lines))


# Snakemake has no hook for a finished plan: it calls `onstart` neither in dry runs nor for modules, nor if there is
# nothing to be done. Without this private method, results without a record would be accepted in these three cases.
# Tests run all of them.
workflow._build_dag = build_dag


def execute(*arguments, run=workflow.execute, **named):
    """Run the jobs; then, if the plan contains them, print the errors that the audit found, and the path of the report."""
    # For its default limit, Snakemake evaluates all ready jobs again one second after each evaluation, and once more for
    # each job that has finished: with thousands of jobs, all the time. Only a cluster needs it.
    settings = workflow.scheduling_settings
    limit = settings.max_jobs_per_timespan
    if workflow.local_exec and limit and (limit.max_jobs, limit.timespan) == (100, 1):
        settings.max_jobs_per_timespan = None
    run(*arguments, **named)
    planned = (
        {job.rule.name for job in workflow.dag.jobs} if workflow.is_main_process and not workflow.dryrun else set()
    )
    folder = Path(workflow.overwrite_workdir or "") / "results" / EXPERIMENT.name
    if "audit" in planned and (folder / "audit.csv").exists():
        for line in errors_in(folder / "audit.csv"):
            logger.error(f"Error found by the audit: {line}")
    if "report" in planned:
        logger.info(f"Report: {folder / 'report.html'}")


# Snakemake calls `onsuccess` neither last nor if there is nothing to be done.
workflow.execute = execute
