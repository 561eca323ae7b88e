"""The pipeline and Python train the same model: the codes of the job `model` are those of `fit` and `transform`."""

import importlib.util
import inspect
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from protocol import codes, configuration, registry
from protocol.features import prepared
from protocol.hashers import Hasher
from protocol.provenance import storage

N_BITS, N, N_TRAIN = 8, 240, 160
BRIEF = {"n_steps": 5, "epochs": 3, "batch_size": 64, "n_anchors": 100}
CONFIG = {
    "experiment": "made",
    "dataset": "wiki",
    "ground_truths": ["class_label"],
    "splits": ["wiki_official"],
    "n_bits": [N_BITS],
    "runs": 1,
    "metrics": ["mAP"],
}
ONE, TWO = {"precomputed": {"options": {"name": "image"}}}, {"image_to_text": {}}


class Files(dict):
    """A job's files: by key, by name, and in order."""

    __getattr__ = dict.__getitem__

    def __iter__(self):
        return iter(self.values())


@pytest.fixture(scope="module")
def made(root, tmp_path_factory):
    """Return the folder of a made-up dataset with a draw, and a function that runs a script of the workflow."""
    folder, rng = tmp_path_factory.mktemp("models"), np.random.default_rng(0)
    y = rng.integers(0, 6, N)
    vectors = {
        name: (3 * rng.normal(size=(6, d))[y] + rng.normal(size=(N, d))).astype(np.float32)
        for name, d in (("image", 128), ("text", 10))
    }
    order = rng.permutation(N)
    contents = {
        "content": {f"vectors/{name}": array for name, array in vectors.items()},
        "items": {"labels": y},
        "draw": {"train": np.sort(order[:N_TRAIN]), "query": np.sort(order[N_TRAIN:])},
    }
    for name, arrays in contents.items():
        provenance = storage.provenance(name, parameters={}, inputs={}, notes=[])
        storage.write(folder / f"{name}.h5", arrays, provenance)

    def run(name, output, params, **files):
        spec = importlib.util.spec_from_file_location(name, root / "workflow" / "scripts" / f"{name}.py")
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        wildcards = SimpleNamespace(supervision="made")
        script.main(
            SimpleNamespace(
                input=Files(files), output=Files(output), params=SimpleNamespace(**params), wildcards=wildcards
            )
        )

    return folder, run


def trained_by_the_pipeline(made, name, hasher, **changes):
    """Return the packed codes of all items, the training rows with their preprocessing, their labels, and the seed."""
    folder, run = made
    crossed = hasher.supervision == "pairs"
    brief = {option: BRIEF[option] for option in BRIEF.keys() & inspect.signature(hasher).parameters}
    config = CONFIG | {"features": TWO if crossed else ONE, "hashers": [name], "hasher_options": {name: brief}}
    experiment = configuration.load(config | changes)
    (feature,), use = experiment.features.values(), experiment.hashers[name]
    place = folder / f"{feature.name} {name} {len(changes)}"
    place.mkdir()
    of_feature = {"feature": feature.plugin, "options": feature.options, "steps": feature.steps, "seed": 0}
    files = {"features": place / "features.h5", "draw": folder / "draw.h5", "labels": folder / "items.h5"}
    output, content = {"features": files["features"]}, folder / "content.h5"
    run("feature", output, of_feature | {"by_reference": False}, content=content, parts=[])
    run("preprocessing", {"preprocessing": place / "preprocessing.h5"}, of_feature, **files)
    files["preprocessing"] = place / "preprocessing.h5"
    truth = experiment.supervising().get(hasher.supervision)
    if truth is not None:
        supervising = experiment.ground_truths[truth]
        params = of_feature | {"ground_truth": supervising.plugin, "ground_truth_options": supervising.options}
        run("supervision", {"supervision": place / "y.h5"}, params, **files)
        files["supervision"] = place / "y.h5"
    params = of_feature | {"hasher": name, "hasher_options": use.options, "seeds": {N_BITS: 3}, "code": ""}
    del files["labels"]
    run("model", {"models": place / "models.h5", "codes": place / "codes.h5"}, params, **files)
    rows, extractor = storage.read(files["draw"]), registry.get("feature", feature.plugin)(**feature.options)
    with prepared(extractor, feature.steps, files["features"], files["preprocessing"]) as items:
        y = storage.read(folder / "items.h5")["labels"][rows["train"]]
        y = items.pairs(rows["train"]) if crossed else y
        X, queries = (items.vectors(part, rows[part]) for part in ("train", "query"))
    model = hasher(n_bits=N_BITS, seed=3, **use.options)
    return storage.read(place / "codes.h5")[f"{N_BITS}/query"], X, y, queries, model


def in_this_environment(name):
    return registry.entry("hasher", name).extra is None or find_spec("torch") is not None


@pytest.mark.parametrize("name", list(filter(in_this_environment, registry.names("hasher"))))
def test_the_pipeline_and_python_train_the_same_model(made, name):
    found, X, y, queries, model = trained_by_the_pipeline(made, name, registry.get("hasher", name))
    np.testing.assert_array_equal(found, codes.pack(model.fit(X, y).transform(queries)))


def test_distances_that_are_asked_for_train_another_model(made):
    hasher = registry.get("hasher", "ksh")
    found, X, y, queries, model = trained_by_the_pipeline(made, "ksh", hasher, affinities="graded_distance")
    assert isinstance(model, Hasher)
    assert (found != codes.pack(model.fit(X, y).transform(queries))).any()
