"""Draw the figures of docs/explanation from the stored reference results: ``python docs/figures.py``.

Two figures are computed from the digits of scikit-learn, in a second; all others are read from ``results/reference``.
``python docs/figures.py results/digits/report.html`` makes docs/report.svg, the picture of the README, from the report
of the default experiment.
"""

import html
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

import protocol as hp
from protocol.report.drawing import pictures

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "explanation" / "figures"
REFERENCE = ROOT / "results" / "reference"
BITS = alt.X("n_bits:O", title="code length (bits)", axis=alt.Axis(labelAngle=0))
SIZE = {"width": 250, "height": 200}


def reference_map() -> pd.DataFrame:
    """Return the means of the reference experiment on CIFAR-10, class labels and the standard split, by metric."""
    table = pd.read_csv(REFERENCE / "cifar10" / "full.csv")
    table = table[(table["ground_truth"] == "class_label") & (table["split"] == "standard")]
    return table.pivot_table("mean", ["hasher", "n_bits"], "metric").reset_index()


def ties() -> Any:
    """Draw mAP with the range between the worst and the best order of ties, by code length."""
    table = reference_map()
    table = table[table["hasher"].isin(["itq", "lsh", "sklsh"])][["hasher", "n_bits", "mAP", "mAP[best]", "mAP[worst]"]]
    table = table.rename(columns={"mAP[best]": "best", "mAP[worst]": "worst"})
    base = alt.Chart(table).encode(BITS)
    span = base.mark_rule(strokeWidth=6, opacity=0.35).encode(alt.Y("worst:Q", title="mAP"), alt.Y2("best:Q"))
    point = base.mark_point(filled=True, color="black", size=40).encode(alt.Y("mAP:Q"))
    columns = alt.Column("hasher:N", title=None)
    return (span + point).properties(width=150, height=SIZE["height"]).facet(columns)


def digits(hasher: str, metrics: Sequence[str]) -> Any:
    """Return the scores of 32-bit codes of the digits: the first 500 images are the queries."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    codes = hp.get("hasher", hasher)(n_bits=32, seed=1).fit(images[500:]).transform(images)
    given = {"query_labels": labels[:500], "database_labels": labels[500:]}
    return hp.evaluate(codes[:500], codes[500:], metrics=metrics, **given)


def precision_recall() -> Any:
    """Draw the precision-recall curve of one set of codes over the Hamming radii."""
    return digits("itq", ["mAP"]).plot().properties(width=300, height=220)


def denominators() -> Any:
    """Draw mAP at the cutoff K of one set of codes, by K and denominator."""
    cutoffs = (5, 10, 20, 50, 100, 150, 200, 400, 800, 1297)
    names = {f"mAP@{k}[{by}]": (k, by) for k in cutoffs for by in ("all", "min", "retrieved")}
    values = digits("lsh", list(names)).metrics
    table = pd.DataFrame([(*names[name], value) for name, value in values.items()], columns=["K", "denominator", "mAP"])
    ticks = alt.Axis(values=[5, 10, 50, 100, 500])
    return (
        alt.Chart(table)
        .mark_line(point=True)
        .encode(
            alt.X("K:Q", scale=alt.Scale(type="log", nice=False), title="cutoff K", axis=ticks),
            alt.Y("mAP:Q", title="mAP@K", scale=alt.Scale(domain=[0, 1])),
            alt.Color("denominator:N", title=None, scale=alt.Scale(scheme="dark2")),
            alt.Shape("denominator:N", title=None),
        )
        .properties(width=380, height=220)
    )


def near_duplicates() -> Any:
    """Draw the change of mAP without the queries that have a near-duplicate, by split and ground truth."""
    table = pd.read_csv(REFERENCE / "near_duplicates" / "duplicates.csv")
    table = table[table["metric"] == "mAP"][["ground_truth", "split", "n_bits", "hasher", "difference"]]
    return (
        alt.Chart(table)
        .mark_point(size=30)
        .encode(
            alt.X("difference:Q", title="change of mAP without these queries", axis=alt.Axis(format="g")),
            alt.Y("split:N", title=None),
            alt.Color("n_bits:O", title="bits", scale=alt.Scale(scheme="viridis")),
            alt.Row("ground_truth:N", title=None),
        )
        .properties(width=380, height=80)
    )


def buckets() -> Any:
    """Draw mAP, RAMAP and mLGAP by code length: the first rises with it, the others fall."""
    metrics = ["mAP", "RAMAP@r2", "mLGAP@r2"]
    table = reference_map().melt(["hasher", "n_bits"], metrics, var_name="metric")
    table = table[table["hasher"].isin(["itq", "lsh", "pcah", "sklsh"])]
    lines = (
        alt.Chart(table)
        .mark_line(point=True)
        .encode(
            BITS,
            alt.Y("value:Q", title=None),
            alt.Color("hasher:N", scale=alt.Scale(scheme="dark2")),
            alt.Shape("hasher:N"),
        )
        .properties(width=170, height=SIZE["height"])
    )
    return lines.facet(alt.Column("metric:N", title=None, sort=metrics)).resolve_scale(y="independent")


def lost_recall() -> Any:
    """Draw the recall lost with HNSW and IVF by the number of nodes or lists that they visit."""
    table = pd.read_csv(REFERENCE / "index" / "lost_recall.csv")
    table = table[table["index"].isin(["HNSW", "IVF"]) & (table["n_bits"] > 0)]
    names = {"lost_to_code": "lost to the code", "lost_to_index": "lost to the index", "lost_to_ties": "lost to ties"}
    table = table.rename(columns=names).melt(["n_bits", "index", "effort"], list(names.values()), var_name="lost")
    lines = (
        alt.Chart(table)
        .mark_line(point=True)
        .encode(
            alt.X("effort:Q", scale=alt.Scale(type="log", base=2), title="efSearch or nprobe"),
            alt.Y("value:Q", title="lost recall@10"),
            alt.Color("index:N", title="index", scale=alt.Scale(scheme="dark2")),
            alt.StrokeDash("n_bits:N", title="bits"),
        )
        .properties(width=170, height=SIZE["height"])
    )
    columns = alt.Column("lost:N", title=None, sort=list(names.values()))
    return lines.facet(columns).resolve_scale(y="independent")


FIGURES: dict[str, Callable[[], Any]] = {
    "precision-recall": precision_recall,
    "ties": ties,
    "denominators": denominators,
    "near-duplicates": near_duplicates,
    "buckets": buckets,
    "lost-recall": lost_recall,
}


def of_report(page: str) -> str:
    """Return the title of a report, its answer and its first figure, as they are on the page, as one picture."""
    (title,) = re.findall(r"<h1>(.+?)</h1>", page)
    answer = re.findall(r'<p class="answer">(.+?)</p>', page)[0]
    picture = r'<svg[^>]* class="marks"[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)">(.+?)</svg>'
    width, height, drawn = re.findall(picture, page)[0]
    lines = [html.escape(line) for line in textwrap.wrap(html.unescape(answer), 88, break_on_hyphens=False)]
    texts = [f'<text x="12" y="{66 + 20 * n}" font-size="14">{line}</text>' for n, line in enumerate(lines)]
    top = 66 + 20 * len(lines)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {float(width) + 24:g} {float(height) + top + 8:g}"',
            'color="black" fill="currentColor" font-family="system-ui, sans-serif">',
            f'<rect width="100%" height="100%" fill="white"/><text x="12" y="36" font-size="20">{title}</text>',
            *texts,
            f'<g transform="translate(12,{top})">{drawn}</g></svg>\n',
        ]
    )


def main(folder: Path = FOLDER) -> None:
    """Write every figure as SVG to a folder."""
    specs = [draw().configure_view(stroke=None).to_dict() for draw in FIGURES.values()]
    for name, picture in zip(FIGURES, pictures(specs), strict=True):
        (folder / f"{name}.svg").write_bytes(picture["svg"])


if __name__ == "__main__":
    if sys.argv[1:]:
        (ROOT / "docs" / "report.svg").write_text(of_report(Path(sys.argv[1]).read_text()))
    else:
        main()
