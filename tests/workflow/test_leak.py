"""The leak study, run on the digits."""

import numpy as np
import pandas as pd
import pytest
import yaml
from project import Results

from protocol.provenance import storage


@pytest.fixture(scope="module")
def config(root):
    text = (root / "results" / "reference" / "leak" / "digits_leak.yaml").read_text()
    return yaml.safe_load(text) | {"runs": 2}


@pytest.fixture(scope="module")
def digits(tmp_path_factory, config):
    return Results(tmp_path_factory.mktemp("leak")).stages(config, "leak")


def test_every_combination_has_four_scores(digits, config):
    table = pd.read_csv(digits.folder / "results/digits_leak/leak.csv")
    assert len(table) == 2 * 2 * 2 * 2 * 2  # runs, hashers, lengths, sizes, ground truths
    gain = (table["a_on_a"] - table["a_on_b"] + table["b_on_b"] - table["b_on_a"]) / 2
    assert np.abs(table["leak"] - gain).max() < 1e-9
    assert table["leak"].std() > 0
    assert set(table["n_train"]) == {200, 796}  # 796: the 1,597 others, halved class by class
    assert table[["a_on_a", "a_on_b", "b_on_a", "b_on_b"]].nunique().min() > len(table) / 2


def test_a_score_equals_that_of_the_steps_without_the_pipeline(digits, config):
    """ITQ trained inside a at 20 a class and 16 bits, ranking b, in run 1."""
    from protocol import codes, registry
    from protocol.auditing.leak_study import halves
    from protocol.counting import count
    from protocol.features import Preprocessing
    from protocol.metrics import evaluate, mean
    from protocol.provenance import derive
    from protocol.truth.relevance import LabelRelevance

    folder = digits.folder / "results/digits_leak"
    y = storage.read(digits.data / "items.h5")["labels"]
    sizes = {name: size for name, size in config["leak"].items() if name != "controls"}
    a, b = halves(y, **sizes, seed=derive(0, "digits", "leak", 1)).values()
    raw = storage.read(digits.data / "gist/features.h5")["X"]
    fitted = Preprocessing.fit(registry.get("feature", "gist")(), raw[a["train"]], ["centre"], seed=0)
    seed = derive(0, "digits", "gist", "itq", 16, 1, "a", 20)
    model = registry.get("hasher", "itq")(n_bits=16, seed=seed).fit(fitted.transform(raw[a["inside/20"]]))
    query, database = (codes.pack(model.transform(fitted.transform(raw[rows]))) for rows in (a["query"], b["database"]))
    truth = LabelRelevance(y[a["query"]], y[b["database"]])
    expected = mean(evaluate(count(query, database, 16, {"y": truth})["y"], ["mAP"])["mAP"])
    table = pd.read_csv(folder / "leak.csv", dtype={"train_per_class": str})
    cell = {"run": 1, "hasher": "itq", "n_bits": 16, "train_per_class": "20", "ground_truth": "class_label"}
    (row,) = table[(table[list(cell)] == pd.Series(cell)).all(axis=1)].to_dict("records")
    assert row["a_on_b"] == pytest.approx(expected, abs=1e-9)


def test_another_run_repeats_no_earlier_one(digits, config):
    assert digits.planned(config, "leak") == {}
    assert digits.planned(config | {"runs": 3}, "leak") == {"leak": 1, "leak_run": 1}
