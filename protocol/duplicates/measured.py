"""Measured precision and recall of the finder, which its output and the documentation quote.

`tests/benchmarks/duplicates.py` measures them; ``measured.toml`` holds the figures and explains each of them.
"""

import textwrap
import tomllib
from pathlib import Path
from typing import NamedTuple

from protocol.scores.tables import text as table

PACKAGE_DATA = "measured.toml"
_WIDTH = 110


class AtProposals(NamedTuple):
    """The number of judged pairs of CIFAR-10 among the first proposals.

    Parameters
    ----------
    proposals : int
    pairs : int
        Judged pairs that are the best pair of a proposal.
    with_further : int
        Judged pairs among the best and the further partners.
    queries : int
        Proposed queries that are in a judged pair, with any partner.
    """

    proposals: int
    pairs: int
    with_further: int
    queries: int


with open(Path(__file__).with_name(PACKAGE_DATA), "rb") as _stream:
    _FIGURES = tomllib.load(_stream)
N_JUDGED, LEAST_SCORE = _FIGURES["n_judged"], _FIGURES["least_score"]
LOOKED_AT, LOOK_ALIKE = _FIGURES["looked_at"], _FIGURES["look_alike"]
CIFAR10 = tuple(AtProposals(*row) for row in _FIGURES["cifar10"])
DISTORTIONS: dict[str, float] = _FIGURES["distortions"]
VECTORS = {float(cosine): recall for cosine, recall in _FIGURES["vectors"].items()}


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
