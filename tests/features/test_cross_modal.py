import numpy as np

from protocol.features import Preprocessing, prepared
from protocol.features.cross_modal import ImageToText
from protocol.features.vectors import Vectors
from protocol.provenance import storage

RNG = np.random.default_rng(0)
VECTORS = {"image": RNG.integers(0, 99, (50, 12)).astype(np.int16), "text": RNG.random((50, 4)).astype(np.float32)}
TRAIN, QUERY, DATABASE = np.arange(30), np.array([33, 35]), np.arange(36, 50)
STEPS = {"": ["l2", "centre"], "database/": ["centre"]}


def written(folder, feature):
    """Write the files of a run as the pipeline does: extracted descriptors and fitted preprocessing."""
    arrays, learned = {}, {}
    for place, modality in feature.modalities.items():
        raw = VECTORS[modality.name]
        arrays |= {f"{place}X": raw, f"{place}image": np.arange(50)}
        fitted = Preprocessing.fit(modality, raw[TRAIN], STEPS[place], seed=0)
        learned |= {f"{place}{name}": array for name, array in fitted.to_arrays().items()}
    for name, content in (("features", arrays), ("preprocessing", learned)):
        storage.write(folder / f"{name}.h5", content, storage.provenance("test", parameters={}, inputs={}))
    return folder / "features.h5", folder / "preprocessing.h5"


def expected(name, rows, steps):
    X = VECTORS[name].astype(float)
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if "l2" in steps else X
    return (X - X[TRAIN].mean(axis=0))[rows]


def test_queries_are_of_one_modality_and_the_database_of_the_other(tmp_path):
    feature = ImageToText()
    with prepared(feature, STEPS, *written(tmp_path, feature)) as items:
        for part, rows in (("train", TRAIN), ("query", QUERY), ("validation_query", QUERY)):
            reference = expected("image", rows, STEPS[""])
            np.testing.assert_allclose(items.vectors(part, rows), reference, atol=1e-5)
        for part in ("database", "validation_database"):
            reference = expected("text", DATABASE, STEPS["database/"])
            np.testing.assert_allclose(items.vectors(part, DATABASE), reference, atol=1e-5)
            np.testing.assert_array_equal(
                np.concatenate(list(items.blocks(part, DATABASE))), items.vectors(part, DATABASE)
            )
        np.testing.assert_allclose(items.pairs(TRAIN), expected("text", TRAIN, STEPS["database/"]), atol=1e-5)
        np.testing.assert_array_equal(items.raw(TRAIN), np.hstack([VECTORS["image"][TRAIN], VECTORS["text"][TRAIN]]))
        np.testing.assert_array_equal(items.per_item(QUERY, np.arange(50) * 2), QUERY * 2)


def test_one_modality_is_that_of_all_partitions_and_has_no_pairs(tmp_path):
    feature = Vectors(name="image")
    with prepared(feature, STEPS, *written(tmp_path, feature)) as items:
        for part in ("train", "query", "database", "validation_database"):
            np.testing.assert_allclose(items.vectors(part, QUERY), expected("image", QUERY, STEPS[""]), atol=1e-5)
        assert items.pairs(TRAIN) is None
        np.testing.assert_array_equal(items.raw(TRAIN), VECTORS["image"][TRAIN])
