"""The plan of an experiment: which jobs its rules have, and the files, parameters and resources of each job.

Snakemake connects the jobs; everything that a rule has to know about an experiment is computed here. In the patterns of
files, ``<results>``, ``<data>`` and ``<benchmarks>`` are folders that Snakemake fills in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from protocol import datasets, registry
from protocol.auditing import SHIPPED
from protocol.checks import ProtocolError
from protocol.configuration.experiment import Combination, Experiment, FeaturePlan, FinishedCodes, Variant
from protocol.configuration.resources import n_parts, need
from protocol.inputs.arrays import path_of
from protocol.provenance.seeds import derive
from protocol.scores.metadata import options_text
from protocol.splits import list_paths, sample_of, sampling_split

_RUN = "{feature}/{sample}/run{run}"
_HASHER = f"{_RUN}/{{hasher}}"
_SELECTION = f"<results>/{_HASHER}/selection.h5"


@dataclass(frozen=True)
class Plan:
    """The jobs of an experiment.

    Examples
    --------
    >>> from protocol.configuration import load
    >>> plan = Plan(load({"runs": 2, "features": {"gist": {}}}, from_file=False))
    >>> plan.each("results/digits/samples/{sample}/run{run}.h5")
    ['results/digits/samples/thesis/run0.h5', 'results/digits/samples/thesis/run1.h5']
    """

    experiment: Experiment

    @property
    def config(self) -> dict[str, Any]:
        """The checked configuration."""
        return self.experiment.config

    @cached_property
    def _combinations(self) -> list[dict[str, Any]]:
        return [vars(one) for one in self.experiment.combinations()]

    def each(self, pattern: str, **only: Any) -> list[str]:
        """Return the files of a pattern for every combination, each once.

        Methods with finished codes are among the hashers. `only` restricts the combinations, as in ``feature="gist"``;
        ``finished=False`` selects the hashers that are trained, ``finished=True`` the methods with finished codes.
        """
        return list(dict.fromkeys(pattern.format(**one) for one in self.combinations(**only)))

    def keys(self, *names: str, **only: Any) -> list[tuple[Any, ...]]:
        """Return the values of some fields for every combination, each tuple once, in the order of `each`."""
        return list(dict.fromkeys(tuple(one[name] for name in names) for one in self.combinations(**only)))

    def combinations(self, **only: Any) -> list[dict[str, Any]]:
        """Return every combination, as the fields of `Combination`; `only` restricts them, as for `each`."""
        return [one for one in self._combinations if only.items() <= one.items()]

    def supervised(self, pattern: str) -> list[str]:
        """Return the files of a pattern for every kind of supervision that a hasher of the experiment needs."""
        files: list[str] = []
        for name in self.experiment.hashers:
            kind = self.supervision_file(name)
            files += self.each(pattern.replace("{supervision}", kind), hasher=name) if kind else []
        return list(dict.fromkeys(files))

    def supervision_file(self, hasher: str) -> str | None:
        """Return the kind of supervision that the pipeline provides to a hasher in a file, or None."""
        kind = self.experiment.supervision(hasher)
        return kind if kind in self.experiment.supervising() else None

    def job(self, wildcards: Mapping[str, str]) -> "Job":
        """Return the job of a rule with these wildcards."""
        return Job(self, dict(wildcards))

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
            "supervision": experiment.supervising(),
        }
        return {name: "|".join(allowed) for name, allowed in values.items()} | {"run": "[0-9]+"}

    @property
    def user_files(self) -> list[Path]:
        """The user's own files from which the dataset is loaded."""
        return datasets.user_paths(self.config["dataset"], self.config["dataset_options"])[0]

    @cached_property
    def user_states(self) -> list[Any]:
        """The state of each of the user's own files and folders from which the dataset is loaded."""
        files, folders = datasets.user_paths(self.config["dataset"], self.config["dataset_options"])
        return [*map(datasets.file_state, files), *map(datasets.folder_state, folders)]

    @cached_property
    def selections(self) -> list[str]:
        """The files with selected options; empty if no hasher has a grid."""
        return [
            file
            for name, own in self.experiment.hashers.items()
            if own.grid
            for file in self.each(_SELECTION, hasher=name)
        ]

    @property
    def selection_table(self) -> list[str]:
        """The table of all selections; empty if no hasher has a grid."""
        return ["<results>/selection.csv"] if self.selections else []

    @property
    def duplicates(self) -> list[str]:
        """The table of scores without near-duplicates; empty if no judged pairs of the dataset are known."""
        return ["<results>/duplicates.csv"] if self.config["dataset"] in SHIPPED else []

    @property
    def exclusion_file(self) -> list[Path]:
        """The user's file with queries that no score contains; empty if there is none."""
        file = self.config["exclude_queries"]
        return [] if file is None else [Path(file)]

    @property
    def excluded(self) -> list[str]:
        """The table of these queries by split and run; empty if there is no such file."""
        return ["<results>/excluded.csv"] if self.exclusion_file else []

    @property
    def claims(self) -> list[str]:
        """The papers' claims; empty unless the experiment is a reproduction."""
        return ["<results>/claims.json"] if self.config["reproduction"] else []

    @cached_property
    def examples(self) -> list[str]:
        """The tables, in addition to the summary, from which the figures are drawn."""
        tables = [
            *(f"<results>/{{feature}}/examples/{{split}}/{name}.csv" for name in ("radii", "curves", "conventions")),
            *(f"<results>/{{feature}}/examples/{{split}}/{name}.csv" for name in ("buckets", "histogram", "retrieved")),
            "<benchmarks>/{feature}/examples/{split}/lookups.csv",
        ]
        return [file for table in tables for file in self.each(table)]

    @property
    def tables(self) -> list[str]:
        """The CSV and JSON files of other stages that the report reads."""
        always = ["<results>/metrics.csv", "<results>/summary.csv", "<results>/audit.csv"]
        return [*always, *self.claims, *self.selection_table, *self.duplicates, *self.examples]

    @property
    def provenance(self) -> list[str]:
        """The files whose provenance the report prints: those of run 0."""
        return [
            "<data>/content.h5",
            *self.each("<data>/{extraction}/features.h5"),
            *self.each("<results>/samples/{sample}/run0.h5"),
            *self.each("<results>/splits/{split}/run0/splits.h5"),
            *self.each("<results>/{feature}/{sample}/run0/preprocessing.h5"),
            *self.each("<results>/{feature}/{sample}/run0/ground_truth.h5"),
            *self.each("<results>/{feature}/{sample}/run0/{hasher}/models.h5", finished=False),
            *self.each("<results>/{feature}/{sample}/run0/{hasher}/codes.h5"),
        ]

    @property
    def times(self) -> list[str]:
        """The benchmark files of the jobs that the results come from."""
        hasher = f"<benchmarks>/{_HASHER}"
        shards = [f"{hasher}/shards/{shard}/count_shard.tsv" for shard in self.shards]
        return [
            "<data>/benchmarks/dataset.tsv",
            *self.each("<benchmarks>/samples/{sample}/run{run}/sample.tsv"),
            *self.each("<benchmarks>/splits/{split}/run{run}/split.tsv"),
            *self.each(f"<benchmarks>/{_RUN}/preprocessing.tsv"),
            *self.each(f"<benchmarks>/{_RUN}/ground_truth.tsv"),
            *self.supervised(f"<benchmarks>/{_RUN}/{{supervision}}/supervision.tsv"),
            *(file.replace("<results>", "<benchmarks>").replace(".h5", ".tsv") for file in self.selections),
            *self.each(f"{hasher}/model.tsv", finished=False),
            *self.each(f"{hasher}/finished_codes.tsv", finished=True),
            *(file for pattern in shards for file in self.each(pattern)),
            *self.each(f"<benchmarks>/{{feature}}/{{hasher}}/{'add_counts' if shards else 'count'}.tsv"),
            *self.each("<benchmarks>/{feature}/{hasher}/score.tsv"),
        ]

    @property
    def shards(self) -> list[str]:
        """The names of the shards in which the database of a hasher and run is counted; none if it is not divided."""
        n_shards = self.config["count_shards"]
        return [f"{number}-of-{n_shards}" for number in range(1, n_shards + 1)] if n_shards > 1 else []

    # Parameters

    @property
    def plugins(self) -> dict[str, tuple[str, ...]]:
        """The plug-ins in use by kind, whose records the report prints; any metric may be shown."""
        experiment = self.experiment
        return {
            "dataset": (self.config["dataset"],),
            "feature": tuple(feature.plugin for feature in experiment.features.values()),
            "split": experiment.splits,
            "ground_truth": tuple(variant.plugin for variant in experiment.ground_truths.values()),
            "hasher": tuple(variant.plugin for variant in experiment.hashers.values()),
            "metric": tuple(registry.names("metric")),
        }

    @property
    def quantisers(self) -> dict[str, tuple[str, ...]]:
        """The plug-ins that the target `quantisers` compares, by kind."""
        names = dict.fromkeys(name.partition(":")[0] for name in self.config["quantisers"])
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
        pairs = self.keys("feature", "hasher")
        return {f"{feature} {hasher}": self.experiment.learned_from(hasher, feature) for feature, hasher in pairs}


@dataclass(frozen=True)
class Job:
    """One job: the files and parameters that follow from the wildcards of its rule.

    An attribute raises KeyError if it depends on a wildcard that the rule does not have.
    """

    plan: Plan
    wildcards: dict[str, str]

    # Files

    @property
    def combination(self) -> dict[str, Any]:
        """Those wildcards that are fields of `Combination`, with their types."""
        names = {field.name for field in fields(Combination)} & set(self.wildcards)
        return {name: self.run if name == "run" else self.wildcards[name] for name in names}

    def files(self, pattern: str) -> list[str]:
        """Return the files of a pattern for every combination that agrees with the wildcards, each once."""
        return self.plan.each(pattern, **self.combination)

    def of_combinations(self, pattern: str) -> list[str]:
        """Return the file of a pattern for every split and run of a feature and hasher, in the order of `keys`."""
        return [pattern.format(**one) for one in self.plan.combinations(**self.combination)]

    def keys(self, *names: str) -> list[tuple[Any, ...]]:
        """Return some fields of the combinations of `files`, each tuple once, in the same order."""
        return self.plan.keys(*names, **self.combination)

    def file(self, pattern: str) -> str:
        """Return the file of a pattern that the wildcards determine."""
        files = self.files(pattern)
        if len(files) != 1:
            raise ProtocolError(
                f"experiment {self.plan.experiment.name!r} has no job for "
                f"{', '.join(f'{name} {value}' for name, value in self.wildcards.items())}."
            )
        return files[0]

    @property
    def parts(self) -> list[str]:
        """The parts of an extraction; none if one job extracts everything."""
        folder = f"<data>/{self.wildcards['extraction']}/parts"
        return [f"{folder}/{part}.h5" for part in range(self.n_parts)] if self.n_parts > 1 else []

    @property
    def shards(self) -> list[str]:
        """The counts of all shards, for every split and run."""
        folder = f"<results>/{_HASHER}/shards"
        return [f"{one}/{shard}.h5" for one in self.of_combinations(folder) for shard in self.plan.shards]

    @property
    def supervision_file(self) -> dict[str, str]:
        """The file that a hasher learns from in addition to the training rows, if any."""
        kind = self.plan.supervision_file(self.hasher.name)
        return {"supervision": self.file(f"<results>/{_RUN}/{kind}.h5")} if kind else {}

    @property
    def selection_file(self) -> dict[str, str]:
        """The file with a hasher's selected options, if it has a grid."""
        return {"selection": self.file(_SELECTION)} if self.hasher.grid else {}

    @property
    def list_files(self) -> list[Path]:
        """The user's files that list the items of a split, but none for a sampled split that protocols share."""
        return list(list_paths(registry.get("split", self.split), self.split_options).values())

    @property
    def code_files(self) -> dict[str, dict[int, dict[str, str]]]:
        """The files of a method's finished codes by split, code length and role."""
        return {split: self.codes.files(split, self.run) for (split,) in self.keys("split")}

    @property
    def code_paths(self) -> list[Path]:
        """The paths of `code_files`, each once."""
        roles = [files for by_length in self.code_files.values() for files in by_length.values()]
        return list(dict.fromkeys(path_of(file) for files in roles for file in files.values()))

    # Parameters

    @property
    def run(self) -> int:
        """The number of the run."""
        return int(self.wildcards["run"])

    @property
    def feature(self) -> FeaturePlan:
        """The feature, or one of those whose extraction the job computes."""
        experiment, wildcards = self.plan.experiment, self.wildcards
        if "extraction" in wildcards:
            return experiment.extractions[wildcards["extraction"]]
        return experiment.features[wildcards["feature"]]

    @property
    def n_parts(self) -> int:
        """The number of jobs that share an extraction."""
        return n_parts(self.plan.experiment, self.feature.extraction)

    @property
    def split(self) -> str:
        """The split protocol, or the one that makes a sampled split."""
        return self.wildcards.get("split") or sampling_split(self.wildcards["sample"])

    @property
    def split_options(self) -> dict[str, Any]:
        """The options of the split protocol."""
        options: dict[str, Any] = self.plan.config["split_options"].get(self.split, {})
        return options

    @property
    def sample_sizes(self) -> dict[str, int]:
        """The sizes that the config file gives; a protocol declares all others in its code."""
        return {name: self.plan.config["split_sizes"].get(name, 0) for name in registry.get("split", self.split).open}

    @property
    def hasher(self) -> Variant:
        """The hasher that is trained."""
        return self.plan.experiment.hashers[self.wildcards["hasher"]]

    @property
    def codes(self) -> FinishedCodes:
        """The method with finished codes."""
        return self.plan.experiment.codes[self.wildcards["hasher"]]

    @property
    def code_options(self) -> dict[str, str | None]:
        """The options for reading a method's files."""
        return {"bit_order": self.codes.bit_order, "binarize": self.codes.binarize}

    @property
    def ground_truths(self) -> dict[str, dict[str, Any]]:
        """The plug-in and options of each ground truth of a feature, by name."""
        variants = [self.plan.experiment.ground_truths[name] for name in self.feature.ground_truths]
        return {variant.name: {"base": variant.plugin, "options": variant.options} for variant in variants}

    @property
    def ground_truth_plugins(self) -> tuple[str, ...]:
        """The plug-ins of the ground truths of a feature."""
        return tuple(variant["base"] for variant in self.ground_truths.values())

    @property
    def supervising(self) -> Variant:
        """The ground truth among the training rows that provides a kind of supervision."""
        experiment = self.plan.experiment
        return experiment.ground_truths[experiment.supervising()[self.wildcards["supervision"]]]

    @property
    def criterion(self) -> dict[str, Any]:
        """The criterion of selection, by default with the first ground truth of the feature."""
        selection = self.plan.config["selection"]
        truth = selection["ground_truth"] or self.feature.ground_truths[0]
        return selection | {"ground_truth": truth, "undefined": self.plan.config["undefined"]}

    @property
    def selecting(self) -> Variant:
        """The ground truth of the criterion."""
        return self.plan.experiment.ground_truths[self.criterion["ground_truth"]]

    @property
    def extensions(self) -> list[tuple[str, int]]:
        """The extensions of the codes to score, with their numbers of bits."""
        sizes = self.plan.config["extension_bits"]
        return [(name, s) for name in self.feature.extensions for s in ([0] if name == "none" else sizes)]

    @property
    def shard(self) -> int:
        """The number of a shard, from 0."""
        return int(self.wildcards["scatteritem"].partition("-of-")[0]) - 1

    @property
    def extended_hasher(self) -> str:
        """The hasher whose extended codes are drawn: LSH, as in RAMAP's tables, or the first hasher."""
        names, hashers = self.feature.hashers, self.plan.experiment.hashers
        return next((name for name in names if hashers[name].plugin == "lsh"), names[0])

    # Seeds

    def _seed(self, *parts: Any) -> int:
        return derive(self.plan.config["seed"], self.plan.config["dataset"], *parts)

    @property
    def sample_seed(self) -> int:
        """The seed of a sampled split."""
        return self._seed("split", self.run)

    @property
    def preprocessing_seed(self) -> int:
        """The seed of the preprocessing of a feature."""
        return self._seed("preprocess", self.feature.name, self.run)

    @property
    def ground_truth_seed(self) -> int:
        """The seed of the ground truths of a feature."""
        return self._seed("groundtruth", self.feature.name, self.run)

    @property
    def model_seeds(self) -> dict[int, int]:
        """A seed for each code length, which does not depend on the other lengths.

        It does not depend on the options either, so that the selected model is the one that was scored.
        """
        parts = self.feature.name, self.hasher.name
        return {n_bits: self._seed(*parts, n_bits, self.run) for n_bits in self.feature.n_bits}

    @property
    def leak_seed(self) -> int:
        """The seed of the databases of the leak study."""
        return self._seed("leak", self.run)

    @property
    def leak_model_seeds(self) -> dict[tuple[int | str, int], dict[str, int]]:
        """A seed for each side, by training size and code length.

        With one seed for both sides, a control would produce the same model twice, and its leak would always be zero.
        """
        parts = self.feature.name, self.hasher.name
        return {
            (size, n_bits): {side: self._seed(*parts, n_bits, self.run, side, size) for side in ("a", "b")}
            for size in self.plan.config["leak"]["train_per_class"]
            for n_bits in self.feature.n_bits
        }

    # Resources

    def need(self, rule: str, attempt: int) -> dict[str, int]:
        """Return the memory in MB and the time in minutes of the job, more at each further attempt."""
        has_feature = {"feature", "extraction"} & set(self.wildcards)
        return need(self.plan.experiment, rule, feature=self.feature.name if has_feature else None, attempt=attempt)
