"""What figures and tables show: the names of what an experiment uses, and the part of it that a paper shows."""

import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.configuration.experiment import FeaturePlan

_PLACE = ("features", "ground_truths", "splits")


def named(
    config: Mapping[str, Any],
    plans: Mapping[str, FeaturePlan],
    hashers: Mapping[str, Any],
    ground_truths: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the display name of everything that an experiment uses, in the form of the key `names`.

    If two things have the same printed name, as two variants of mAP@100 do, each is shown by its own name instead.

    Parameters
    ----------
    config : mapping
        Its key `names` contains the names that the user gave.
    plans : mapping of str to FeaturePlan
    hashers, ground_truths : mapping
        By name: a `Variant`, or for a method with finished codes, an object without a plug-in.

    Raises
    ------
    ProtocolError
        If a name is given to something that the experiment doesn't use, or to two things of the same kind.
    """
    given, codes = config["names"], config["codes"]
    used = {kind: _listed(plans, f"{kind}s") for kind in ("ground_truth", "split", "hasher")}
    plugins: dict[str, dict[str, str | None]] = {
        "feature": {name: plan.plugin for name, plan in plans.items()},
        "ground_truth": {name: ground_truths[name].plugin for name in used["ground_truth"]},
        "split": {name: name for name in used["split"]},
        "hasher": {name: hashers[name].plugin for name in used["hasher"]} | dict.fromkeys(codes),
        "metric": {name: name for name in config["metrics"]},
    }
    by_kind = {f"{kind}s": _of_kind(kind, of_kind, given[f"{kind}s"]) for kind, of_kind in plugins.items()}
    return {"dataset": given.get("dataset") or _of_dataset(config), **by_kind}


def _listed(plans: Mapping[str, FeaturePlan], key: str) -> list[Any]:
    return list(dict.fromkeys(itertools.chain.from_iterable(getattr(plan, key) for plan in plans.values())))


def _of_dataset(config: Mapping[str, Any]) -> str:
    """Return the dataset's printed name, or the experiment's name for a user's own data, which have no printed name."""
    record = registry.DATASETS.entry(config["dataset"])
    is_users = record.required and not record.printed
    return str(config["experiment"]) if is_users else registry.printed_name("dataset", config["dataset"])


def _of_kind(kind: str, plugins: Mapping[str, str | None], given: Mapping[str, str]) -> dict[str, str]:
    """Return the display names of a kind by name; a method without a plug-in is shown by its name."""
    for name in given:
        one_of(name, plugins, f"{kind.replace('_', ' ')} in names.{kind}s")
    printed = {
        name: name if plugin is None else registry.printed_name(kind, plugin, name) for name, plugin in plugins.items()
    }
    n_named = Counter(printed.values())
    names = {name: given.get(name, text if n_named[text] == 1 else name) for name, text in printed.items()}
    for text, number in Counter(names.values()).items():
        if number > 1:
            same = " and ".join(repr(name) for name in names if names[name] == text)
            raise ProtocolError(f"names.{kind}s: {same} have the same name, {text!r}. Choose different names.")
    return names


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
    used |= {key: _listed(plans, key) for key in ("n_bits", "ground_truths", "splits")}
    leading = "mAP" if "mAP" in metrics else metrics[0]
    defaults = {
        "metrics": list(dict.fromkeys([leading, *{"precision@r2"}.intersection(metrics)])),
        "n_bits": used["n_bits"],
        "features": [first.name],
        "ground_truths": first.ground_truths[:1],
        "splits": first.splits[:1],
    }
    for key, names in given.items():
        for name in names:
            one_of(str(name), map(str, used[key]), f"paper.{key}")
    chosen = {key: list(given.get(key, defaults[key])) for key in defaults}
    chosen["n_bits"].sort()
    places = itertools.product(*map(chosen.__getitem__, _PLACE))
    if not any(truth in plans[name].ground_truths and split in plans[name].splits for name, truth, split in places):
        raise ProtocolError(
            "paper: no combination of these features, ground truths and splits is in the experiment: "
            f"{'; '.join(', '.join(chosen[key]) for key in _PLACE)}."
        )
    return chosen
