"""Measured precision and recall of the finder, which its output and the documentation quote.

`tests/benchmarks/duplicates.py` measures them; ``measured.toml`` holds the figures and explains each of them.
"""

import textwrap
import tomllib
from pathlib import Path

from protocol.scores.tables import text as table

PACKAGE_DATA = "measured.toml"
_WIDTH = 110

with open(Path(__file__).with_name(PACKAGE_DATA), "rb") as _stream:
    _FIGURES = tomllib.load(_stream)
LEAST_SCORE = _FIGURES["least_score"]
DISTORTIONS: dict[str, float] = _FIGURES["distortions"]


def text(kind: str) -> list[str]:
    """Return the measured precision and recall of the finder, as lines.

    Parameters
    ----------
    kind : {"images", "vectors"}
    """
    if kind == "vectors":
        found = ", ".join(
            f"{share:.1%} at a cosine of {float(cosine):g}" for cosine, share in _FIGURES["vectors"].items()
        )
        return _wrapped(
            "What to expect: if all pairs are compared, every query is proposed with its best partner, unless there "
            "are more proposals than requested; the next four partners are listed if their cosine is at most 0.05 "
            "lower. Of pairs planted among 1,000,000 random vectors with 128 features, random-hyperplane keys found "
            f"{found}.",
        )
    n_judged, looked_at, look_alike = (_FIGURES[name] for name in ("n_judged", "looked_at", "look_alike"))
    rows = [[f"{proposals:,}", *map(str, counts)] for proposals, *counts in _FIGURES["cifar10"]]
    header = ("proposals", "judged pairs", "with further partners", "judged queries")
    found = ", ".join(f"{name} {share:.1%}" for name, share in DISTORTIONS.items())
    return [
        f"What to expect: of the {n_judged} near-duplicates in CIFAR-10 listed by ciFAIR, the first proposals contain",
        *table(header, rows).split("\n"),
        *_wrapped(
            f"ciFAIR's list is incomplete: of {looked_at} inspected proposals among the first 500 whose query is not "
            f"in it, about {look_alike} are near-duplicates.",
        ),
        *_wrapped(f"Distorted copies of CIFAR-10 images that were found among 50,000: {found}."),
    ]


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, _WIDTH, break_on_hyphens=False)
