"""The tables of results/reference/unseen/README.md, from the stored tables of the pipeline.

``python docs/unseen.py`` writes them between the markers of the page.
"""

import re
from pathlib import Path

import pandas as pd

from protocol.scores.statistics import mean_of
from protocol.scores.summary import shared_of
from protocol.shipped import PROJECT

FOLDER = PROJECT / "results" / "reference" / "unseen"
PAGE = FOLDER / "README.md"
LENGTHS = [12, 24, 32, 48]
SCORES = {
    "cifar10_s1": "S1",
    "seen_at_seen": "seen@seen",
    "seen_at_all": "seen@all",
    "unseen_at_unseen": "unseen@unseen",
    "unseen_at_all": "unseen@all",
    "long_tail": "long tail",
    "clean": "clean",
    "worst": "worst",
}
"""The columns of the tables, by the name of the split, or of the labels of `cifar_noisy`."""
PUBLISHED = {"seen_at_seen": 0.768, "seen_at_all": 0.742, "unseen_at_unseen": 0.329, "unseen_at_all": 0.095}
"""Medians of the final scores in the 525 logs of the study, over all datasets, methods and code lengths."""


def scores() -> pd.DataFrame:
    """Return mAP by score, run, hasher and code length; unsupervised hashers have the same codes with any labels."""
    table = pd.read_csv(FOLDER / "scores_by_run.csv").rename(columns={"mAP": "value"})
    table["score"] = table["labels"].where(table["split"] == "cifar_noisy", table["split"])
    unsupervised = table[(table["score"] == "clean") & (table["supervision"] == "none")]
    return pd.concat([table, unsupervised.assign(score="worst")], ignore_index=True)


def differences(table: pd.DataFrame, score: str, n_bits: int, reference: str) -> pd.DataFrame:
    """Return the paired difference of each hasher from a reference, with its 95% interval over the runs."""
    wide = table[(table["score"] == score) & (table["n_bits"] == n_bits)].pivot_table(
        index="run", columns="hasher", values="value"
    )
    rows, shared = {}, shared_of(table, "cifar_noisy" if score in ("clean", "worst") else score)
    for hasher in wide.columns.drop(reference):
        mean = mean_of(wide[hasher] - wide[reference], wide[hasher].abs() + wide[reference].abs(), shared=shared)
        rows[hasher] = (mean.mean, *mean.interval())
    return pd.DataFrame.from_dict(rows, orient="index", columns=["difference", "low", "high"])


def means(table: pd.DataFrame, n_bits: int) -> pd.DataFrame:
    """Return mean mAP of each hasher by score, the best under S1 first."""
    of_length = table[table["n_bits"] == n_bits]
    wide = of_length.pivot_table(index="hasher", columns="score", values="value")[list(SCORES)]
    return wide.sort_values("cifar10_s1", ascending=False)


def main_table(table: pd.DataFrame, n_bits: int) -> str:
    """Return mAP at one code length, a row per hasher and a column per score."""
    rows = means(table, n_bits)
    best = rows.round(3).eq(rows.round(3).max())
    lines = [["hasher", *SCORES.values()]]
    for hasher, row in rows.iterrows():
        cells = [f"**{value:.3f}**" if best.loc[hasher, score] else f"{value:.3f}" for score, value in row.items()]
        lines.append([f"`{hasher}`", *cells])
    return markdown(lines)


def against(table: pd.DataFrame, n_bits: int, reference: str, columns: list[str]) -> str:
    """Return the differences of all hashers from a reference under some scores; bold if the interval excludes 0."""
    order = means(table, n_bits).index.drop(reference)
    by_score = {score: differences(table, score, n_bits, reference) for score in columns}
    lines = [["hasher", *(SCORES[score] for score in columns)]]
    for hasher in order:
        cells = []
        for rows in by_score.values():
            mean, low, high = rows.loc[hasher]
            text = f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
            cells.append(f"**{text}**" if low > 0 or high < 0 else text)
        lines.append([f"`{hasher}`", *cells])
    return markdown(lines)


def counts(table: pd.DataFrame, reference: str) -> str:
    """Return how many supervised hashers are above, below, and not distinguishable from a reference, by length."""
    supervised = set(table.loc[table["supervision"] != "none", "hasher"]) - {reference}
    lines = [["score", *(f"{n_bits} bits" for n_bits in LENGTHS)]]
    for score, name in SCORES.items():
        cells = []
        for n_bits in LENGTHS:
            rows = differences(table, score, n_bits, reference).loc[sorted(supervised)]
            cells.append(f"{int((rows['low'] > 0).sum())} / {int((rows['high'] < 0).sum())} / {len(rows)}")
        lines.append([name, *cells])
    return markdown(lines)


def ranks(table: pd.DataFrame) -> str:
    """Return Spearman's correlation of the hashers' means with those under S1, over all and over supervised ones."""
    supervised = table.loc[table["supervision"] != "none", "hasher"].unique()
    lines = [["score", *(f"{n_bits} bits" for n_bits in LENGTHS)]]
    for score, name in list(SCORES.items())[1:]:
        cells = []
        for n_bits in LENGTHS:
            rows = means(table, n_bits)
            both = [part[["cifar10_s1", score]].corr("spearman").iloc[0, 1] for part in (rows, rows.loc[supervised])]
            cells.append(f"{both[0]:+.2f} ({both[1]:+.2f})")
        lines.append([name, *cells])
    return markdown(lines)


def medians(table: pd.DataFrame) -> str:
    """Return our medians over supervised hashers, lengths and runs, beside the published ones."""
    ours = table[table["supervision"] != "none"].groupby("score")["value"].median()
    lines = [["score", "ours: mAP, GIST", "published: CNNs that were pretrained on ImageNet"]]
    return markdown([*lines, *([SCORES[one], f"{ours[one]:.3f}", f"{value:.3f}"] for one, value in PUBLISHED.items())])


def markdown(lines: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables() -> dict[str, str]:
    """Return the tables of the page by the names of their markers."""
    table = scores()
    return {
        "main": main_table(table, 32),
        "itq": against(table, 32, "itq", ["cifar10_s1", "seen_at_seen", "unseen_at_unseen", "unseen_at_all"]),
        "itq-counts": counts(table, "itq"),
        "classifier": against(
            table,
            32,
            "classifier_probabilities",
            ["cifar10_s1", "seen_at_seen", "unseen_at_unseen", "long_tail", "worst"],
        ),
        "classifier-counts": counts(table, "classifier_probabilities"),
        "ranks": ranks(table),
        "medians": medians(table),
    }


def filled(page: str) -> str:
    """Return the page with the tables between their markers."""
    for name, table in tables().items():
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        page = re.sub(pattern, lambda match, table=table: f"{match[1]}\n{table}\n{match[2]}", page, flags=re.S)
    return page


if __name__ == "__main__":
    Path(PAGE).write_text(filled(PAGE.read_text()))
