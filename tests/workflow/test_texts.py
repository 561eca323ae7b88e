"""The commands of docs/how-to/hash-texts.md on small made texts."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from project import ROOT, Results

from protocol.features import Preprocessing, extracted
from protocol.features.lsa import Lsa
from protocol.provenance import storage

pytestmark = pytest.mark.ci
PAGE = (ROOT / "docs" / "how-to" / "hash-texts.md").read_text()
FOLDER, TABLE, _ = (shlex.split(command) for command in re.findall(r"^```sh\n(snakemake.+?)\n```$", PAGE, re.M))
SMALL = {"runs": 2, "hashers": ["itq", "lsh"], "n_bits": [16], "metrics": ["P@100", "mAP"]}


def made_texts():
    """Return 150 texts of each of three topics: the words of a topic are four times as frequent in its texts."""
    rng, words = np.random.default_rng(0), np.array([f"word{number}" for number in range(800)])
    for topic, name in enumerate(("art", "music", "sport")):
        weights = np.where(np.arange(800) // 60 == topic, 4.0, 1.0)
        for number in range(150):
            yield name, f"{number}.txt", " ".join(rng.choice(words, 60, p=weights / weights.sum()))


def configured(command):
    """Return the configuration of a command of the page, but smaller."""
    _, _, file, _, change = command
    key, _, value = change.partition("=")
    return yaml.safe_load((ROOT / file).read_text()) | {key: yaml.safe_load(value)} | SMALL


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    project = Results(tmp_path_factory.mktemp("texts"))
    for name, file, text in made_texts():
        path = project.folder / "my" / "texts" / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.folder)
        project.stages(configured(FOLDER), "all")
        yield project


def test_topics_are_found_in_a_folder_of_texts(results):
    summary = pd.read_csv("results/texts/summary.csv").query("metric == 'mAP'")
    found = summary.groupby(["feature", "hasher"])["mean"].mean()
    assert (found.loc[:, "itq"] > 0.6).all()  # by chance 0.33
    assert results.planned(configured(FOLDER), "all") == {}
    assert not Path("results/texts/audit.csv").read_text().count("leak")


def test_topics_are_learned_from_the_training_set_only(results):
    (features,) = results.data.glob("lsa-*/features.h5")
    feature = Lsa(**yaml.safe_load((ROOT / FOLDER[2]).read_text())["features"]["lsa"]["options"])
    models = []
    for run in range(2):
        train = storage.read(f"results/texts/samples/thesis/run{run}.h5", ["train"])["train"]
        stored = storage.read(f"results/texts/lsa/thesis/run{run}/preprocessing.h5")
        with extracted(features) as items:
            fitted = Preprocessing.fit(feature, items.raw(train)[:], ("l2", "centre"), seed=0).to_arrays()
            models.append(stored["model/terms"].tolist())
            assert models[-1] == fitted["model/terms"].tolist()
            np.testing.assert_allclose(
                np.abs(stored["model/components"]), np.abs(fitted["model/components"]), atol=1e-8
            )
            assert len(items.raw(train)) == 150
    assert models[0] != models[1]


def test_a_table_gives_the_same_data(results):
    with open("my/texts.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("label", "text"))
        table.writerows((name, text) for name, file_name, text in sorted(made_texts()))
    before = results.data
    (content, items), config = (storage.read(before / name) for name in ("content.h5", "items.h5")), configured(TABLE)
    results.stages(config | {"results": "other"} if "results" in config else config, "dataset")
    (other,) = [path for path in (results.folder / "results" / "datasets").iterdir() if path != before]
    assert storage.read(other / "content.h5")["texts"].tolist() == content["texts"].tolist()
    np.testing.assert_array_equal(storage.read(other / "items.h5")["labels"], items["labels"])


def test_without_a_network_the_archive_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = yaml.safe_load((ROOT / "workflow" / "config" / "newsgroups20.yaml").read_text()) | {"offline": True}
    with pytest.raises(
        Exception, match=r"offline: files of dataset 'newsgroups20' are missing: 20news-bydate\.tar\.gz: "
    ):
        Results(tmp_path).stages(config, "downloads")
