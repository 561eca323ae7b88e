"""The plan of an experiment: the combinations that its rules run, and the parameters of each rule's jobs.

The parameters are functions of a job's wildcards. In the patterns of files, ``<results>``, ``<data>`` and
``<benchmarks>`` are folders that Snakemake fills in.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from protocol import registry
from protocol.auditing import SHIPPED
from protocol.auditing.leak_study import SIDES
from protocol.checks import ProtocolError
from protocol.configuration.experiment import FIELDS, Experiment, FeaturePlan, Variant, supervising
from protocol.inputs.arrays import path_of
from protocol.provenance import derive
from protocol.scores.metadata import UNHASHED, options_text
from protocol.splits import SplitProtocol, declaration, sample_of, sampling_split

Wildcards = Mapping[str, str]
"""The wildcards of a job, by name."""
_RUN = "{feature}/{sample}/run{run}"


@dataclass(frozen=True)
class Plan:
    """The jobs of an experiment.

    Examples
    --------
    >>> from protocol.configuration import load
    >>> plan = Plan(load({"runs": 2, "features": {"gist": {}}}, from_file=False))
    >>> plan.each("results/digits/samples/{sample}/run{run}.h5")
    ['results/digits/samples/random/run0.h5', 'results/digits/samples/random/run1.h5']
    """

    experiment: Experiment

    def __post_init__(self) -> None:
        """Raise ProtocolError if protocols that share a sampled split declare different ones."""
        for split in self.experiment.splits:
            sampling_split(sample_of(split))

    # The table of jobs

    @cached_property
    def _indices(self) -> dict[tuple[str, ...], dict[tuple[str, ...], list[dict[str, Any]]]]:
        return {}

    def rows(self, wildcards: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the combinations that agree with the wildcards; those that are no fields are ignored.

        Raises
        ------
        ProtocolError
            If there is no such row.
        """
        fields = tuple(field for field in FIELDS if field in wildcards)
        if fields not in self._indices:
            index = self._indices[fields] = {}
            for row in self.experiment.combinations:
                index.setdefault(tuple(str(row[field]) for field in fields), []).append(row)
        rows = self._indices[fields].get(tuple(str(wildcards[field]) for field in fields))
        if rows is None:
            names = ", ".join(f"{field} {wildcards[field]}" for field in fields)
            raise ProtocolError(f"experiment {self.experiment.name!r} has no job for {names}.")
        return rows

    def each(self, pattern: str, wildcards: Wildcards | None = None) -> list[str]:
        """Return the files of a pattern for every combination that agrees with the wildcards, each file once."""
        return list(dict.fromkeys(pattern.format(**row) for row in self.rows(dict((wildcards or {}).items()))))

    def file(self, pattern: str, wildcards: Wildcards) -> str:
        """Return the one file of a pattern that the wildcards determine."""
        (file,) = self.each(pattern, wildcards)
        return file

    def each_split(self, pattern: str, wildcards: Wildcards) -> list[str]:
        """Return the file of a pattern for every split and run, in the order of `split_runs`."""
        rows = self.rows(dict(wildcards.items()))
        return [*{(row["split"], row["run"]): pattern.format(**row) for row in rows}.values()]

    def each_trained(self, pattern: str) -> list[str]:
        """Return the files of a pattern for every hasher that is trained, each file once."""
        return self._each_of(lambda hasher: [pattern] if hasher in self.experiment.hashers else [])

    def _each_of(self, patterns: Callable[[str], list[str]]) -> list[str]:
        """Return the files of the patterns of each row's hasher, each file once."""
        rows = ((row, pattern) for row in self.experiment.combinations for pattern in patterns(row["hasher"]))
        return list(dict.fromkeys(pattern.format(**row) for row, pattern in rows))

    def split_runs(self, wildcards: Wildcards) -> list[tuple[str, int]]:
        """Return the split and run of every row that agrees with the wildcards, each pair once."""
        return list(dict.fromkeys((row["split"], row["run"]) for row in self.rows(dict(wildcards.items()))))

    # Files

    @cached_property
    def wildcards(self) -> dict[str, str]:
        """The regular expression of each wildcard whose values the experiment determines."""
        experiment, splits = self.experiment, registry.names("split")
        values = {
            "feature": experiment.features,
            "extraction": experiment.extractions,
            "split": splits,
            "sample": sorted({sample_of(split) for split in splits}),
            "hasher": [*experiment.hashers, *experiment.codes],
            "supervision": supervising(experiment.config),
        }
        return {name: "|".join(allowed) for name, allowed in values.items()} | {"run": "[0-9]+"}

    @cached_property
    def selections(self) -> list[str]:
        """The files with selected options; empty if no hasher has a grid."""
        searched = {name for name, hasher in self.experiment.hashers.items() if hasher.grid}
        return self._each_of(lambda hasher: [f"<results>/{_RUN}/{{hasher}}/selection.h5"] if hasher in searched else [])

    @property
    def selection_table(self) -> list[str]:
        """The table of all selections; empty if no hasher has a grid."""
        return ["<results>/selection.csv"] if self.selections else []

    def supervision(self, hasher: str) -> list[str]:
        """Return the pattern of the file that a hasher learns from beside its training rows; empty if there is none."""
        kind = None if hasher in self.experiment.codes else self.experiment.supervision(hasher)
        return [f"<results>/{_RUN}/{kind}.h5"] if kind in supervising(self.experiment.config) else []

    @cached_property
    def supervisions(self) -> list[str]:
        """Those files for all hashers of the experiment."""
        return self._each_of(cache(self.supervision))

    @property
    def duplicates(self) -> list[str]:
        """The table of scores without near-duplicates; empty if no judged pairs of the dataset are known."""
        return ["<results>/duplicates.csv"] if self.experiment.config["dataset"] in SHIPPED else []

    @property
    def exclusion_file(self) -> list[str]:
        """The user's file with queries that no score contains; empty if there is none."""
        return [path for path in [self.experiment.config["exclude_queries"]] if path is not None]

    @property
    def claims(self) -> list[str]:
        """The papers' claims; empty unless the experiment is a reproduction."""
        return ["<results>/claims.json"] if self.experiment.config["reproduction"] else []

    @property
    def shards(self) -> list[str]:
        """The names of the shards in which the database of a hasher and run is counted; none if it is not divided."""
        n_shards = self.experiment.config["count_shards"]
        return [f"{number}-of-{n_shards}" for number in range(1, n_shards + 1)] if n_shards > 1 else []

    @property
    def provenance(self) -> list[str]:
        """The files whose provenance the report prints: those of run 0."""
        run = "<results>/{feature}/{sample}/run0"
        return [
            "<data>/content.h5",
            *self.each("<data>/{extraction}/features.h5"),
            *self.each("<results>/samples/{sample}/run0.h5"),
            *self.each("<results>/splits/{split}/run0/splits.h5"),
            *self.each(f"{run}/preprocessing.h5"),
            *self.each(f"{run}/ground_truth.h5"),
            *self.each_trained(f"{run}/{{hasher}}/models.h5"),
            *self.each(f"{run}/{{hasher}}/codes.h5"),
        ]

    # Parameters that are plug-ins and their options

    def _feature(self, wildcards: Wildcards) -> FeaturePlan:
        """Return the feature of a job, or one of those whose extraction it computes."""
        if "extraction" in wildcards.keys():  # noqa: SIM118 - Snakemake's wildcards are no dictionary
            return self.experiment.extractions[wildcards["extraction"]]
        return self.experiment.features[wildcards["feature"]]

    def extraction(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the plug-in and options of a feature."""
        return _described(self._feature(wildcards))

    def feature(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the plug-in, options and preprocessing steps of a feature."""
        return self.extraction(wildcards) | {"steps": self._feature(wildcards).steps}

    def n_bits(self, wildcards: Wildcards) -> list[int]:
        """Return the code lengths of a feature."""
        return self._feature(wildcards).n_bits

    def n_parts(self, wildcards: Wildcards) -> int:
        """Return the number of jobs that share an extraction; each extracts a part of the images."""
        per_job = registry.get("feature", self._feature(wildcards).plugin).images_per_job
        return max(1, math.ceil((self.experiment.n_items or 1) / per_job)) if per_job else 1

    def split(self, wildcards: Wildcards) -> str:
        """Return the split protocol of a job, or the one that makes its sampled split."""
        names = dict(wildcards.items())
        return names.get("split") or sampling_split(names["sample"])

    def split_options(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the options of the split protocol; protocols in use that share a sampled split have the same."""
        sample = sample_of(self.split(wildcards))
        every: dict[str, dict[str, Any]] = self.experiment.config["split_options"]
        return next((options for name, options in every.items() if sample_of(name) == sample), {})

    def split_lists(self, wildcards: Wildcards) -> list[str]:
        """Return the user's files that list the items of a split; none for a sampled split that protocols share."""
        protocol = registry.get("split", self.split(wildcards))
        return [str(path) for path in protocol.list_paths(self.split_options(wildcards)).values()]

    def sample_sizes(self, wildcards: Wildcards) -> dict[str, int]:
        """Return the sizes that the config file gives; a protocol declares all others in its code."""
        sizes = self.experiment.config["split_sizes"]
        return {name: sizes.get(name, 0) for name in registry.get("split", self.split(wildcards)).open}

    def sample_declaration(self, wildcards: Wildcards) -> str:
        """Return what a split protocol declares, apart from its database."""
        return repr(declaration(self.split(wildcards)))

    def drawing_code(self, wildcards: Wildcards) -> tuple[str, ...]:
        """Return the split protocol if it has code of its own; for a declaration alone, its content is a parameter."""
        name = self.split(wildcards)
        return () if type(registry.get("split", name)) is SplitProtocol else (name,)

    def hasher(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the plug-in and options of a hasher, without those that are selected from its grid."""
        return _described(self.experiment.hashers[wildcards["hasher"]])

    def grid(self, wildcards: Wildcards) -> dict[str, list[Any]]:
        """Return the grid from which options of a hasher are selected."""
        return self.experiment.hashers[wildcards["hasher"]].grid

    def ground_truths(self, wildcards: Wildcards) -> dict[str, dict[str, Any]]:
        """Return the plug-in and options of each ground truth of a feature, by name."""
        truths = self.experiment.ground_truths
        return {name: _described(truths[name]) for name in self._feature(wildcards).ground_truths}

    def measures(self, wildcards: Wildcards) -> bool:
        """Return whether a ground truth of a feature depends on distances, and not on labels alone."""
        plugins = [truth["plugin"] for truth in self.ground_truths(wildcards).values()]
        return not all(registry.GROUND_TRUTHS.entry(plugin).needs_labels for plugin in plugins)

    def supervising(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the ground truth among the training rows that provides a kind of supervision."""
        experiment = self.experiment
        return _described(experiment.ground_truths[supervising(experiment.config)[wildcards["supervision"]]])

    def criterion(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the criterion of selection, by default with the first ground truth of the feature."""
        config = self.experiment.config
        truth = config["selection"]["ground_truth"] or self._feature(wildcards).ground_truths[0]
        return config["selection"] | {"ground_truth": truth, "undefined": config["undefined"]}

    def selecting(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the ground truth of the criterion."""
        return _described(self.experiment.ground_truths[self.criterion(wildcards)["ground_truth"]])

    def extensions(self, wildcards: Wildcards) -> list[tuple[str, int]]:
        """Return the extensions of the codes to score, with their numbers of bits; none without near-duplicates."""
        if dict(wildcards.items()).get("scores") == "duplicates":
            return [("none", 0)]
        sizes = self.experiment.config["extension_bits"]
        return [(name, s) for name in self._feature(wildcards).extensions for s in ([0] if name == "none" else sizes)]

    def code_files(self, wildcards: Wildcards) -> dict[str, dict[int, dict[str, str]]]:
        """Return the files of a method's precomputed codes by split, code length and role."""
        method, run = self.experiment.codes[wildcards["hasher"]], int(wildcards["run"])
        return {split: method.files(split, run) for split in self.each("{split}", wildcards)}

    def code_paths(self, wildcards: Wildcards) -> list[str]:
        """Return the paths of `code_files`, each once."""
        roles = [files for by_length in self.code_files(wildcards).values() for files in by_length.values()]
        return list(dict.fromkeys(str(path_of(file)) for files in roles for file in files.values()))

    def code_options(self, wildcards: Wildcards) -> dict[str, str | None]:
        """Return the options for reading a method's files."""
        method = self.experiment.codes[wildcards["hasher"]]
        return {"bit_order": method.bit_order, "binarize": method.binarize}

    # Parameters that are seeds

    def _seed(self, *parts: Any) -> int:
        return derive(self.experiment.config["seed"], self.experiment.config["dataset"], *parts)

    def sample_seed(self, wildcards: Wildcards) -> int:
        """Return the seed of a sampled split."""
        return self._seed("split", int(wildcards["run"]))

    def preprocessing_seed(self, wildcards: Wildcards) -> int:
        """Return the seed of the preprocessing of a feature."""
        return self._seed("preprocess", wildcards["feature"], int(wildcards["run"]))

    def ground_truth_seed(self, wildcards: Wildcards) -> int:
        """Return the seed of the ground truths of a feature."""
        return self._seed("groundtruth", wildcards["feature"], int(wildcards["run"]))

    def model_seeds(self, wildcards: Wildcards) -> dict[int, int]:
        """Return a seed for each code length, which does not depend on the other lengths.

        It does not depend on the options either, so that the selected model is the one that was scored.
        """
        names = wildcards["feature"], wildcards["hasher"]
        return {n_bits: self._seed(*names, n_bits, int(wildcards["run"])) for n_bits in self.n_bits(wildcards)}

    def leak_seed(self, wildcards: Wildcards) -> int:
        """Return the seed of the databases of the leak study."""
        return self._seed("leak", int(wildcards["run"]))

    def leak_seeds(self, wildcards: Wildcards) -> dict[str, dict[str, Any]]:
        """Return the seeds of the leak study by feature, as `protocol.auditing.leak_study` describes them."""
        run, sizes = int(wildcards["run"]), self.experiment.config["leak"]["train_per_class"]
        return {
            name: {
                "preprocessing": self._seed("preprocess", name, run),
                "ground_truth": self._seed("groundtruth", name, run),
                "models": {
                    hasher: {
                        (size, n_bits): {side: self._seed(name, hasher, n_bits, run, side, size) for side in SIDES}
                        for size in sizes
                        for n_bits in self.experiment.features[name].n_bits
                    }
                    for hasher in feature["hashers"]
                },
            }
            for name, feature in self.leak_features(wildcards).items()
        }

    def leak_features(self, wildcards: Wildcards) -> dict[str, dict[str, Any]]:
        """Return the features of a run of the leak study, with their ground truths and trained hashers."""
        rows = [row for row in self.rows({"run": wildcards["run"]}) if row["hasher"] in self.experiment.hashers]
        return {
            name: self.feature({"feature": name})
            | {
                "ground_truths": self.ground_truths({"feature": name}),
                "hashers": {row["hasher"]: self.hasher(row) for row in rows if row["feature"] == name},
            }
            for name in dict.fromkeys(row["feature"] for row in rows)
        }

    # Parameters of the whole experiment

    @property
    def plugins(self) -> dict[str, tuple[str, ...]]:
        """The plug-ins in use by kind, whose records the report prints; any metric may be shown."""
        experiment = self.experiment
        return {
            "dataset": (experiment.config["dataset"],),
            "feature": tuple(feature.plugin for feature in experiment.features.values()),
            "split": experiment.splits,
            "ground_truth": tuple(variant.plugin for variant in experiment.ground_truths.values()),
            "hasher": tuple(variant.plugin for variant in experiment.hashers.values()),
            "metric": tuple(registry.names("metric")),
        }

    @property
    def quantisers(self) -> dict[str, tuple[str, ...]]:
        """The plug-ins that the target `quantisers` compares, by kind."""
        names = dict.fromkeys(name.partition(":")[0] for name in self.experiment.config["quantisers"])
        kinds = {kind: set(registry.names(kind)) for kind in ("quantiser", "hasher")}
        return {kind: tuple(name for name in names if name in known) for kind, known in kinds.items()}

    @property
    def options_of_scores(self) -> dict[str, str]:
        """The options of dataset, ground truth and split, by feature, ground truth and split."""
        return {
            f"{feature.name} {truth} {split}": options_text(self.experiment.options(feature.name, truth, split))
            for feature in self.experiment.features.values()
            for truth in feature.ground_truths
            for split in feature.splits
        }

    @property
    def supervision_of_methods(self) -> dict[str, str]:
        """What each method learned from in addition to the training vectors, by feature and method."""
        pairs = dict.fromkeys((row["feature"], row["hasher"]) for row in self.experiment.combinations)
        methods = {f"{feature} {hasher}": self.experiment.learned_from(hasher, feature) for feature, hasher in pairs}
        return methods | {f"{feature} {UNHASHED}": "none" for feature in self.experiment.features}


def _described(variant: Variant | FeaturePlan) -> dict[str, Any]:
    return {"plugin": variant.plugin, "options": variant.options}
