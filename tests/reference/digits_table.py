"""Write ``results/reference/hashers/``: all unsupervised hashers on scikit-learn's digits, over 50 runs.

Run by hand: `python tests/reference/digits_table.py`, which takes half a minute on one core. Splits, seeds and
preprocessing are those of the default experiment (config/config.yaml), whose ten runs are the first ten here.
"""

import functools
import itertools
from typing import Any

import runs  # isort: skip - before NumPy
import pages
import pandas as pd

from protocol import registry
from protocol.metrics import mean
from protocol.provenance.storage import array_digest

FOLDER = pages.REFERENCE / "hashers"
EXPERIMENT = "digits"
N_RUNS = 50
N_BITS = (16, 32)
KEY = ["hasher", "n_bits"]
STATISTICS = ["mean", "std", "min", "max"]

run = functools.lru_cache(maxsize=N_RUNS + 5)(functools.partial(runs.Run, EXPERIMENT))


def mean_average_precision(hasher: str, n_bits: int, number: int, **options: Any) -> float:
    """Return the tie-aware mAP of one run over the complete database; `options` are those of the hasher."""
    model, _ = run(number).fit(hasher, n_bits, **options)
    return mean(run(number).scores(model, ["mAP"])["mAP"])


def table() -> dict[tuple[str, int], dict[str, float]]:
    """Return the committed table: statistics by (hasher, n_bits)."""
    (stored,) = pages.read("hashers", "digits")
    return stored.set_index(KEY)[STATISTICS].to_dict("index")


def _ranked(scores: pd.DataFrame) -> str:
    """Return a table of the hashers at one code length, the best first."""
    rows, order = [], scores.mean().sort_values(ascending=False).index
    for hasher, following in zip(order, [*order[1:], None], strict=True):
        values = scores[hasher]
        above = "" if following is None else f"{(values > scores[following]).mean():.0%}"
        rows.append([f"`{hasher}`", *(f"{value:.4f}" for value in values.agg(STATISTICS)), above])
    return pages.markdown(["hasher", *STATISTICS, "above the next"], rows)


def main() -> None:
    hashers = [name for name in registry.names("hasher") if registry.get("hasher", name).supervision is None]
    cells = list(itertools.product(hashers, N_BITS))
    scores, table = runs.repeated(cells, KEY, lambda cell, number: mean_average_precision(*cell, number), N_RUNS)
    pages.write(table, FOLDER / "digits.csv", "%.6f")
    by_length = scores.groupby("n_bits")
    page = pages.render(
        "digits",
        n_runs=N_RUNS,
        tables={n_bits: _ranked(part.pivot_table("value", "run", "hasher")) for n_bits, part in by_length},
        digest=array_digest(runs.source(EXPERIMENT, "gist").raw["X"]),
        sizes=", ".join(f"{part} {size}" for part, size in runs.experiment(EXPERIMENT).config["split_sizes"].items()),
        versions=runs.versions("numpy", "scikit-learn", "scipy", "hashing-protocol"),
    )
    (FOLDER / "digits.md").write_text(page)


if __name__ == "__main__":
    main()
