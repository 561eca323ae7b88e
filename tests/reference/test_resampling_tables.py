"""The false alarms of tests over runs: the stored table and its page, and a few datasets of the simulation again."""

import numpy as np
import pages
import resampling_tables as tables


def test_the_statements_of_the_page_hold():
    stored = pages.read("resampling", "resampling")[0]
    names = ["hasher", "items", "queries", "training set", "database", "runs"]
    designs = [(*one[:4], one.n_database, one.n_runs) for one in tables.DESIGNS]
    assert list(stored[names].itertuples(index=False, name=None)) == designs
    leak = stored["hasher"] == "leak"
    most = stored["training set"] >= 0.9 * stored["database"]
    assert (stored["student"][~leak] > 1.9 * tables.LEVEL).all()
    assert (stored["corrected"][~most] < 1.5 * tables.LEVEL).all()
    assert (stored["corrected"][most] < 3 * tables.LEVEL).all()
    assert (stored["student"][leak] < 1.5 * tables.LEVEL).all()


def test_a_few_datasets_give_false_alarms_without_the_correction():
    found = tables.alarms(tables.Design("sign", 300, 50, 100), 60)
    assert found["student"] > 0.25
    assert found["corrected"] < 0.15


def test_the_methods_are_equally_good_on_average():
    design = tables.Design("sign", 200, 20, 50, n_runs=2)
    means = np.array([tables.differences(design, seed).mean() for seed in range(60)])
    assert abs(means.mean()) < 3 * means.std() / 60**0.5
