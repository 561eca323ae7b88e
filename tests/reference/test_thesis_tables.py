"""The stored precision-recall curves of the thesis's figure 3.8."""

import json

import numpy as np
import pandas as pd
import pytest
import thesis_tables as made
import yaml


@pytest.fixture(scope="module")
def curves():
    radii = pd.read_csv(made.FOLDER / "radii.csv")
    return radii.pivot_table("value", ["hasher", "radius"], "metric")


def test_every_hasher_of_the_experiment_has_its_curve(curves):
    config = yaml.safe_load((made.pages.ROOT / "workflow" / "config" / "cifar10_thesis.yaml").read_text())
    assert sorted(made.HASHERS) == sorted(config["hashers"]) == sorted(curves.index.unique("hasher"))
    assert set(json.loads((made.FOLDER / "provenance.json").read_text())) == set(made.HASHERS)
    summary = pd.read_csv(made.FOLDER / "summary.csv")
    assert set(summary["n_runs"]) == {config["runs"]}


@pytest.mark.parametrize("hasher", made.HASHERS)
def test_the_curves_agree_with_the_summary(curves, hasher):
    summary = pd.read_csv(made.FOLDER / "summary.csv").set_index(["hasher", "metric"])["mean"]
    own = curves.loc[hasher]
    for side in ("precision_micro", "recall_micro"):
        for radius in made.RADII:
            assert own.loc[radius, side] == pytest.approx(summary[hasher, f"{side}@r{radius}"], rel=1e-8)
    assert (np.diff(own["recall_micro"]) >= 0).all()
    assert own["recall_micro"].iloc[-1] == pytest.approx(1)
