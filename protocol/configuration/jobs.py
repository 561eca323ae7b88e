"""The number of jobs of each rule of the workflow, for an experiment without results."""

from collections.abc import Collection
from functools import partial

from protocol import registry
from protocol.auditing import SHIPPED
from protocol.configuration.experiment import Experiment, FeaturePlan
from protocol.configuration.resources import n_parts
from protocol.splits import draw_of

TARGETS = ("report", "paper", "leak")
_REPORT_ONLY = (
    "score_without",
    "duplicates",
    "selection_table",
    "audit",
    "claims",
)  # not needed for the target `paper`


def jobs(experiment: Experiment, targets: Collection[str] = ("report",)) -> dict[str, int]:
    """Return the number of jobs of each rule that has any, in the order of the stages.

    Parameters
    ----------
    experiment : Experiment
    targets : collection of {"report", "paper", "leak"}, default=("report",)
        The targets of Snakemake; ``leak`` adds jobs only if the experiment has the key `leak`.

    Returns
    -------
    dict of str to int
        By rule.

    Examples
    --------
    >>> from protocol.configuration import load
    >>> jobs(load({"runs": 1, "features": {"gist": {}}, "hashers": ["lsh"]}, from_file=False))["model"]
    1
    """
    features = list(experiment.features.values())
    found = {
        "download": len(registry.DATASETS.entry(experiment.config["dataset"]).files),
        "dataset": 1,
        "feature_part": sum(
            number for number in map(partial(n_parts, experiment), experiment.extractions) if number > 1
        ),
        "feature": len(experiment.extractions),
    }
    if {"report", "paper"} & set(targets):
        found |= _evaluation(experiment, features)
    if "report" not in targets:
        found = {rule: number for rule, number in found.items() if rule not in _REPORT_ONLY}
    for target in ("report", "paper"):
        found[target] = int(target in targets)
    if "leak" in targets and "leak" in experiment.config:
        found |= _leak_study(features)
    return {rule: number for rule, number in found.items() if number}


def _evaluation(experiment: Experiment, features: list[FeaturePlan]) -> dict[str, int]:
    drawn = [(feature, draw, run) for feature in features for draw in draws(feature) for run in range(feature.runs)]
    kinds = {
        feature.name: {experiment.supervision(name) for name in feature.hashers} & set(experiment.supervising())
        for feature in features
    }
    searched = set(experiment.config["hasher_grids"])
    selections = sum(len(searched & set(feature.hashers)) for feature, _, _ in drawn)
    trained = sum(len(feature.hashers) for feature, _, _ in drawn)
    n_shards = experiment.config["count_shards"]
    finished = len({(own["hasher"], own["draw"], own["run"]) for own in experiment.combinations() if own["finished"]})
    scored = sum(len(feature.hashers) for feature in features) + len(experiment.codes)
    has_pairs = experiment.config["dataset"] in SHIPPED
    return {
        "draw": len({(draw, run) for _, draw, run in drawn}),
        "split": len({(split, run) for own in features for split in own.splits for run in range(own.runs)}),
        "preprocessing": len(drawn),
        "ground_truth": len(drawn),
        "supervision": sum(len(kinds[feature.name]) for feature, _, _ in drawn),
        "selection": selections,
        "model": trained,
        "finished_codes": finished,
        "count": (trained + finished) * (n_shards == 1),
        "count_shard": (trained + finished) * n_shards * (n_shards > 1),
        "add_counts": (trained + finished) * (n_shards > 1),
        "score": scored,
        "score_without": scored * has_pairs,
        "duplicates": int(has_pairs),
        "display": sum(len(feature.splits) for feature in features),
        "metrics": 1,
        "selection_table": int(selections > 0),
        "audit": 1,
        "claims": int(experiment.config["reproduction"]),
    }


def _leak_study(features: list[FeaturePlan]) -> dict[str, int]:
    runs = sum(feature.runs for feature in features)
    return {
        "leak_split": max(feature.runs for feature in features),
        "leak_preprocessing": runs,
        "leak_ground_truth": runs,
        "leak_score": sum(feature.runs * len(feature.hashers) for feature in features),
        "leak": 1,
    }


def draws(feature: FeaturePlan) -> list[str]:
    """Return the names of the draws that the splits of a feature need, each once."""
    return list(dict.fromkeys(draw_of(split) for split in feature.splits))
