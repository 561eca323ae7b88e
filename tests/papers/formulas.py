"""Hand-made rankings, and the comparison of computed values with those that the ledger has for a claim."""

import numpy as np

from protocol import codes, metrics, papers
from protocol.counting import HammingCounts, count
from protocol.papers.claims import leaves
from protocol.truth.relevance import LabelRelevance

CLAIMS = {claim.id: claim for claim in papers.all_claims()}


def agrees(number, values):
    """Compare values with those that the ledger states for a claim, which decide its status."""
    claim = CLAIMS[number]
    stated = dict(claim.expected) | dict(claim.ours)
    assert set(stated) <= set(values), number
    for name, value in stated.items():
        ours, ledgers = (np.array(list(leaves(part))) for part in (values[name], value))
        np.testing.assert_allclose(ours, ledgers, rtol=1e-5, atol=max(claim.tolerance(name), 1e-12), err_msg=number)
    assert claim.verdict({claim.reading: values}).parts == claim.judge(papers.Results()).parts


def histograms(retrieved, relevant):
    """Return counts of queries from the numbers of items and of relevant items at each distance."""
    by_level = relevant if isinstance(relevant, dict) else np.atleast_2d(np.asarray(relevant))
    return HammingCounts.from_histograms(np.atleast_2d(np.asarray(retrieved)), by_level)


def untied(signs):
    """Return a ranking without ties, such as ``++--+``, with a distance for each rank."""
    return histograms(np.ones(len(signs), dtype=int), [int(sign == "+") for sign in signs])


def value(counts, name, **options):
    """Return the mean of a metric over the queries."""
    return metrics.mean(metrics.evaluate(counts, [name], **options)[name])


def per_query(counts, name, **options):
    return metrics.evaluate(counts, [name], **options)[name]


def every_code(n_bits):
    """Return all codes of a length, packed."""
    return codes.pack(np.array(list(np.ndindex(*[2] * n_bits))))


def extended(query, database, n_bits, extension, extension_bits):
    """Return packed codes with the redundant bits of RAMAP section 4.1 (eq. 2 and 3), and their length."""
    sides = (query, True), (database, extension == "same")
    plain = [(codes.unpack(side, n_bits), np.full((len(side), extension_bits), bit)) for side, bit in sides]
    return *(codes.pack(np.hstack(both)) for both in plain), n_bits + extension_bits


def random_counts(seed, n_bits, extension="none", extension_bits=0):
    """Return the counts of random codes, or of their extension codes."""
    rng = np.random.default_rng(seed)
    query, database = codes.pack(rng.random((4, n_bits)) < 0.5), codes.pack(rng.random((30, n_bits)) < 0.4)
    labels = LabelRelevance(rng.integers(0, 3, 4), rng.integers(0, 3, 30))
    return count(*extended(query, database, n_bits, extension, extension_bits), {"class": labels})["class"]
