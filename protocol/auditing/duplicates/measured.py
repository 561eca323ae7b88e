"""The finder's precision and recall where the truth is known: the numbers that its text and the documentation quote.

`tests/benchmarks/duplicates.py` measures them.
"""

import textwrap
from types import MappingProxyType
from typing import NamedTuple

from protocol.tables import text as table

_WIDTH = 110
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
    """Queries of judged pairs, with any partner."""


CIFAR10 = (
    AtProposals(100, 58, 62, 69),
    AtProposals(200, 112, 120, 131),
    AtProposals(500, 199, 215, 226),
    AtProposals(1000, 209, 225, 238),
)
LEAST_SCORE = 0.6560
"""The score of the 1,000th proposal."""
LOOKED_AT, LOOK_ALIKE = 100, 80
"""Proposals drawn from those of the first 500 whose query is in no judged pair, and how many of them show the same
photograph or the same scene, by eye."""
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
"""By distortion: of copies of 1,000 training images of CIFAR-10, compared with all 50,000, the share whose original is
the first choice, with a score of at least `LEAST_SCORE`."""
VECTORS = MappingProxyType({0.99: 1.0, 0.97: 1.0, 0.95: 0.998, 0.9: 0.969})
"""By cosine: of 1,000 near-duplicates planted among 1,000,000 random vectors with 128 features, the share that
random-hyperplane keys find."""


def text(kind: str) -> list[str]:
    """Return what is known of the finder's precision and recall, as lines.

    Parameters
    ----------
    kind : {"images", "vectors"}
    """
    if kind == "vectors":
        found = ", ".join(f"{share:.1%} at a cosine of {cosine:g}" for cosine, share in VECTORS.items())
        return _wrapped(
            "What to expect: if all pairs are compared, no query misses its best partner, unless there are more "
            "proposals than requested; the next four partners are listed if their cosine is at most 0.05 lower. "
            "Random-hyperplane keys found, of pairs planted among 1,000,000 random vectors with 128 features, "
            f"{found}.",
        )
    rows = [[f"{at:,}" if i == 0 else str(at) for i, at in enumerate(row)] for row in CIFAR10]
    header = ("proposals", "judged pairs", "with further partners", "judged queries")
    found = ", ".join(f"{name} {share:.1%}" for name, share in DISTORTIONS.items())
    return [
        f"What to expect: of {N_JUDGED} near-duplicates of CIFAR-10 that ciFAIR judged, the first proposals contain",
        *table(header, rows).split("\n"),
        *_wrapped(
            f"ciFAIR's list is incomplete: of {LOOKED_AT} proposals among the first 500 whose query is not in it, "
            f"about {LOOK_ALIKE} are near-duplicates.",
        ),
        *_wrapped(f"Distorted copies of CIFAR-10 images found among 50,000: {found}."),
    ]


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, _WIDTH, break_on_hyphens=False)
