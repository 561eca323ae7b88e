"""What identifies a score: the fields in which two scores must agree to be compared."""

import hashlib
from collections.abc import Mapping

PROTOCOL = (
    "dataset",
    "ground_truth",
    "relevance",
    "split",
    "excluded_queries",
    "n_queries",
    "n_database",
    "empty",
    "ties",
)
"""The fields that describe how a score was computed, apart from its code length and its metric.

dataset, ground_truth, split
    Names: those of a config file, or those that a user gives to `protocol evaluate`. Where a config file sets options,
    a comparison adds their digest to the name, for example "arrays (1a2b3c4d)". In a comparison, a ground truth
    that was made from the distances of a feature is called, for example, "epsilon_ball of gist".
relevance
    What makes a database item relevant: "class labels", "shared labels", "neighbours" or "graded neighbours".
excluded_queries
    The queries that were left out on purpose, such as those with a near-duplicate in the database: their number and the
    start of their SHA-256, or "none". A file that does not record it left none out.
n_queries, n_database
    Numbers of items; `n_queries` without those that were left out.
empty
    What an undefined value is: "zero", or "drop", which leaves the query out of the mean.
ties
    How the metric orders items at one distance.
"""

NONE_EXCLUDED = "none"
"""The value of ``excluded_queries`` where all queries of the split are scored."""

OF_LABELS = ("class labels", "shared labels")
"""The kinds of relevance that labels alone determine; the others depend on the feature whose distances were taken."""

SCORE = (*PROTOCOL, "n_bits", "metric")
"""All fields in which two scores must agree to be compared."""

RANKINGS = ("hamming", "asymmetric")
"""How a method orders the database, recorded with every score as ``ranking``.

hamming
    By the Hamming distance of the database's codes from the query's code.
asymmetric
    By the inner product of the query's real-valued outputs with the database's codes, their bits as -1 and +1.

The ranking belongs to the method, so that two rankings of the same codes can be compared; only the first ranks by what
the codes alone determine. Its name is part of the method's name in a comparison, see `ranked_name`.
"""

NOTED = ("convention", "version")
"""Recorded with every score, but not compared: a convention only chooses metrics and the value of `empty`."""


def options_text(digests: Mapping[str, str]) -> str:
    """Return the options of a score as in the column ``options`` of summary.csv: ``dataset=1a2b3c4d split=...``.

    Parameters
    ----------
    digests : mapping of str to str
        A digest by field, for the fields whose options are not the defaults.
    """
    return " ".join(f"{field}={digest}" for field, digest in digests.items())


def with_options(name: str, field: str, options: str) -> str:
    """Return a name with the digest of its options, if they are not the defaults.

    Examples
    --------
    >>> with_options("arrays", "dataset", "dataset=1a2b3c4d"), with_options("improved", "split", "dataset=1a2b3c4d")
    ('arrays (1a2b3c4d)', 'improved')
    """
    digest = dict(part.split("=", 1) for part in options.split() if "=" in part).get(field)
    return f"{name} ({digest})" if digest else name


def ranked_name(name: str, ranking: str) -> str:
    """Return the name of a method with its ranking, if that is not the Hamming ranking.

    Examples
    --------
    >>> ranked_name("csq", "hamming"), ranked_name("csq", "asymmetric")
    ('csq', 'csq (asymmetric)')
    """
    return name if ranking == "hamming" else f"{name} ({ranking})"


def pipeline_convention(empty: str) -> str:
    """Return the convention of an experiment: ``"protocol"``, or ``"protocol, undefined left out"``.

    The pipeline scores as the convention ``protocol`` does, except where its config file chooses ``empty: drop``.
    """
    return "protocol" if empty == "zero" else "protocol, undefined left out"


def items_sha256(query: str, database: str, ground_truth: str) -> str:
    """Return what identifies the items of one run, from three digests: runs are paired only where it is the same.

    Parameters
    ----------
    query, database : str
        Digests of the rows of the dataset that a split chose, in its order.
    ground_truth : str
        Digest of what is relevant to which query.
    """
    return hashlib.sha256(f"{query} {database} {ground_truth}".encode()).hexdigest()
