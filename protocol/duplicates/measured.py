"""Measured precision and recall of the finder, which its output and the documentation quote.

`tests/benchmarks/duplicates.py` measures them.
"""

import textwrap
from types import MappingProxyType
from typing import NamedTuple

from protocol.scores.tables import text as table

_WIDTH = 110
N_JUDGED = 249
"""Pairs of CIFAR-10 that the authors of ciFAIR judged as exact or near-duplicates, one for each of 249 test images."""


class AtProposals(NamedTuple):
    """The number of judged pairs of CIFAR-10 among the first proposals."""

    proposals: int
    pairs: int
    """Judged pairs that are the best pair of a proposal."""
    with_further: int
    """Judged pairs among the best and the further partners."""
    queries: int
    """Proposed queries that are in a judged pair, with any partner."""


CIFAR10 = (
    AtProposals(100, 58, 62, 69),
    AtProposals(200, 112, 120, 131),
    AtProposals(500, 199, 215, 226),
    AtProposals(1000, 209, 225, 238),
)
LEAST_SCORE = 0.6560
"""The score of the 1,000th proposal."""
LOOKED_AT, LOOK_ALIKE = 100, 80
"""The number of inspected proposals, drawn from those among the first 500 whose query is in no judged pair, and the
number of these that show the same photograph or the same scene, judged by eye."""
DISTORTIONS = MappingProxyType(
    {
        "mirrored": 1.0,
        "shifted by 1/16": 0.957,
        "cropped by 5 %": 0.995,
        "cropped by 10 %": 0.984,
        "brighter by 40": 1.0,
        "darker by 40": 1.0,
        "contrast x 0.6": 1.0,
        "contrast x 1.5": 1.0,
        "JPEG of quality 50": 1.0,
        "cropped by 5 %, other tones, JPEG": 0.995,
        "grey": 0.912,
        "rotated by 5 degrees": 0.997,
    }
)
"""Recall by distortion: the share of distorted copies of 1,000 training images of CIFAR-10, compared with all 50,000,
whose original is the best partner, with a score of at least `LEAST_SCORE`."""
VECTORS = MappingProxyType({0.99: 1.0, 0.97: 1.0, 0.95: 0.998, 0.9: 0.969})
"""Recall of random-hyperplane keys by cosine, for 1,000 near-duplicates planted among 1,000,000 random vectors with
128 features."""


def text(kind: str) -> list[str]:
    """Return the measured precision and recall of the finder, as lines.

    Parameters
    ----------
    kind : {"images", "vectors"}
    """
    if kind == "vectors":
        found = ", ".join(f"{share:.1%} at a cosine of {cosine:g}" for cosine, share in VECTORS.items())
        return _wrapped(
            "What to expect: if all pairs are compared, every query is proposed with its best partner, unless there "
            "are more proposals than requested; the next four partners are listed if their cosine is at most 0.05 "
            "lower. Of pairs planted among 1,000,000 random vectors with 128 features, random-hyperplane keys found "
            f"{found}.",
        )
    rows = [[f"{at:,}" if i == 0 else str(at) for i, at in enumerate(row)] for row in CIFAR10]
    header = ("proposals", "judged pairs", "with further partners", "judged queries")
    found = ", ".join(f"{name} {share:.1%}" for name, share in DISTORTIONS.items())
    return [
        f"What to expect: of the {N_JUDGED} near-duplicates in CIFAR-10 listed by ciFAIR, the first proposals contain",
        *table(header, rows).split("\n"),
        *_wrapped(
            f"ciFAIR's list is incomplete: of {LOOKED_AT} inspected proposals among the first 500 whose query is not "
            f"in it, about {LOOK_ALIKE} are near-duplicates.",
        ),
        *_wrapped(f"Distorted copies of CIFAR-10 images that were found among 50,000: {found}."),
    ]


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, _WIDTH, break_on_hyphens=False)
