"""TALR compared with ITQ and LSH on the metric that each maximises: makes ``results/reference/talr/``.

Run by hand: `python tests/reference/talr_table.py`. With the argument `variants`, only the start, the rate, the
relaxations and `classifier` on the digits are computed. The digits need no files. CIFAR-10 needs the GIST of its 60,000
images, which `snakemake --cores all --configfile workflow/config/cifar10_talr.yaml -- features` writes. Splits, seeds
and preprocessing are those of the experiments digits_talr and cifar10_talr, so the runs are the same.
"""

import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import runs  # isort: skip - before NumPy
import altair
import pages
import pandas as pd
from runs import Run

from protocol.metrics import mean

FOLDER = pages.REFERENCE / "talr"
METRICS = {"mAP": "class_label", "nDCG": "graded_distance"}
MAXIMISED = {"talr_ap": "mAP", "talr_ndcg": "nDCG"}
ALPHAS = ((1, 1), (2, 1), (5, 1), (10, 1), (40, 1), (1, 10), (1, 40))  # alpha, growth
VARIED_RUNS = (0, 3, 6, 8)
VARIANTS: tuple[dict[str, Any], ...] = (
    {"start": "random"},
    {"relaxation": "integral"},
    *({"alpha": alpha, "growth": growth, "rate_over_alpha": True} for alpha, growth in ALPHAS[1:]),
)


def scored(run: Run, hasher: str, n_bits: int, metrics: Iterable[str], **options: Any) -> dict[str, Any]:
    """Return the mean metrics of one fit, its CPU seconds, and the course of its objective."""
    sys.stderr.write(f"{hasher}, {n_bits} bits, {options}\n")
    model, seconds = run.fit(hasher, n_bits, **options)
    values = {metric: mean(run.scores(model, [metric], truth=METRICS[metric])[metric]) for metric in metrics}
    return values | {"seconds": seconds, "objective": model.fit_record_.get("objective")}


def cells(dataset: str) -> Iterator[dict[str, Any]]:
    """Yield the scores of every run, hasher and code length of the experiment on a dataset."""
    config = runs.experiment(f"{dataset}_talr").config
    for number in range(config["runs"]):
        run = Run(f"{dataset}_talr", number)
        for hasher, n_bits in itertools.product(config["hashers"], config["n_bits"]):
            cell = {"dataset": dataset, "run": number, "hasher": hasher, "n_bits": n_bits}
            yield cell | scored(run, hasher, n_bits, METRICS)


def alphas() -> Iterator[dict[str, Any]]:
    """Yield the scores of each alpha and its growth on the digits, with defaults otherwise."""
    for number in range(runs.experiment("digits_talr").config["runs"]):
        run = Run("digits_talr", number)
        for (hasher, metric), (alpha, growth) in itertools.product(MAXIMISED.items(), ALPHAS):
            value = scored(run, hasher, 32, [metric], alpha=alpha, growth=growth)[metric]
            yield {"hasher": hasher, "metric": metric, "alpha": alpha, "growth": growth, "value": value}


def varied() -> Iterator[dict[str, Any]]:
    """Yield the scores of each hasher on the digits at its defaults and with each of `VARIANTS`, and of `classifier`.

    Variants of alpha have 32 bits only, the others all lengths.
    """
    lengths = runs.experiment("digits_talr").config["n_bits"]
    every = [(*maximised, options) for maximised in MAXIMISED.items() for options in ({}, *VARIANTS)]
    for number in VARIED_RUNS:
        run = Run("digits_talr", number)
        for hasher, metric, options in (*every, ("classifier", "mAP", {})):
            variant = ", ".join(f"{name} {value}" for name, value in options.items()) or "default"
            for n_bits in (32,) if "alpha" in options else lengths:
                cell = {"hasher": hasher, "metric": metric, "variant": variant, "n_bits": n_bits, "run": number}
                yield cell | {"value": scored(run, hasher, n_bits, [metric], **options)[metric]}


def write(rows: list[dict[str, Any]], of_alpha: list[dict[str, Any]]) -> None:
    """Write the tables and the picture of the training curves."""
    statistics = {"mean": ("value", "mean"), "std": ("value", "std"), "n_runs": ("value", "size")}
    cell = ["dataset", "run", "hasher", "n_bits"]
    long = pd.DataFrame(rows).melt([*cell, "seconds"], list(METRICS), var_name="metric")
    table = long.groupby(["dataset", "metric", "n_bits", "hasher"], as_index=False)
    pages.write(table.agg(**statistics, seconds=("seconds", "median")), FOLDER / "talr.csv", "%.4f")
    pages.write(gains(long), FOLDER / "gains.csv", "%.4f")
    alpha = pd.DataFrame(of_alpha).groupby(["hasher", "metric", "alpha", "growth"], as_index=False)
    pages.write(alpha.agg(**statistics), FOLDER / "alpha.csv", "%.4f")
    curves = pd.DataFrame(
        {"dataset": row["dataset"], "hasher": row["hasher"], "n_bits": row["n_bits"], "part": part, "objective": value}
        for row in rows
        if row["run"] == 0 and row["objective"]
        for part, value in enumerate(row["objective"], start=1)
    )
    pages.write(curves, FOLDER / "curves.csv", None)
    altair.Chart(curves).mark_line().encode(
        x=altair.X("part:Q", title="twentieths of the training"),
        y=altair.Y("objective:Q", title="relaxed objective of minibatches", scale=altair.Scale(zero=False)),
        color=altair.Color("n_bits:N", title="bits"),
        column="dataset:N",
        row="hasher:N",
    ).properties(width=260, height=180).resolve_scale(y="independent").save(FOLDER / "curves.svg")


def write_varied(rows: list[dict[str, Any]]) -> None:
    """Write the mean of each variant, and its mean difference from the default, or `classifier`'s from `talr_ap`."""
    key, long = ["hasher", "metric", "n_bits", "run"], pd.DataFrame(rows)
    default = long[long["variant"] == "default"].set_index(key)["value"]
    compared = pd.MultiIndex.from_frame(long.replace({"hasher": {"classifier": "talr_ap"}})[key])
    long["difference"] = long["value"] - default.loc[compared].to_numpy()
    table = long.groupby(["hasher", "metric", "variant", "n_bits"], sort=False, as_index=False).agg(
        mean=("value", "mean"),
        std=("value", "std"),
        difference=("difference", "mean"),
        standard_error=("difference", "sem"),
        n_runs=("value", "size"),
    )
    pages.write(table, FOLDER / "variants.csv", "%.4f")


def gains(long: pd.DataFrame) -> pd.DataFrame:
    """Return how far each hasher of `MAXIMISED` is above ITQ on its metric: mean over paired runs, standard error."""
    values = long.pivot_table("value", ["dataset", "metric", "n_bits", "run"], "hasher")
    above = [(values[hasher] - values["itq"]).xs(metric, level="metric") for hasher, metric in MAXIMISED.items()]
    grouped = pd.concat(above, keys=MAXIMISED, names=["hasher"]).groupby(["dataset", "hasher", "n_bits"])
    return grouped.agg(gain="mean", standard_error="sem", n_runs="size").reset_index()


def page() -> str:
    """Return the page that the stored tables make."""
    table, alpha, above, variants = pages.read("talr", "talr", "alpha", "gains", "variants")
    changed = variants["difference"].ne(0) | variants["standard_error"].ne(0)
    beyond = [f" ({row.difference:+.4f} ± {row.standard_error:.4f})" for row in variants.itertuples()]
    variants["beyond"] = pd.Series(beyond).where(changed, "")
    return pages.render(
        "talr",
        table=pages.grid(table, ["dataset", "metric", "hasher"], "n_bits", "{mean:.4f}"),
        gains=pages.grid(above, ["dataset", "hasher"], "n_bits", "{gain:+.4f} ± {standard_error:.4f}"),
        seconds=pages.grid(table, ["dataset", "hasher"], "n_bits", "{seconds:.1f}"),
        alpha=pages.grid(alpha, ["alpha", "growth"], "hasher", "{mean:.4f}"),
        varied_runs=f"runs {', '.join(map(str, VARIED_RUNS[:-1]))} and {VARIED_RUNS[-1]}",
        variants=pages.grid(variants, ["hasher", "variant"], "n_bits", "{mean:.4f}{beyond}"),
        **json.loads((FOLDER / "provenance.json").read_text()),
    )


def main() -> None:
    if sys.argv[1:] != ["variants"]:
        write([row for dataset in ("digits", "cifar10") for row in cells(dataset)], list(alphas()))
    write_varied(list(varied()))
    record = {"versions": runs.versions("numpy", "scipy", "hashing-protocol")}
    (FOLDER / "provenance.json").write_text(json.dumps(record) + "\n")
    pages.store("talr", page())


if __name__ == "__main__":
    main()
