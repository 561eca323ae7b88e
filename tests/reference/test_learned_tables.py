"""The stored tables and the page of the learned objectives agree with each other."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("altair", reason="altair is not installed")
sys.path.insert(0, str(Path(__file__).parent))  # mlgap_curves, which the script imports
SPEC = importlib.util.spec_from_file_location("learned_tables", Path(__file__).with_name("learned_tables.py"))
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)
CELL = ["dataset", "feature", "ground_truth", "split", "hasher", "n_bits", "extension", "extension_bits", "metric"]


@pytest.fixture(scope="module")
def stored():
    return [pd.read_csv(tables.FOLDER / f"{name}.csv") for name in ("metrics", "summary")]


def test_the_summary_is_that_of_the_runs(stored):
    metrics, summary = (table.set_index(CELL).sort_index() for table in stored)
    assert list(stored[0]) == [*CELL[:4], "run", *CELL[4:], "value"]
    grouped = metrics.groupby(level=CELL)["value"]
    np.testing.assert_allclose(summary["mean"], grouped.mean(), rtol=1e-8)
    np.testing.assert_allclose(summary["std"], grouped.std(), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(summary["n_runs"], grouped.count())


def test_the_orderings_on_the_page_are_those_of_the_runs(stored):
    page = (tables.FOLDER / "README.md").read_text()
    for feature in tables.SQUARED:
        verdicts = tables._verdicts(tables._by_run(stored[0], feature))
        assert verdicts
        assert verdicts in page
    for part in tables._mlgap(stored[1]):
        assert part in page


def test_the_stored_times_are_those_of_the_page():
    page = (tables.FOLDER / "README.md").read_text()
    times = pd.read_csv(tables.FOLDER / "lookups.csv", dtype=str)
    assert len(times) == len(tables.SQUARED) * 2 * len(tables.M) * (tables.TIMED + 1)
    for (feature, n_bits, hasher), own in times.groupby(["feature", "n_bits", "hasher"]):
        section = tables._sections(page)[f"RAMAP, section 5.2: {feature}"].split(f"{n_bits} bits:\n")[1]
        line = next(line for line in section.splitlines() if line.startswith(f"| {hasher} |"))
        assert line.strip("| ").split(" | ")[3:] == own["milliseconds"].tolist()


def test_times_of_one_part_replace_only_those(tmp_path, monkeypatch):
    stored = pd.read_csv(tables.FOLDER / "lookups.csv", dtype=str)
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    stored.to_csv(tmp_path / "lookups.csv", index=False)
    tables._store_times("pixels", 64, [[name, 1, "65", "1", "2", "3", "4"] for name in tables.M])
    found = pd.read_csv(tmp_path / "lookups.csv", dtype=str)
    changed = (found["feature"] == "pixels") & (found["n_bits"] == "64")
    assert found[changed]["milliseconds"].tolist() == ["1", "2", "3", "4"] * len(tables.M)
    assert found[~changed].equals(stored[~changed])


def test_the_last_epoch_of_the_curves_is_in_the_tables_and_on_the_page(stored):
    """The tables contain it when the training is complete; the page always gives the last epoch so far."""
    curves = pd.read_csv(tables.FOLDER / "curves.csv")
    page = (tables.FOLDER / "README.md").read_text()
    for part in tables._curves(curves):
        assert part in page
    complete = curves["epoch"].max() == tables.mlgap_curves.EPOCHS
    assert ("The training is not complete" in page) == (not complete)
    for table, name in zip(stored, ("metrics.csv", "summary.csv"), strict=True):
        rows = table[table["hasher"].isin(list(tables.FOLLOWED))]
        n_values = len(tables.FOLLOWED) * len(tables.mlgap_curves.METRICS)
        assert len(rows) == complete * n_values * (curves["run"].nunique() if name == "metrics.csv" else 1)
        assert "".join(tables._followed_rows(name)) in (tables.FOLDER / name).read_text()


def test_runs_are_compared_up_to_the_last_epoch_that_all_networks_reached():
    networks, epochs = list(tables.mlgap_curves.NETWORKS), tables.mlgap_curves.EPOCHS

    def rows(run, *last):
        """Return a row for each fifth epoch of each network of a run."""
        reached = zip(networks, last, strict=True)
        lines = [[name, str(run), str(epoch)] for name, n in reached for epoch in range(5, n + 1, 5)]
        return pd.DataFrame(lines, columns=["network", "run", "epoch"])

    def found(*parts):
        table = tables._comparable(pd.concat(parts))
        return [(row.run, row.epoch) for row in table.itertuples() if row.network == networks[2]]

    assert found(rows(0, 15, 10, 20)) == [("0", "5"), ("0", "10")]
    assert found(rows(0, *[epochs] * 3), rows(1, 15, 10, 20), rows(2, 5, 5, 0)) == [
        ("0", str(epoch)) for epoch in range(5, epochs + 1, 5)
    ]
    assert {run for run, _ in found(rows(1, *[epochs] * 3), rows(0, *[epochs] * 3))} == {"0", "1"}


def test_a_gap_is_judged_by_its_sign_and_by_how_it_moved():
    epochs = tables.mlgap_curves.EPOCHS
    names = ["mAP", "mLGAP@r0", "mLGAP@r1", "mLGAP@r2"]
    at = {"deep_supervised": ([0.5] * 4, [0.5] * 4), "buffer_zone": ([0.4, 0.4, 0.6, 0.6], [0.3, 0.6, 0.7, 0.4])}
    at["buffer_zone_half"] = at["buffer_zone"]
    curves = pd.DataFrame(
        {"network": network, "run": 0, "epoch": epoch} | dict(zip(names, values, strict=True))
        for network, pair in at.items()
        for epoch, values in zip((epochs - epochs // 3, epochs), pair, strict=True)
    )
    form = re.compile("((?:as in|against) the paper).*, so (.*)$")
    words = [" ".join(form.search(line).groups()) for line in tables._moving(curves).splitlines()]
    assert words[:4] == [
        "as in the paper the gap widened.",
        "as in the paper the ordering changed.",
        "as in the paper the gap widened.",
        "against the paper the ordering changed.",
    ]


def test_an_ordering_is_counted_run_by_run():
    scores = pd.DataFrame([[4, 3, 2, 1], [4, 3, 3, 1], [1, 2, 3, 4]], columns=list(tables.M))
    assert (tables._ordered(scores, -1), tables._ordered(scores, 1)) == (1, 1)
