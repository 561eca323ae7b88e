"""Wiki from small files, and the real one from the mirror."""

import numpy as np
import pytest
import scipy.io
from official_archives import REFUSED, refused

from protocol import datasets
from protocol.datasets.wiki import CATEGORIES, FEATURES, LISTS, load

RNG = np.random.default_rng(0)
N = {"train": 4, "test": 2}
SHAPES = {"I_tr": (4, 8), "I_te": (2, 8), "T_tr": (4, 3), "T_te": (2, 3)}
VARIABLES = {name: RNG.random(shape) for name, shape in SHAPES.items()}


def text(part):
    return "".join(f"{part}-text-{row}\t{part}-image-{row}\t{row * 3 + 1}\n" for row in range(N[part]))


@pytest.fixture
def written(tmp_path):
    def write(variables=VARIABLES, **texts):
        scipy.io.savemat(tmp_path / FEATURES, variables)
        for part, name in LISTS.items():
            (tmp_path / name).write_text(texts.get(part, text(part)))
        return {name: tmp_path / name for name in (FEATURES, *LISTS.values())}

    return write


def test_training_pairs_come_first_then_test_pairs(written):
    data = load(written())
    for name, parts in {"image": ("I_tr", "I_te"), "text": ("T_tr", "T_te")}.items():
        expected = np.vstack([VARIABLES[part] for part in parts]).astype(np.float32)
        np.testing.assert_array_equal(data.vectors[name], expected)
        assert data.vectors[name].dtype == np.float32
    assert data.labels.tolist() == [0, 3, 6, 9, 0, 3]
    assert data.class_names == CATEGORIES
    assert data.ids[[0, 4]].tolist() == ["train-text-0", "test-text-0"]
    assert data.partitions["train"].tolist() == [0, 1, 2, 3]
    assert data.partitions["test"].tolist() == [4, 5]


@pytest.mark.parametrize(("test", "message"), REFUSED["wiki"])
def test_a_wrong_list_is_named_by_line(written, test, message):
    refused(message, load, written(test=test))


def test_the_real_files(shared):
    paths = {name: shared / "data" / "wiki" / name for name in (FEATURES, *LISTS.values())}
    data = datasets.load("wiki", paths, {})
    assert dict(zip(CATEGORIES, np.bincount(data.labels).tolist(), strict=True))["warfare"] == 347 + 104
    for vectors in data.vectors.values():  # histograms: shares that add up to 1
        assert vectors.min() >= 0
        np.testing.assert_allclose(vectors.sum(axis=1), 1, atol=1e-5)
    raw = scipy.io.loadmat(paths[FEATURES])
    np.testing.assert_array_equal(data.vectors["text"][2173:], raw["T_te"].astype(np.float32))
