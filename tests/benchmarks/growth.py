"""Time and peak memory as the database grows, run by hand: `python tests/benchmarks/growth.py --help`.

Every stage runs in a fresh process, on one core, on vectors of the dataset `synthetic`. Left in
results/reference/growth/: the measures, a figure, and a page that works out from them what 100 million items take.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # one core each

import numpy as np
import pandas as pd

from protocol import codes, datasets, metrics, registry
from protocol.groundtruth import Items
from protocol.hashers import TrainingSet
from protocol.ranking import LabelRelevance, count

FOLDER = Path(__file__).parents[2] / "results" / "reference" / "growth"
SIZES = (10_000, 100_000, 1_000_000)
N_QUERIES, N_BITS, DIMENSION = 1000, 64, 128
STAGES = {
    "evaluate": f"count {N_QUERIES:,} queries against the database, {N_BITS} bits, class labels; every metric",
    "truth": f"epsilon-ball of {N_QUERIES:,} queries in the database, {DIMENSION} dimensions",
    "training": f"ITQ, {N_BITS} bits, trained on all items",
    "encoding": f"all items into {N_BITS} bits by an ITQ trained on 10,000",
}
# The job whose cost is worked out.
TARGET, TARGET_QUERIES, TARGET_TRAINING = 100_000_000, 10_000, 1_000_000


def vectors(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `n` vectors and their labels."""
    options = {"n": n, "dimension": DIMENSION, "n_clusters": 1000, "spread": 0.5, "seed": 0}
    data = datasets.load("synthetic", {}, options)
    X = np.empty((n, DIMENSION), dtype=np.float32)
    for start in range(0, n, 65_536):
        X[start : start + 65_536] = data.vectors["features"][start : start + 65_536]
    return X, data.labels


def evaluate(n: int) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    query, database = (codes.pack(rng.random((m, N_BITS), dtype=np.float32) < 0.5) for m in (N_QUERIES, n))
    truth = LabelRelevance(rng.integers(0, 10, N_QUERIES), rng.integers(0, 10, n))
    names = metrics.everything(N_BITS)
    return lambda: metrics.evaluate(count(query, database, N_BITS, {"class": truth}, index_order=True)["class"], names)


def truth(n: int) -> Callable[[], object]:
    X, y = vectors(n)
    query, train = Items(X[:N_QUERIES], y[:N_QUERIES]), Items(X[: min(n, 50_000)], None)
    return lambda: registry.get("ground_truth", "epsilon_ball")(query, Items(X, y), train, seed=0)


def training(n: int) -> Callable[[], object]:
    X, _ = vectors(n)
    return lambda: registry.get("hasher", "itq")(n_bits=N_BITS, seed=0).fit(TrainingSet(X))


def encoding(n: int) -> Callable[[], object]:
    X, _ = vectors(n)
    model = registry.get("hasher", "itq")(n_bits=N_BITS, seed=0).fit(TrainingSet(X[:10_000]))
    return lambda: [codes.pack(model.transform(X[start : start + 65_536])) for start in range(0, n, 65_536)]


def measure(stage: str, n: int) -> dict[str, float]:
    """Return wall and processor seconds of a stage, and the peak memory of this process, data and libraries with it."""
    run = globals()[stage](n)
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "peak_mb": round(peak)}


def projected(table: pd.DataFrame) -> dict[str, float]:
    """Return what TARGET items would take, from the rates of the largest size measured.

    Counting and ground truth go with queries x items, encoding with items; training takes a sample as large as the
    largest measured. Hours are those of one core; memory is that of a shard as large as the largest measured.
    """
    largest = int(table["n"].max())
    at = table[table["n"] == largest].set_index("stage")
    pairs, hours = TARGET_QUERIES * TARGET / (N_QUERIES * largest), at["cpu_s"] / 3600
    by_stage = {
        "evaluate_h": hours["evaluate"] * pairs,
        "truth_h": hours["truth"] * pairs,
        "encoding_h": hours["encoding"] * TARGET / largest,
    }
    return by_stage | {
        "divided_h": sum(by_stage.values()),
        "training_h": hours["training"] * TARGET_TRAINING / largest,
        "shards": TARGET / largest,
        "shard_mb": float(at["peak_mb"].max()),
        "codes_gb": TARGET * N_BITS / 8 / 1e9,
        "features_gb": TARGET * DIMENSION * 4 / 1e9,
    }


def page(table: pd.DataFrame) -> str:
    """Return the page, every number of it from the table."""
    rows = [
        f"| {row.stage} | {row.n:,} | {row.wall_s:.2f} | {row.cpu_s:.2f} | {row.peak_mb:,.0f} |"
        for row in table.itertuples(index=False)
    ]
    p = projected(table)
    stages = "\n".join(f"- **{stage}**: {what}" for stage, what in STAGES.items())
    return f"""# Growth

Made by `python tests/benchmarks/growth.py` on one core, every line in a fresh process; peak memory is the whole
process's, its data and libraries with it.

{stages}

| stage | items | seconds | processor seconds | peak memory, MB |
| --- | --: | --: | --: | --: |
{chr(10).join(rows)}

![seconds and memory by number of items](growth.svg)

## {TARGET // 10**6} million items

One run of one hasher at one code length, {TARGET_QUERIES:,} queries, in hours of one core, from the rates above:

| stage | hours | how it is divided |
| --- | --: | --- |
| truth | {p["truth_h"]:.1f} | by blocks of queries and of database: a query's neighbours are those of all blocks |
| training | {p["training_h"]:.2f} | not at all: a sample of {TARGET_TRAINING:,} items |
| encoding | {p["encoding_h"]:.2f} | by rows: an item's code depends on the model and the item |
| evaluate | {p["evaluate_h"]:.1f} | by shards of the database: counts add up, and metrics are made of counts |

In {p["shards"]:.0f} shards a job needs no more than the {p["shard_mb"]:,.0f} MB measured above. Codes take
{p["codes_gb"]:.1f} GB of disk for each code length, features {p["features_gb"]:.0f} GB. One core of this kind works
it off in {p["divided_h"] + p["training_h"]:.1f} hours, a core for each shard in
{60 * (p["divided_h"] / p["shards"] + p["training_h"]):.0f} minutes.

What is there today counts, encodes and searches block by block in one job, so that memory stays bounded; a rule that
gives each shard a job of its own is not written. Two things don't add up over shards: ties in the order of the database
need the shards in order, and the largest bucket of a ball needs codes that lie in several shards joined first.
"""


def figure(table: pd.DataFrame) -> str:
    """Return the figure as SVG."""
    import altair as alt
    import vl_convert

    def panel(column: str, title: str) -> alt.Chart:
        axes = {"scale": alt.Scale(type="log")}
        lines = alt.Chart(table).mark_line(point=True)
        return lines.encode(
            x=alt.X("n:Q", title="items", **axes), y=alt.Y(f"{column}:Q", title=title, **axes), color="stage:N"
        ).properties(width=280, height=220)

    both = alt.hconcat(panel("cpu_s", "processor seconds"), panel("peak_mb", "peak memory, MB"))
    return vl_convert.vegalite_to_svg(both.to_json())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs=2, metavar=("STAGE", "N"), help="one measure, printed as JSON")
    parser.add_argument("--page", action="store_true", help="only make the page and the figure again from the table")
    arguments = parser.parse_args()
    if arguments.measure:
        stage, n = arguments.measure
        sys.stdout.write(json.dumps(measure(stage, int(n))))
        return
    if not arguments.page:
        rows = []
        for stage in STAGES:
            for n in SIZES:
                command = [sys.executable, __file__, "--measure", stage, str(n)]
                found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                rows.append({"stage": stage, "n": n, **found})
                sys.stdout.write(f"{rows[-1]}\n")
        FOLDER.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(FOLDER / "growth.csv", index=False)
    table = pd.read_csv(FOLDER / "growth.csv")
    (FOLDER / "growth.svg").write_text(figure(table))
    (FOLDER / "README.md").write_text(page(table))


if __name__ == "__main__":
    main()
