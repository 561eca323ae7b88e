"""The key `paper` of a config file: the part of an experiment that figures and tables for a paper show."""

import itertools
from collections.abc import Mapping
from typing import Any

from protocol.checks import ProtocolError, one_of
from protocol.configuration.experiment import FeaturePlan

_KEYS = ("features", "ground_truths", "splits")


def shown_in_paper(config: Mapping[str, Any], plans: Mapping[str, FeaturePlan]) -> dict[str, list[Any]]:
    """Return the key `paper` with its defaults filled in.

    Parameters
    ----------
    config : mapping
        A configuration whose key `paper` contains only the keys that the user gave.
    plans : mapping of str to FeaturePlan

    Raises
    ------
    ProtocolError
        If the experiment lacks a chosen value, or the chosen values never occur together.
    """
    given, metrics, first = config["paper"], list(config["metrics"]), next(iter(plans.values()))
    used: dict[str, list[Any]] = {"metrics": metrics, "features": list(plans)}
    for key in ("n_bits", "ground_truths", "splits"):
        used[key] = list(dict.fromkeys(itertools.chain.from_iterable(getattr(plan, key) for plan in plans.values())))
    leading = "mAP" if "mAP" in metrics else metrics[0]
    defaults = {
        "metrics": list(dict.fromkeys([leading, *{"precision@r2"}.intersection(metrics)])),
        "n_bits": used["n_bits"],
        "features": [first.name],
        "ground_truths": first.ground_truths[:1],
        "splits": first.splits[:1],
    }
    for key, name in ((key, name) for key, names in given.items() for name in names):
        one_of(str(name), map(str, used[key]), f"paper.{key}")
    chosen = {key: list(given.get(key, defaults[key])) for key in defaults}
    chosen["n_bits"].sort()
    places = itertools.product(*(chosen[key] for key in _KEYS))
    if not any(_occurs(plans[feature], truth, split) for feature, truth, split in places):
        raise ProtocolError(
            "paper: expected a feature, a ground truth and a split that occur together, got "
            f"{'; '.join(', '.join(chosen[key]) for key in _KEYS)}."
        )
    return chosen


def _occurs(plan: FeaturePlan, ground_truth: str, split: str) -> bool:
    return ground_truth in plan.ground_truths and split in plan.splits
