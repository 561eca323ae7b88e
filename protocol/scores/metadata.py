"""Metadata of scores: the fields in which two scores must agree to be compared."""

import hashlib
import os
from collections.abc import Mapping
from typing import Any

PROTOCOL = (
    *("dataset", "ground_truth", "relevance", "split", "excluded_queries"),
    *("n_queries", "n_database", "undefined", "ties"),
)
"""The fields that describe how a score was computed, apart from its code length and its metric.

dataset, ground_truth, split
    Names from a config file or from the options of `protocol evaluate`. Where a config file sets options, a comparison
    adds their digest to the name, for example "arrays (1a2b3c4d)". A ground truth that was computed from the distances
    of a feature is called, for example, "epsilon_ball of gist" in a comparison.
relevance
    What makes a database item relevant: "class labels", "shared labels", "neighbours" or "graded neighbours".
excluded_queries
    The queries that were excluded on purpose, such as those with a near-duplicate in the database: their number and
    the start of their SHA-256, or "none". If a file does not record the field, no query was excluded.
n_queries, n_database
    Numbers of items; `n_queries` does not include excluded queries.
undefined
    How undefined values are treated: "zero" counts them as 0, "drop" leaves the query out of the mean.
ties
    How the metric orders items at equal distance.
"""

NONE_EXCLUDED = "none"
"""The value of ``excluded_queries`` where all queries of the split are scored."""

OF_LABELS = ("class labels", "shared labels")
"""The kinds of relevance that are determined by labels alone; the others depend on the distances of a feature."""

RANKINGS = ("hamming", "asymmetric", "cosine", "euclidean", "dot")
"""How a method orders the database, recorded with every score as ``ranking``.

hamming
    By the Hamming distance between the query's code and the database codes.
asymmetric
    By the inner product of the query's real-valued outputs with the database codes, whose bits count as -1 and +1.
cosine, euclidean, dot
    By a distance of real-valued vectors, see `protocol.truth.nearest`: a reference for codes that are made from them.

The ranking is part of the method, so that two rankings of the same codes can be compared; only the Hamming ranking is
determined by the codes alone. In a comparison, its name is part of the method's name, see `method_name`.
"""

FEW_QUERIES = 30
"""With fewer, a usual minimum for the mean of a sample, the scores of runs are not nearly normally distributed."""
UNHASHED = "unhashed"
"""The name, among the hashers of an experiment, of the vectors themselves, which are the reference for their codes."""

UNSUPERVISED = ("none", "unknown")
"""The values of ``supervision`` for methods that learn from the training vectors alone, and for precomputed codes.

The other values are "labels", "labels of FILE", "pairs" (of two modalities), "distances of FEATURE (GROUND TRUTH)", and
those that users record: what the method learned from in addition to the training vectors. Supervision is part of the
method, so that two kinds can be compared; in a comparison, it is part of the method's name, see `method_name`.
"""


def options_text(digests: Mapping[str, str]) -> str:
    """Return the options of a score as in the column ``options`` of summary.csv: ``dataset=1a2b3c4d split=...``.

    Parameters
    ----------
    digests : mapping of str to str
        The digest of the options for each field whose options are not the defaults.
    """
    return " ".join(f"{field}={digest}" for field, digest in digests.items())


def with_options(name: str, field: str, options: str) -> str:
    """Return a name with the digest of its options, if they are not the defaults.

    Examples
    --------
    >>> with_options("arrays", "dataset", "dataset=1a2b3c4d"), with_options("improved", "split", "dataset=1a2b3c4d")
    ('arrays (1a2b3c4d)', 'improved')
    """
    digest = options_of(options).get(field)
    return f"{name} ({digest})" if digest else name


def options_of(text: str) -> dict[str, str]:
    """Return the digests by field of a value of the column ``options``."""
    return dict(part.split("=", 1) for part in text.split() if "=" in part)


def method_name(name: str, ranking: str, supervision: str = "none") -> str:
    """Return the name of a method, followed by its supervision, and by its ranking unless that is the Hamming ranking.

    Examples
    --------
    >>> method_name("itq", "hamming"), method_name("csq", "asymmetric", "labels")
    ('itq', 'csq (trained on labels, asymmetric)')
    """
    added = [f"trained on {supervision}"] if supervision not in UNSUPERVISED else []
    added += [ranking] if ranking != "hamming" else []
    return f"{name} ({', '.join(added)})" if added else name


SUPERVISION_KEYS = ("codes", "hasher_bases", "affinities", "ground_truth_bases", "training_labels")
"""The keys of a configuration that determine what a hasher learns from."""


def supervision_of(config: Mapping[str, Any], hasher: str, feature: str) -> str:
    """Return what a hasher learns from in addition to the training vectors: a value of the column ``supervision``.

    Parameters
    ----------
    config : mapping
        A checked configuration, or its keys `SUPERVISION_KEYS`.
    hasher : str
        A hasher, or a method with precomputed codes.
    feature : str
        Its distances supervise a hasher if no labels do.
    """
    from protocol import registry

    if hasher in config["codes"]:
        return "unknown"
    kind, truth = registry.get("hasher", config["hasher_bases"].get(hasher, hasher)).supervision, config["affinities"]
    if kind == "affinities":
        needs_labels = registry.GROUND_TRUTHS.entry(config["ground_truth_bases"].get(truth, truth)).needs_labels
        kind = "labels" if needs_labels else f"distances of {feature} ({truth})"
    if kind == "labels" and config.get("training_labels") is not None:
        return f"labels of {os.path.basename(config['training_labels'])}"
    return kind or "none"


def pipeline_convention(undefined: str) -> str:
    """Return the convention of an experiment: ``"default"``, or ``"default, undefined values left out"``.

    The pipeline scores like the convention ``default``, unless its config file has ``undefined: drop``.
    """
    return "default" if undefined == "zero" else "default, undefined values left out"


def items_sha256(query: str, database: str, ground_truth: str) -> str:
    """Return a digest that identifies the items of one run; runs are paired only where it is equal.

    Parameters
    ----------
    query, database : str
        Digests of the rows of the dataset that a split selected, in its order.
    ground_truth : str
        Digest of the relevance of the database items to the queries.
    """
    return hashlib.sha256(f"{query} {database} {ground_truth}".encode()).hexdigest()


def is_bound(metric: str) -> bool:
    """Return whether a metric has ties in their worst or best order, and so only bounds what another one measures."""
    return metric.endswith(("worst]", "best]"))
