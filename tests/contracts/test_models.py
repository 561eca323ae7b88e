"""The pipeline and Python train the same model: the codes of the job `model` are those of `fit` and `transform`."""

import importlib.util
import inspect
from types import SimpleNamespace

import numpy as np
import pytest

from protocol import codes, configuration, registry
from protocol.features import prepared
from protocol.provenance import storage

N_BITS, N, N_TRAIN = 8, 240, 160
BRIEF = {"n_steps": 5, "epochs": 3, "batch_size": 64, "n_anchors": 100}
CONFIG = {
    "experiment": "example",
    "dataset": "wiki",
    "ground_truths": ["class_label"],
    "splits": ["wiki_official"],
    "n_bits": [N_BITS],
    "runs": 1,
    "metrics": ["mAP"],
}


class Files(dict):
    """A job's files: by key, by name, and in order."""

    __getattr__ = dict.__getitem__

    def __iter__(self):
        return iter(self.values())


def trained_by_the_pipeline(root, folder, name, **changes):
    """Return the packed codes of the queries, and the model from Python with its training rows, labels and queries."""
    hasher, rng = registry.get("hasher", name), np.random.default_rng(0)
    y, order = rng.integers(0, 6, N), rng.permutation(N)
    content = {
        f"vectors/{modality}": (3 * rng.normal(size=(6, d))[y] + rng.normal(size=(N, d))).astype(np.float32)
        for modality, d in (("image", 128), ("text", 10))
    }
    rows = {"train": np.sort(order[:N_TRAIN]), "query": np.sort(order[N_TRAIN:])}
    for file, arrays in {"content": content, "items": {"labels": y}, "draw": rows}.items():
        storage.write(folder / f"{file}.h5", arrays, storage.provenance(file, parameters={}, inputs={}, notes=[]))

    def run(script, params, output, **files):
        spec = importlib.util.spec_from_file_location(script, root / "workflow" / "scripts" / f"{script}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        paths = {key: [] if value == [] else folder / f"{value}.h5" for key, value in files.items()}
        outputs = Files({key: folder / f"{key}.h5" for key in output})
        wildcards = SimpleNamespace(supervision="example")
        module.main(
            SimpleNamespace(input=Files(paths), output=outputs, params=SimpleNamespace(**params), wildcards=wildcards)
        )

    crossed = hasher.supervision == "pairs"
    brief = {option: BRIEF[option] for option in BRIEF.keys() & inspect.signature(hasher).parameters}
    feature = {"image_to_text": {}} if crossed else {"precomputed": {"options": {"name": "image"}}}
    config = CONFIG | {"features": feature, "hashers": [name], "hasher_options": {name: brief}}
    experiment = configuration.load(config | changes)
    (feature,), use = experiment.features.values(), experiment.hashers[name]
    of_feature = {"feature": feature.plugin, "options": feature.options, "steps": feature.steps, "seed": 0}
    run("feature", of_feature | {"by_reference": False}, ["features"], content="content", parts=[])
    files = {"features": "features", "draw": "draw"}
    run("preprocessing", of_feature, ["preprocessing"], **files, labels="items")
    files["preprocessing"] = "preprocessing"
    truth = experiment.supervising().get(hasher.supervision)
    if truth is not None:
        supervising = experiment.ground_truths[truth]
        params = of_feature | {"ground_truth": supervising.plugin, "ground_truth_options": supervising.options}
        run("supervision", params, ["supervision"], **files, labels="items")
        files["supervision"] = "supervision"
    params = of_feature | {"hasher": name, "hasher_options": use.options, "seeds": {N_BITS: 3}, "code": ""}
    run("model", params, ["models", "codes"], **files)
    extractor = registry.get("feature", feature.plugin)(**feature.options)
    with prepared(extractor, feature.steps, folder / "features.h5", folder / "preprocessing.h5") as items:
        X, queries = (items.vectors(part, rows[part]) for part in ("train", "query"))
        labels = items.pairs(rows["train"]) if crossed else y[rows["train"]]
    model = hasher(n_bits=N_BITS, seed=3, **use.options).fit(X, labels)
    return storage.read(folder / "codes.h5")[f"{N_BITS}/query"], codes.pack(model.transform(queries))


@pytest.mark.parametrize("name", ["itq", "sdh", "ksh", "cvh", "dpsh"])
def test_the_pipeline_and_python_train_the_same_model(root, tmp_path, name):
    if registry.entry("hasher", name).extra:
        pytest.importorskip("torch", reason="torch is not installed")
    by_the_pipeline, by_python = trained_by_the_pipeline(root, tmp_path, name)
    np.testing.assert_array_equal(by_the_pipeline, by_python)


def test_distances_that_are_asked_for_train_another_model(root, tmp_path):
    by_distances, by_labels = trained_by_the_pipeline(root, tmp_path, "ksh", affinities="graded_distance")
    assert (by_distances != by_labels).any()
