"""The checked experiment, the folders, and the functions that name the files and parameters of rules."""

import functools
import itertools
import os
import re
import sys
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

from protocol import configuration, datasets, registry
from protocol.auditing import SHIPPED, known_pairs_sha256
from protocol.checks import ProtocolError
from protocol.downloads import Place, check_recorded
from protocol.scores.identity import SUPERVISION_KEYS, options_text
from protocol.metrics import needs as needs_of_metrics
from protocol.provenance.seeds import derive
from protocol.splits import draw_of, drawing_split, list_paths
from protocol.provenance.storage import check_writable

try:
    configuration.check_files(workflow.configfiles)
    IS_MODULE = not workflow.modifier.is_main_snakefile()
    EXPERIMENT = configuration.load(
        config, from_file=IS_MODULE or bool(workflow.configfiles)
    )
    configuration.check_installed(EXPERIMENT)
    CONFIG = EXPERIMENT.config
    config.update(CONFIG)  # scripts receive the checked configuration
    DATASET, DATASET_OPTIONS = CONFIG["dataset"], CONFIG["dataset_options"]
    FILES = registry.DATASETS.entry(DATASET).files
    PLACE = Place(
        DATASET, Path("results/downloads"), CONFIG["mirror"], CONFIG["mirror_sha256"]
    )
    USER_FILES, USER_FOLDERS = datasets.user_paths(DATASET, DATASET_OPTIONS)
    check_recorded(FILES, PLACE)
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
    feature="|".join(EXPERIMENT.features),
    extraction="|".join(EXPERIMENT.extractions),
    split="|".join(registry.names("split")),
    draw="|".join(sorted({draw_of(split) for split in registry.names("split")})),
    hasher="|".join([*EXPERIMENT.hashers, *EXPERIMENT.codes]),
    run="[0-9]+",


def plan(wildcards):
    """Return the experiment's plan for a feature: plug-in, options, runs, splits, hashers, code lengths ..."""
    return EXPERIMENT.features[wildcards.feature]


def each(pattern, **only):
    """Return the files of a pattern for every combination of feature, split, draw, run and hasher, each once.

    Methods with finished codes are among the hashers. `only` restricts the combinations, as in ``feature="gist"``;
    ``finished=False`` keeps the hashers that are trained, ``finished=True`` the methods with finished codes.
    """
    files = []
    for one in EXPERIMENT.combinations():
        if all(one[name] == value for name, value in only.items()):
            files.append(pattern.format(**one))
    return list(dict.fromkeys(files))


# A file of results may refer to another one only if every job finds that file at the same path, unlike in a bucket.
BY_REFERENCE = workflow.storage_settings.default_storage_provider is None


def on_this_machine(path):
    """Return a file that is on this machine even if the results are in an object store."""
    return local(str(path))


def source(path):
    """Return a file of the project, from the checkout or from git. Moving the checkout does not rerun any job."""
    return sourcecache_entry(str(workflow.source_path(f"../../{path}")), path)


def checksums(*files):
    """Return the checksum files of CSV, JSON and text files, which rules that read such files declare as inputs."""
    return [f"{file}.sha256" for file in files]


def is_there(path):
    """Return whether the project has a file: a copy of a checkout may lack the stored results."""
    return not CHECKOUT.is_dir() or (CHECKOUT / path).exists()


# Every script imports this one, and a script from git sees only the files that were fetched.
source("workflow/scripts/job.py")


# Code and resources


@functools.cache
def code(script, **plugins):
    """Return a digest of a script, of the plug-ins that its rule uses, by kind, and of all code that they import."""
    return registry.code_digest(str(source(f"workflow/scripts/{script}")), **plugins)


def code_of(script, *users):
    """Return a function that returns the digest `code` of a job. `users` are keys of `PLUGINS`."""

    def digest(wildcards):
        used = {}
        for user in users:
            kind, named = PLUGINS[user]
            plugins = named(wildcards)
            used.setdefault(kind, [])
            used[kind] += [plugins] if isinstance(plugins, str) else plugins
        return code(script, **{kind: tuple(names) for kind, names in used.items()})

    return digest


def needs(name, wildcards, attempt):
    """Return the memory and time of a job."""
    feature = wildcards.get("feature")
    if "extraction" in wildcards.keys():
        feature = EXPERIMENT.extractions[wildcards.extraction].name
    return configuration.need(
        EXPERIMENT,
        name,
        feature=feature,
        hasher=wildcards.get("hasher"),
        attempt=attempt,
    )


def memory(name):
    """Return a function that returns the memory of a job of a rule in megabytes, more at each further attempt."""

    def megabytes(wildcards, attempt):
        return needs(name, wildcards, attempt)["mem_mb"]

    return megabytes


def minutes(name):
    """Return a function that returns the time of a job of a rule in minutes, more at each further attempt."""

    def runtime(wildcards, attempt):
        return needs(name, wildcards, attempt)["runtime"]

    return runtime


# Datasets and features


def user_files(wildcards):
    """Return the user's own files. Snakemake does not interpret braces in paths that a function returns."""
    return [on_this_machine(path) for path in USER_FILES]


def folder_states(wildcards):
    return [datasets.folder_state(path) for path in USER_FOLDERS]


def extracted_plugin(wildcards):
    return EXPERIMENT.extractions[wildcards.extraction].plugin


def extracted_options(wildcards):
    return EXPERIMENT.extractions[wildcards.extraction].options


def n_parts(wildcards):
    """Return the number of jobs that share an extraction."""
    return configuration.n_parts(EXPERIMENT, wildcards.extraction)


def parts_of(wildcards):
    """Return the parts of an extraction; none if one job extracts everything."""
    n = n_parts(wildcards)
    folder = f"<data>/{wildcards.extraction}/parts"
    return [f"{folder}/{part}.h5" for part in range(n)] if n > 1 else []


def features_of(wildcards):
    """Return the file of the extracted features, which all experiments on a dataset share."""
    return f"<data>/{plan(wildcards).extraction}/features.h5"


def feature_plugin(wildcards):
    return plan(wildcards).plugin


def feature_options(wildcards):
    return plan(wildcards).options


def known_dimension(feature):
    """Return the dimension of a feature, or None if only its file records it or there are two modalities."""
    dimensions = EXPERIMENT.dimensions(feature)
    return dimensions[0] if len(dimensions) == 1 else None


def preprocessing_steps(wildcards):
    """Return the preprocessing steps of each modality of a feature, by the keys of `Feature.modalities`."""
    return plan(wildcards).steps


def preprocessing_seed(wildcards):
    return derive(
        CONFIG["seed"], DATASET, "preprocess", wildcards.feature, int(wildcards.run)
    )


# Draws and splits


def lists_of(split):
    """Return the user's files that list the partitions of a split protocol."""
    files = list_paths(registry.get("split", split), CONFIG["split_options"][split])
    return [on_this_machine(path) for path in files.values()]


def split_name(wildcards):
    return wildcards.split


def split_lists(wildcards):
    return lists_of(wildcards.split)


def split_options(wildcards):
    return CONFIG["split_options"][wildcards.split]


def drawn_by(wildcards):
    """Return the split protocol that makes a draw."""
    return drawing_split(wildcards.draw)


def draw_lists(wildcards):
    """Return the files in which the user lists the items of a draw; only protocols that share no draw read lists."""
    is_listed = registry.get("split", drawn_by(wildcards)).listed
    return lists_of(drawn_by(wildcards)) if is_listed else []


def draw_options(wildcards):
    return CONFIG["split_options"].get(drawn_by(wildcards), {})


def draw_sizes(wildcards):
    """Return the sizes that the config file gives; a protocol declares all others in its code."""
    opened = registry.get("split", drawn_by(wildcards)).open
    return {name: CONFIG["split_sizes"].get(name, 0) for name in opened}


def draw_seed(wildcards):
    return derive(CONFIG["seed"], DATASET, "split", int(wildcards.run))


def draw_of_split(wildcards):
    return f"<results>/draws/{draw_of(wildcards.split)}/run{wildcards.run}.h5"


def splits_of_draw(wildcards):
    """Return the split protocols of a feature that share a draw."""
    return [
        split for split in plan(wildcards).splits if draw_of(split) == wildcards.draw
    ]


def split_files(wildcards):
    splits = splits_of_draw(wildcards)
    return [
        f"<results>/splits/{split}/run{wildcards.run}/splits.h5" for split in splits
    ]


# Ground truths


def ground_truths_of(wildcards):
    """Return the plug-in and options of each ground truth of a feature, by name."""
    uses = [EXPERIMENT.ground_truths[name] for name in plan(wildcards).ground_truths]
    return {use.name: {"use": use.plugin, "options": use.options} for use in uses}


def ground_truth_plugins(wildcards):
    return [
        EXPERIMENT.ground_truths[name].plugin for name in plan(wildcards).ground_truths
    ]


def ground_truth_seed(wildcards):
    return derive(
        CONFIG["seed"],
        DATASET,
        "groundtruth",
        wildcards.feature,
        int(wildcards.run),
    )


# The ground truth among the training rows for each kind of supervision.
SUPERVISING = EXPERIMENT.supervising()


def supervising(wildcards):
    return EXPERIMENT.ground_truths[SUPERVISING[wildcards.supervision]]


def supervising_plugin(wildcards):
    return supervising(wildcards).plugin


def supervising_options(wildcards):
    return supervising(wildcards).options


# Hashers

SELECTION = "<results>/{feature}/{draw}/run{run}/{hasher}/selection.h5"
SEARCHED = [name for name, use in EXPERIMENT.hashers.items() if use.grid]


def searched(pattern):
    """Return the files of a pattern for every hasher with a grid."""
    return [file for name in SEARCHED for file in each(pattern, hasher=name)]


# The files of all selections, and their table; empty if no hasher has a grid.
SELECTIONS = searched(SELECTION)
SELECTION_TABLE = ["<results>/selection.csv"] if SELECTIONS else []


def hasher_plugin(wildcards):
    return EXPERIMENT.hashers[wildcards.hasher].plugin


def hasher_options(wildcards):
    return EXPERIMENT.hashers[wildcards.hasher].options


def hasher_grid(wildcards):
    return EXPERIMENT.hashers[wildcards.hasher].grid


def model_seeds(wildcards):
    """Return a seed for each code length, which does not depend on the other lengths.

    They do not depend on the options, so that the selected model is the one that was scored.
    """
    parts = CONFIG["seed"], DATASET, wildcards.feature, wildcards.hasher
    lengths = plan(wildcards).n_bits
    return {n_bits: derive(*parts, n_bits, int(wildcards.run)) for n_bits in lengths}


def supervision_kind(hasher):
    """Return the kind of supervision that a hasher needs and the pipeline provides, or None."""
    kind = registry.get("hasher", EXPERIMENT.hashers[hasher].plugin).supervision
    return kind if kind in SUPERVISING else None


def supervision_of(wildcards):
    """Return the file that a hasher learns from in addition to the training rows, if any."""
    kind = supervision_kind(wildcards.hasher)
    file = (
        f"<results>/{wildcards.feature}/{wildcards.draw}/run{wildcards.run}/{kind}.h5"
    )
    return {"supervision": file} if kind else {}


def supervised(pattern):
    """Return the files of a pattern for every kind of supervision that a hasher of the experiment needs."""
    files = []
    for name in EXPERIMENT.hashers:
        kind = supervision_kind(name)
        if kind is not None:
            files += each(pattern.replace("{supervision}", kind), hasher=name)
    return list(dict.fromkeys(files))


def selection_of(wildcards):
    """Return the file with a hasher's selected options, if it has a grid."""
    if wildcards.hasher not in SEARCHED:
        return {}
    return {"selection": SELECTION.format(**dict(wildcards.items()))}


def selection_criterion(wildcards):
    """Return the criterion of selection, by default with the first ground truth of the feature."""
    name = CONFIG["selection"]["ground_truth"] or plan(wildcards).ground_truths[0]
    return CONFIG["selection"] | {"ground_truth": name, "empty": CONFIG["empty"]}


def selecting(wildcards):
    return EXPERIMENT.ground_truths[selection_criterion(wildcards)["ground_truth"]]


def selecting_plugin(wildcards):
    return selecting(wildcards).plugin


def selecting_options(wildcards):
    return selecting(wildcards).options


def selecting_metric(wildcards):
    return CONFIG["selection"]["metric"]


def required_selection_table(wildcards):
    """Return the table of chosen options; raise an error of one line if no hasher has a grid."""
    if not SELECTION_TABLE:
        raise WorkflowError(
            f"experiment {EXPERIMENT.name!r} has no options to choose: give it the key `hasher_grids`, as in "
            "workflow/config/cifar10_nested.yaml"
        )
    return SELECTION_TABLE


# Finished codes, computed elsewhere

TRAINED = "|".join(EXPERIMENT.hashers)
FINISHED = (
    "|".join(EXPERIMENT.codes) or "nothing"
)  # a wildcard's pattern must not be empty


def finished_files(wildcards):
    """Return the files of a method's codes for the splits of a draw, by split, code length and role."""
    method, run = EXPERIMENT.codes[wildcards.hasher], int(wildcards.run)
    return {split: method.files(split, run) for split in counted_splits(wildcards)}


def finished_paths(wildcards):
    """Return the user's files of codes, each once."""
    method, run = EXPERIMENT.codes[wildcards.hasher], int(wildcards.run)
    paths = configuration.code_files(method, counted_splits(wildcards), run)
    return [on_this_machine(path) for path in dict.fromkeys(paths)]


def finished_options(wildcards):
    """Return the options for reading a method's files."""
    method = EXPERIMENT.codes[wildcards.hasher]
    return {"bit_order": method.bit_order, "binarize": method.binarize}


# Counts and scores


def counted_splits(wildcards):
    """Return the split protocols of a draw under which a hasher is scored. Finished codes may exist for only some."""
    if wildcards.hasher not in EXPERIMENT.codes:
        return splits_of_draw(wildcards)
    finished = EXPERIMENT.codes[wildcards.hasher].splits
    return [split for split in splits_of_draw(wildcards) if split in finished]


def counted_split_files(wildcards):
    splits = counted_splits(wildcards)
    return [
        f"<results>/splits/{split}/run{wildcards.run}/splits.h5" for split in splits
    ]


def extensions_of(wildcards):
    """Return the extensions of codes to count, with their numbers of bits."""
    pairs = []
    for name in plan(wildcards).extensions:
        pairs += [
            (name, s) for s in ([0] if name == "none" else CONFIG["extension_bits"])
        ]
    return pairs


def shard_number(wildcards):
    """Return the number of a shard, from 0."""
    return int(wildcards.scatteritem.partition("-of-")[0]) - 1


def counting_times():
    """Return the benchmark files of the jobs that count."""
    folder, n_shards = (
        "<benchmarks>/{feature}/{draw}/run{run}/{hasher}",
        CONFIG["count_shards"],
    )
    if n_shards == 1:
        return each(f"{folder}/count.tsv")
    files = each(f"{folder}/add_counts.tsv")
    for number in range(1, n_shards + 1):
        files += each(f"{folder}/shards/{number}-of-{n_shards}/count_shard.tsv")
    return files


def options_of_scores():
    """Return the options of dataset, ground truth and split, by feature, ground truth and split."""
    found = {}
    for feature in EXPERIMENT.features.values():
        for place in itertools.product(
            [feature.name], feature.ground_truths, feature.splits
        ):
            found[" ".join(place)] = options_text(EXPERIMENT.options(*place))
    return found


def supervision_of_methods():
    """Return what each method learned from in addition to the training vectors, by feature and method."""
    return {
        f"{one['feature']} {one['hasher']}": EXPERIMENT.learned_from(
            one["hasher"], one["feature"]
        )
        for one in EXPERIMENT.combinations()
    }


def counts_of_hasher(wildcards):
    """Return the counts of one hasher on a feature, for every draw and run."""
    file = "<results>/{feature}/{draw}/run{run}/{hasher}/counts.h5"
    return each(file, feature=wildcards.feature, hasher=wildcards.hasher)


def splits_of_hasher(wildcards):
    """Return the splits on which a hasher is scored with a feature, for every protocol and run."""
    file = "<results>/splits/{split}/run{run}/splits.h5"
    return each(file, feature=wildcards.feature, hasher=wildcards.hasher)


# The table of metrics without near-duplicates; empty if no judged pairs of the dataset are known.
DUPLICATES = ["<results>/duplicates.csv"] if DATASET in SHIPPED else []


def counts_of_split(wildcards):
    """Return the counts of all hashers on a feature under a split, over all runs."""
    file = "<results>/{feature}/{draw}/run{run}/{hasher}/counts.h5"
    return each(file, feature=wildcards.feature, split=wildcards.split)


def codes_of_run0(wildcards):
    file = "<results>/{feature}/{draw}/run0/{hasher}/codes.h5"
    return each(file, feature=wildcards.feature, split=wildcards.split)


def ground_truth_of_run0(wildcards):
    return (
        f"<results>/{wildcards.feature}/{draw_of(wildcards.split)}/run0/ground_truth.h5"
    )


def n_bits_of(wildcards):
    return plan(wildcards).n_bits


def extended_hasher(wildcards):
    """Return the hasher whose extended codes are drawn: LSH, as in RAMAP's tables, or the first hasher."""
    names = plan(wildcards).hashers
    lsh = [name for name in names if EXPERIMENT.hashers[name].plugin == "lsh"]
    return (lsh or names)[0]


# The report

# The tables, in addition to the summary, from which the figures are drawn, by feature and split.
DISPLAYED = [
    "<results>/{feature}/display/{split}/radii.csv",
    "<results>/{feature}/display/{split}/curves.csv",
    "<results>/{feature}/display/{split}/conventions.csv",
    "<results>/{feature}/display/{split}/buckets.csv",
    "<results>/{feature}/display/{split}/histogram.csv",
    "<results>/{feature}/display/{split}/retrieved.csv",
    "<benchmarks>/{feature}/display/{split}/lookups.csv",
]


def displayed():
    """Return the tables of the rule `display`."""
    files = []
    for pattern in DISPLAYED:
        files += each(pattern)
    return files


# The leak study


def leak_study():
    """Return the key `leak` of the configuration; raise an error of one line if it is missing."""
    if "leak" not in CONFIG:
        raise WorkflowError(
            f"experiment {EXPERIMENT.name!r} has no leak study: give it the key `leak`, as in "
            "workflow/config/cifar10_leak.yaml"
        )
    return CONFIG["leak"]


def leak_study_of(wildcards):
    return leak_study()


def mean_average_precision(wildcards):
    """Return the metric of the leak study."""
    return "mAP"


def leak_sizes(wildcards):
    return {key: size for key, size in leak_study().items() if key != "controls"}


def leak_seed(wildcards):
    return derive(CONFIG["seed"], DATASET, "leak", int(wildcards.run))


def leak_model_seeds(wildcards):
    """Return a seed for each side, by training size and code length.

    With one seed for both sides, a control would produce the same model twice, and its leak would always be zero.
    """
    parts = CONFIG["seed"], DATASET, wildcards.feature, wildcards.hasher
    run, seeds = int(wildcards.run), {}
    for size in leak_study()["train_per_class"]:
        for n_bits in plan(wildcards).n_bits:
            seeds[size, n_bits] = {
                side: derive(*parts, n_bits, run, side, size) for side in ("a", "b")
            }
    return seeds


# By purpose, the kind of the plug-ins that a job uses, and a function that returns their name or a list of names.
PLUGINS = {
    "extraction": ("feature", extracted_plugin),
    "feature": ("feature", feature_plugin),
    "draw": ("split", drawn_by),
    "split": ("split", split_name),
    "ground_truths": ("ground_truth", ground_truth_plugins),
    "supervision": ("ground_truth", supervising_plugin),
    "hasher": ("hasher", hasher_plugin),
    "selection": ("ground_truth", selecting_plugin),
    "selection metric": ("metric", selecting_metric),
    "mAP": ("metric", mean_average_precision),
}
