"""Datasets of two modalities, end to end: NUS-WIDE from made files in the official format, Wiki from the mirror."""

import numpy as np
import pandas as pd
import pytest
import yaml
from official_archives import write_nuswide
from project import Results

from protocol import codes, registry
from protocol.features import Preprocessing
from protocol.hashers import TrainingSet
from protocol.provenance import derive, storage

N, N_WORDS, N_TAGS = 500, 500, 5_018
DIRECTIONS = ["image_to_text", "text_to_image"]


def made_nuswide(folder):
    """Write 500 images of 81 concepts, whose words and tags correlate with the ten most frequent of them."""
    rng = np.random.default_rng(0)
    concept = rng.integers(0, 12, N)
    labels = concept[:, None] == np.arange(81)
    labels[:60, 20] = True  # one of eleven that are as frequent
    words = rng.poisson(1 + 9 * (rng.random((12, N_WORDS)) < 0.1)[concept])
    chance = (rng.random((12, N_TAGS)) < 0.002)[concept] * 0.7 + 0.0005
    tags = rng.random((N, N_TAGS)) < chance
    (folder / "nuswide").mkdir(parents=True)
    write_nuswide(folder / "nuswide", labels, words, tags)
    return labels, words, tags


@pytest.fixture(scope="module")
def nuswide(tmp_path_factory, root):
    project = Results(tmp_path_factory.mktemp("nuswide"))
    truth = made_nuswide(project.folder / "mirror")
    config = yaml.safe_load((root / "workflow" / "config" / "nuswide_cross.yaml").read_text())
    config["features"]["image_to_text"]["options"]["database_n_components"] = 40
    config["features"]["text_to_image"]["options"]["n_components"] = 40
    sizes = {"query": 40, "validation_query": 20, "validation_database": 40, "train": 200}
    options = {"cca_itq": {"n_anchors": 100}}
    grids = {"cvh": {"n_anchors": [40, 100]}}
    small = {"splits": ["improved"], "runs": 1, "n_bits": [16], "split_sizes": sizes, "mirror": "mirror"}
    project.stages(config | small | {"hasher_options": options, "hasher_grids": grids}, "all")
    return project, config | small, truth


def results(project):
    return project.folder / "results" / "nuswide_cross"


def extracted(project, direction):
    """Return the file of features for the options of a direction, a digest of which is in the name of its folder."""
    (path,) = project.data.glob(f"{direction}-*/features.h5")
    return path


def read_split(project):
    return storage.read(results(project) / "splits" / "improved" / "run0" / "splits.h5")


def test_both_modalities_have_their_steps_fitted_on_the_training_pairs(nuswide):
    project, config, (labels, words, tags) = nuswide
    chosen = np.sort(np.argsort(-labels.sum(axis=0), kind="stable")[:10])
    keep = np.flatnonzero(labels[:, chosen].any(axis=1))
    items = storage.read(project.data / "items.h5")
    np.testing.assert_array_equal(items["labels"], labels[np.ix_(keep, chosen)])
    parts, raw = read_split(project), {"bow": words, "tags": tags}
    for direction in DIRECTIONS:
        cell = results(project) / direction / "random" / "run0"
        learned, own = storage.read(cell / "preprocessing.h5"), config["features"][direction]
        feature, prepared = registry.get("feature", direction)(**own["options"]), []
        for place, side in (("", "query"), ("database/", "database")):
            modality = feature.modalities[place]
            X = raw[modality.name][keep].astype(np.int16 if modality.name == "bow" else np.uint8)
            stored = storage.read(extracted(project, direction), [f"{place}X"])
            np.testing.assert_array_equal(stored[f"{place}X"], X)
            fitted = Preprocessing.fit(modality, X[parts["train"]], own["preprocessing"][side], seed=0)
            for name, array in fitted.to_arrays().items():
                np.testing.assert_array_equal(learned[place + name], array)
            prepared.append(fitted.transform(X))
        seed = derive(0, "nuswide", direction, "cca_itq", 16, 0)
        model = registry.get("hasher", "cca_itq")(16, seed=seed, n_anchors=100)
        model.fit(TrainingSet(prepared[0][parts["train"]], prepared[1][parts["train"]]))
        packed = codes.of_split(storage.read(cell / "cca_itq" / "codes.h5"), parts)
        for part, made in (
            ("query", model.transform(prepared[0][parts["query"]])),
            ("database", model.transform_database(prepared[1][parts["database"]])),
        ):
            np.testing.assert_array_equal(np.unpackbits(packed[16][part], axis=1, bitorder="little"), made)


def test_both_directions_are_in_the_tables_and_the_report_and_beat_chance(nuswide):
    folder = results(nuswide[0])
    table = pd.read_csv(folder / "metrics.csv")
    plain = table[(table["metric"] == "mAP") & (table["extension"] == "none")]
    scores = plain.set_index(["feature", "hasher"])["value"]
    assert sorted(scores.index) == [(direction, hasher) for direction in DIRECTIONS for hasher in ("cca_itq", "cvh")]
    assert (scores > 0.25).all()  # the share of relevant items is about 0.12
    page, selection = (folder / "report.html").read_text(), pd.read_csv(folder / "selection.csv")
    assert all(f">{direction.replace('_', ' ').capitalize()}</th>" in page for direction in DIRECTIONS)
    assert set(selection["feature"]) == set(DIRECTIONS)


def test_the_audit_follows_both_modalities_and_finds_no_leak(nuswide):
    project, *_ = nuswide
    findings = pd.read_csv(results(project) / "audit.csv")
    assert not set(findings["finding"]) & {"preprocessing-leak", "selection-leak"}
    for direction in DIRECTIONS:
        provenance = storage.read_provenance(results(project) / direction / "random" / "run0" / "preprocessing.h5")
        train = read_split(project)["train"]
        both = storage.read(extracted(project, direction), ["X", "database/X"]).values()
        assert provenance["fitted_on"] == storage.array_digest(np.hstack([X[train] for X in both]))


@pytest.fixture(scope="module")
def wiki(tmp_path_factory, root, shared):
    project = Results(tmp_path_factory.mktemp("wiki"))
    full = yaml.safe_load((root / "workflow" / "config" / "wiki_cross.yaml").read_text())
    part = {"runs": 1, "splits": ["improved", "wiki_official"], "n_bits": [16], "mirror": str(shared / "data")}
    project.stages(full | part, "metrics")
    return project.folder / "results" / "wiki_cross"


def test_wiki_in_the_pipeline_is_wiki_in_the_committed_table(wiki, root):
    committed = pd.read_csv(root / "results" / "reference" / "cross_modal" / "wiki.csv")
    committed = committed.set_index(["split", "direction", "ranking", "n_bits"])
    table = pd.read_csv(wiki / "metrics.csv")
    plain = table[(table["metric"] == "mAP") & (table["extension"] == "none")]
    assert len(plain) == 2 * 2 * 2
    for row in plain.itertuples():
        cell = committed.loc[(row.split, row.feature, row.hasher, 16)]
        assert cell["min"] - 1e-3 <= row.value <= cell["max"] + 1e-3
        assert row.value > committed.loc[(row.split, row.feature, "random codes", 16), "max"]
