"""What every room's rules share: the checked setting, the folders, the digests, the wildcards."""

import functools
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path.insert(0, os.path.join(workflow.basedir, "workflow"))
# The package of this checkout, also where another one is installed.
sys.path.insert(0, workflow.basedir)

import resources
import settings

from protocol import datasets, registry
from protocol.checks import ProtocolError
from protocol.downloads import Place, check_recorded
from protocol.metrics import need_index_order
from protocol.seeds import derive
from protocol.splits import list_paths
from protocol.storage import check_writable

# One thread in every linear-algebra call: a sum split over threads ends in other bits.
for variable in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM"):
    os.environ[f"{variable}_THREADS"] = "1"

try:
    SETTING = settings.load(config, from_file=bool(workflow.configfiles))
    SET = SETTING.config
    config.update(SET)  # the scripts' config is the checked setting
    DATASET = registry.entry("dataset", SET["dataset"])
    USER_FILES, USER_FOLDERS = datasets.user_paths(
        SET["dataset"], SET["dataset_options"]
    )
    FILES = DATASET.files
    PLACE = Place(
        SET["dataset"], Path("results/downloads"), SET["mirror"], SET["mirror_sha256"]
    )
    check_recorded(FILES, PLACE)
    check_writable(f"results/{SET['setting']}")
    NEEDS = resources.declared(resources.size(SETTING))
except ProtocolError as error:
    raise WorkflowError(str(error))


pathvars:
    results=f"results/{SET['setting']}",
    downloads=f"results/downloads/{SET['dataset']}",
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",


SCRIPTS = Path(workflow.basedir, "workflow/scripts")
# All plug-ins of some kinds, for scripts that find them by names in results.
ALL_PLUGINS = {kind: registry.names(kind) for kind in registry.PACKAGES}


@functools.cache
def code(script, **plugins):
    """A digest of a script, of the plug-ins that its rule uses, by kind, and of all the code that these import."""
    return registry.code_digest(SCRIPTS / script, **plugins)


wildcard_constraints:
    feature="|".join(SETTING.grids),
    split="|".join(registry.names("split")),
    hasher="|".join(registry.names("hasher")),
    run="[0-9]+",


def grid(wildcards):
    return SETTING.grids[wildcards.feature]


def each(pattern, cells=SETTING.cells()):
    """The files of `pattern` for every cell of the setting, each once."""
    return list(dict.fromkeys(pattern.format(**cell) for cell in cells))


SELECTION = "<results>/{feature}/{split}/run{run}/{hasher}/selection.h5"
# All that is searched, and the table of it; nothing where no hasher has a grid.
SELECTIONS = each(
    SELECTION,
    [cell for cell in SETTING.cells() if cell["hasher"] in SET["hasher_grids"]],
)
SELECTION_TABLE = ["<results>/selection.csv"] if SELECTIONS else []


PUBLISHED = sorted(Path(workflow.basedir, "workflow/published").glob("*.csv"))
KEPT = sorted(Path(workflow.basedir, "results/reference").glob("*/*.csv"))


def on_this_machine(path):
    """A file that is where it is, also when results live in a bucket."""
    return local(str(path))


def lists_of(split):
    """The files that a split protocol is listed in, by partition."""
    return list_paths(registry.get("split", split), SET["split_options"][split])


def selection_table(wildcards):
    """The table of chosen options; one line says so where there is nothing to choose."""
    if not SELECTION_TABLE:
        raise WorkflowError(
            f"setting {SET['setting']!r} has no options to choose: give it the key `hasher_grids`, as in "
            "workflow/config/cifar10_nested.yaml"
        )
    return SELECTION_TABLE


def criterion(wildcards):
    """What options are chosen by; without a ground truth in the setting, it is the feature's first."""
    ground_truth = SET["selection"]["ground_truth"] or grid(wildcards).ground_truths[0]
    return SET["selection"] | {"ground_truth": ground_truth, "empty": SET["empty"]}


def selected(wildcards):
    """The file that a hasher's options come from, where it has a grid."""
    searched = wildcards.hasher in SET["hasher_grids"]
    return (
        {"selection": SELECTION.format(**dict(wildcards.items()))} if searched else {}
    )


# The ground truth, among the training rows, that each kind of supervision is made by.
SUPERVISING = settings.supervising(SET)


# All that supervised hashers are told.
SUPERVISIONS = each(
    "<results>/{feature}/{split}/run{run}/{kind}.h5",
    [
        cell | {"kind": kind}
        for cell in SETTING.cells()
        if (kind := registry.get("hasher", cell["hasher"]).supervision) in SUPERVISING
    ],
)


def supervised(wildcards):
    """The file of what a hasher learns from besides the training rows, where it needs one."""
    kind = registry.get("hasher", wildcards.hasher).supervision
    file = "<results>/{feature}/{split}/run{run}/{kind}.h5"
    return (
        {"supervision": file.format(kind=kind, **dict(wildcards.items()))}
        if kind in SUPERVISING
        else {}
    )


def model_seeds(wildcards):
    """One seed a code length, whatever other lengths there are.

    The split protocol is left out, so that standard and improved runs train the same model and differ in the database
    only; so are the options, so that the chosen model is the one that was scored.
    """
    parts = SET["seed"], SET["dataset"], wildcards.feature, wildcards.hasher
    return {
        n_bits: derive(*parts, n_bits, int(wildcards.run))
        for n_bits in grid(wildcards).n_bits
    }


def truth_seed(wildcards):
    return derive(
        SET["seed"],
        SET["dataset"],
        "groundtruth",
        wildcards.feature,
        int(wildcards.run),
    )


def benchmarks(wildcards, input):
    """The folder of the benchmark files, some levels above a table of times."""
    return str(Path(input.displayed[-1]).parents[3])


def leak_study():
    """The setting's key `leak`; one line says so where it is missing."""
    if "leak" not in SET:
        raise WorkflowError(
            f"setting {SET['setting']!r} has no leak study: give it the key `leak`, as in "
            "workflow/config/cifar10_leak.yaml"
        )
    return SET["leak"]
