"""What the finder's precision and recall were where the truth is known: the numbers that its text and the docs quote.

`tests/benchmarks/duplicates.py` measures them.
"""

from typing import NamedTuple

from protocol.tables import text as table

N_JUDGED = 249
"""Pairs of CIFAR-10 that ciFAIR judged to be exact or near-duplicates, one for each of 249 test images."""


class AtProposals(NamedTuple):
    """What the first proposals contain of the judged pairs of CIFAR-10."""

    proposals: int
    pairs: int
    """Judged pairs that are the first choice of a proposal."""
    with_further: int
    """Judged pairs among the first choices and the further partners."""
    queries: int
    """Queries of judged pairs, with whatever partner."""


CIFAR10 = (
    AtProposals(100, 61, 65, 72),
    AtProposals(200, 115, 123, 134),
    AtProposals(500, 199, 215, 226),
    AtProposals(1000, 209, 225, 238),
)
DISTORTIONS: dict[str, float] = {}
"""By distortion, the share of distorted copies of CIFAR-10 images whose original is the first choice, ..."""
VECTORS: dict[float, float] = {}
"""By cosine, the share of planted near-duplicates among 1,000,000 vectors of dimension 128 that keys find."""


def text(kind: str) -> list[str]:
    """Return what is known of the finder's precision and recall, as lines.

    Parameters
    ----------
    kind : {"images", "vectors"}
    """
    if kind == "vectors":
        found = ", ".join(f"{share:.1%} at a cosine of {cosine:g}" for cosine, share in VECTORS.items())
        return [
            "What to expect of candidates from random-hyperplane keys: of near-duplicates planted among 1,000,000",
            f"vectors (128 features), they found {found}. If all pairs are compared, none is missed.",
        ]
    rows = [[f"{at:,}" if i == 0 else str(at) for i, at in enumerate(row)] for row in CIFAR10]
    header = ("proposals", "listed pairs", "with further partners", "listed queries")
    distorted = ", ".join(f"{name} {share:.0%}" for name, share in DISTORTIONS.items())
    return [
        f"What to expect: on CIFAR-10 (10,000 queries, 50,000 database items), of the {N_JUDGED} near-duplicates that",
        "ciFAIR lists, the first proposals contained",
        *table(header, rows).split("\n"),
        "The list has one training image for each query and lacks many near-duplicates; most other proposals are some.",
        f"Share of distorted copies whose original was proposed: {distorted}.",
    ]
