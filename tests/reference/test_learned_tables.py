"""The stored tables and the page of the learned objectives agree with each other."""

import re
import shutil

import learned_tables as tables
import pandas as pd
import pytest


@pytest.mark.parametrize("name", ["metrics", "summary", "lookups", "first_hits", "training", "without_empty_balls"])
def test_rows_that_are_stored_again_replace_only_those_of_their_part(tmp_path, monkeypatch, name):
    shutil.copytree(tables.FOLDER, tmp_path / "learned")
    monkeypatch.setattr(tables, "FOLDER", tmp_path / "learned")
    monkeypatch.setattr(tables.pages, "REFERENCE", tmp_path)
    before = (tables.FOLDER / f"{name}.csv").read_text()
    (stored,) = tables.read_text(name)
    own = (stored["feature"] == "pixels") & ~stored["hasher"].isin(tables.FOLLOWED)
    own &= (
        stored["split"] == "cifar10_s1" if "split" in stored else stored.get("experiment") == "cifar10_learned_images"
    )
    tables.store(name, "cifar10_learned_images", stored[own].iloc[::-1])
    tables.store(name, "cifar10_learned_images", stored[own])
    for table, rows in tables.followed_rows().items():
        tables.store(table, "curves", rows)
    assert (tables.FOLDER / f"{name}.csv").read_text() == before


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
    words = [" ".join(form.search(line).groups()) for line in tables.moving(curves).splitlines()]
    assert words[:4] == [
        "as in the paper the gap widened.",
        "as in the paper the ordering changed.",
        "as in the paper the gap widened.",
        "against the paper the ordering changed.",
    ]


def test_an_ordering_is_counted_run_by_run():
    scores = pd.DataFrame([[4, 3, 2, 1], [4, 3, 3, 1], [1, 2, 3, 4]], columns=list(tables.M))
    assert (tables._ordered(scores, -1), tables._ordered(scores, 1)) == (1, 1)
