"""Write ``results/reference/quantisers/``: compressed vectors and binary codes at equal bytes, on three datasets.

Run by hand after `snakemake features --cores all --configfile workflow/config/NAME.yaml` for each NAME of
`EXPERIMENTS`, with a mirror for wiki and, if the official archive can't be reached, for cifar10:
`python tests/reference/quantiser_tables.py`, which takes 10 minutes on one core.
"""

from dataclasses import replace
from typing import Any

import runs  # isort: skip - before NumPy
import pages
import pandas as pd

from protocol.evaluation import Hashing, Nearest, Quantisation, Quantisers, plots, quantisation

FOLDER = pages.REFERENCE / "quantisers"
EXPERIMENTS = {
    "cifar10_quantisation": ("gist", "CIFAR-10, GIST"),
    "wiki_quantisation": ("image", "Wiki, SIFT bag of words of the images"),
    "digits_quantisation": ("dense_sift", "digits, SIFT of the quarters"),
}
"""For each experiment, the feature and the title. The vectors are those of run 0 of the split `improved`."""
NUMBERS, K = (1, 10, 100), 10
FACTORS = (8, 2)
CASCADE = ("sign", "int8", "float")
LIBRARIES = ("numpy", "faiss-cpu")


def names(d: int) -> list[str]:
    """Return the representations of vectors of dimension `d`, which have from d / 16 to 2 d bytes."""
    int8 = [f"int8:calibration={way}" for way in ("minmax", "sentence_transformers")]
    truncated = [f"truncate:dims={d // part}" for part in (32, 16, 8, 4)]
    products = [f"{name}:m={d // part}" for part in (16, 8, 4) for name in ("pq", "opq")]
    hashers = [f"{name}{bits}" for name in ("sign", "lsh", "pca_rr", "itq") for bits in ("", f":n_bits={d // 2}")]
    return ["float16", "int8", *int8, "int4", "two_bit", "rabitq", *truncated, *products, *hashers]


def measured(name: str, feature: str) -> Quantisation:
    """Return the comparison of all representations on one dataset."""
    run = runs.Run(name, 0, feature=feature)
    query, database, train = (run.items[part].X for part in ("query", "database", "train"))
    options = Quantisers(names(query.shape[1]), cascade=CASCADE, factors=FACTORS, train=train)
    vectors = Nearest(query, database, NUMBERS, "euclidean")
    return quantisation(vectors, Hashing(train=train), quantisers=options, metrics=["mAP"])


def shares(dataset: str, result: Quantisation) -> pd.DataFrame:
    """Return the share of each representation and K, and the smallest c with which re-ranking reaches the target."""
    rows = [
        {"dataset": dataset, "representation": one.name, "bytes": one.n_bytes, "k": k}
        | {key: getattr(own, key) for key in ("expected", "low", "high", "worst", "best", "first")}
        | {"c": one.rescoring.smallest_factor[k].expected}
        for one in result.equal_bytes.represented
        for k, own in one.shares.items()
    ]
    return pd.DataFrame(rows)


def figure(table: pd.DataFrame) -> Any:
    """Return the figure of the shares for one K, from the stored table."""
    table = table[(table["k"] == K) & ~table["representation"].str.contains(":calibration")]
    names = {"dataset": "panel", "representation": "name", "expected": "share"}
    points = table.rename(columns=names)[["panel", "name", "bytes", "share", "low", "high"]].to_dict("records")
    return plots.equal_bytes(points, f"Share of the {K} nearest items found")


def best(dataset: str, result: Quantisation) -> pd.DataFrame:
    """Return the best representation of each size, for each K."""
    return pd.DataFrame([{"dataset": dataset, **one._asdict()} for one in result.equal_bytes.best])


def chapter(title: str, result: Quantisation) -> dict[str, Any]:
    """Return the section of the page on one dataset."""
    tables = {table.name: replace(table, caption="").markdown() for table in result.equal_bytes.tables()}
    shown = {
        "title": f"{title}: {result.n_queries:,} queries, {result.n_database:,} items, "
        f"{result.nearest.n_features} dimensions",
        "answer": result.equal_bytes.answer,
        "shares": tables[f"equal bytes {K}"].strip(),
        "cascade": replace(result.cascade.table(), caption="").markdown().strip(),
    }
    rows = [
        [f"{one.n_bytes:,}", f"`{one.name}`", f"{one.share:.4f}", f"`{one.second}`" if one.second else ""]
        + ([] if one.second is None else [f"{one.difference:+.4f} ± {one.high - one.difference:.4f}"])
        for one in result.equal_bytes.best
        if one.neighbours == K
    ]
    header = ["at most bytes", "best", "share", "second", "paired difference"]
    return shown | {"best": pages.markdown(header, [row + [""] * (5 - len(row)) for row in rows])}


def main() -> None:
    results = {title: measured(name, feature) for name, (feature, title) in EXPERIMENTS.items()}
    for file, table in (("shares", shares), ("best", best)):
        pages.write(pd.concat([table(*one) for one in results.items()], ignore_index=True), FOLDER / f"{file}.csv")
    page = pages.render(
        "quantisers",
        configs=", ".join(f"`workflow/config/{name}.yaml`" for name in EXPERIMENTS),
        k=K,
        factors=FACTORS,
        chapters=[chapter(*one) for one in results.items()],
        versions=runs.versions(*LIBRARIES),
    )
    pages.store("quantisers", page)
    figure(*pages.read("quantisers", "shares")).save(FOLDER / "equal_bytes.svg")


if __name__ == "__main__":
    main()
