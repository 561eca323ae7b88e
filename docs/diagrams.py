"""Draw the diagrams of the pages, the pipeline and two split protocols: ``python docs/diagrams.py``."""

import sys
from html import escape
from pathlib import Path

from protocol import registry

FOLDER = Path(__file__).parent / "explanation" / "diagrams"
STAGES = {  # a target of Snakemake, with its main output, its column and its row
    "dataset": ("items, images", 0, 0.5),
    "features": ("vectors", 1, 0),
    "splits": ("lists of items", 1, 1),
    "models": ("hashers, codes", 2, 0),
    "ground_truths": ("relevant items", 2, 1),
    "counts": ("items by distance", 3, 0.5),
    "metrics": ("scores", 4, 0.5),
    "audit": ("findings", 2, 2),
    "report": ("one HTML page", 5, 1),
}
ARROWS = (
    *(("dataset", "features"), ("dataset", "splits"), ("features", "models"), ("splits", "models")),
    *(("splits", "ground_truths"), ("models", "counts"), ("ground_truths", "counts"), ("counts", "metrics")),
    *(("splits", "audit"), ("metrics", "report"), ("audit", "report")),
)
PARTITIONS = {  # the width of a partition in the diagram, which is no measure of its size, and its name
    "query": (80, "queries"),
    "validation_query": (124, "validation queries"),
    "validation_database": (134, "validation database"),
    "train": (130, "training set"),
    "rest": (220, "all other items"),
}
_BOX, _GAP, _HEIGHT, _ROW = 116, 20, 44, 76


def pipeline() -> str:
    """Draw the stages of the pipeline with arrows between those of which one reads the output of the other."""

    def left(stage: str) -> float:
        return 8 + STAGES[stage][1] * (_BOX + _GAP)

    def top(stage: str) -> float:
        return 8 + STAGES[stage][2] * _ROW

    look = f'width="{_BOX}" height="{_HEIGHT}" rx="5" fill="#eef1f5" stroke="#555"'
    boxes = [
        f'<rect x="{left(name)}" y="{top(name)}" {look}/>'
        f"{_text(left(name) + _BOX / 2, top(name) + 18, name, bold=True)}"
        f"{_text(left(name) + _BOX / 2, top(name) + 35, content)}"
        for name, (content, *_) in STAGES.items()
    ]
    arrows = [
        f'<path d="M{left(a) + _BOX},{top(a) + _HEIGHT / 2} L{left(b) - 2},{top(b) + _HEIGHT / 2}" stroke="#555"'
        ' fill="none" marker-end="url(#head)"/>'
        for a, b in ARROWS
    ]
    return _svg(6 * _BOX + 5 * _GAP + 16, 2 * _ROW + _HEIGHT + 16, [*arrows, *boxes])


def splits() -> str:
    """Draw the partitions of a dataset under the two protocols of the thesis, and those that the database contains."""
    parts = []
    for row, name in enumerate(("standard", "improved")):
        left, top = 92.0, 12 + 100 * row
        without = registry.get("split", name).database_without
        parts += [_text(8, top + 18, name, bold=True, anchor="start"), _text(8, top + 52, "database", anchor="start")]
        for partition, (width, label) in PARTITIONS.items():
            fill = "#9db4cf" if partition == "train" else "#eef1f5"
            parts.append(f'<rect x="{left}" y="{top}" width="{width}" height="28" fill="{fill}" stroke="#555"/>')
            parts.append(_text(left + width / 2, top + 18, label))
            if partition not in without:
                parts.append(
                    f'<rect x="{left}" y="{top + 36}" width="{width}" height="24" fill="{fill}" stroke="#555"/>'
                )
            left += width
    return _svg(92 + sum(width for width, _ in PARTITIONS.values()) + 8, 184, parts)


def _text(x: float, y: float, text: str, *, bold: bool = False, anchor: str = "middle") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _svg(width: float, height: float, parts: list[str]) -> str:
    """Return a picture with a white background, which is also readable on a dark page."""
    head = (
        '<marker id="head" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto"><path d="M0,0 L6,3 L0,6z"'
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"',
            'font-family="system-ui, sans-serif" font-size="11">',
            f'<defs>{head} fill="#555"/></marker></defs><rect width="100%" height="100%" fill="white"/>',
            *parts,
            "</svg>\n",
        ]
    )


DIAGRAMS = {"pipeline": pipeline, "splits": splits}


def main(folder: Path = FOLDER) -> None:
    """Write the diagrams to a folder."""
    folder.mkdir(exist_ok=True)
    for name, draw in DIAGRAMS.items():
        (folder / f"{name}.svg").write_text(draw())


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
