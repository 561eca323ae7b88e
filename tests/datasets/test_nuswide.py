"""NUS-WIDE from small archives in the official layout of folders and text."""

import functools

import numpy as np
import pytest
from official_archives import REFUSED, refused, write_nuswide

from protocol import datasets, registry
from protocol.datasets.nuswide import CONCEPTS, LABELS, _labels, _lines, _most_frequent, load

N = 30
NAMES = [f"concept{number:02d}" for number in range(81)]
WORD_COUNTS = np.random.default_rng(0).integers(0, 300, (N, 5))
TAGS = np.random.default_rng(1).random((N, 12)) < 0.2


# Concepts 60 to 80 are frequent, image 0 shows the others too; images 28 and 29 show none that is frequent.
TRUTH = np.zeros((N, 81), dtype=bool)
TRUTH[0] = TRUTH[29, 3] = True
for column in range(60, 81):
    TRUTH[(column - 60) % 7 : 28 : 2, column] = True


@pytest.fixture
def written(tmp_path):
    return functools.partial(write_nuswide, tmp_path, TRUTH, WORD_COUNTS, TAGS)


def test_all_concepts_words_and_tags(written):
    data = load(written())
    np.testing.assert_array_equal(data.labels, TRUTH)
    assert data.class_names == tuple(NAMES)
    assert data.ids[:2].tolist() == ["class0/0000_7000000.jpg", "class1/0001_7000013.jpg"]
    np.testing.assert_array_equal(data.vectors["bow"], WORD_COUNTS)
    assert data.vectors["bow"].dtype == np.int16
    np.testing.assert_array_equal(data.vectors["tags"][:], TAGS)
    np.testing.assert_array_equal(data.vectors["tags"][7:19], TAGS[7:19])
    assert data.images is None


def test_the_most_frequent_concepts_and_no_image_without_one(written):
    """Ties are broken by the order of the list."""
    data = load(written(), concepts=21)
    counts = TRUTH.sum(axis=0)
    chosen = sorted(sorted(range(81), key=lambda column: (-counts[column], column))[:21])
    assert data.class_names == tuple(NAMES[column] for column in chosen)
    keep = np.flatnonzero(TRUTH[:, chosen].any(axis=1))
    assert 0 < len(keep) < 29
    np.testing.assert_array_equal(data.labels, TRUTH[np.ix_(keep, chosen)])
    np.testing.assert_array_equal(data.vectors["bow"], WORD_COUNTS[keep])
    np.testing.assert_array_equal(data.vectors["tags"][:], TAGS[keep])
    assert "n" not in datasets.statistics("nuswide", {"concepts": 10})


def test_other_numbers_of_concepts_are_refused():
    message = "concepts must be 81, or the 21 or 10 most frequent, got "
    refused(message, load, {file.name: "" for file in registry.DATASETS.entry("nuswide").files}, concepts="21")
    refused(message, datasets.statistics, "nuswide", {"concepts": 12})


@pytest.mark.parametrize(("changed", "message"), REFUSED["nuswide"])
def test_inconsistent_files_are_named(written, changed, message):
    """A file's text is given by its lines, each with how often it is repeated."""
    texts = {name: "".join(f"{line}\n" * n for line, n in lines.items()) for name, lines in changed.items() if lines}
    refused(message, load, written(**changed | texts))


def test_the_official_ground_truth_has_its_published_counts(shared):
    """Of the loader's archives, only these two are at hand, so its functions are called without the image list."""
    folder = shared / "data" / "nuswide_truth"
    (lines,) = _lines(folder / CONCEPTS, "Concepts81.txt").values()
    labels = _labels(folder / LABELS, [line.decode() for line in lines], 269_648)
    assert labels.shape == (269_648, 81)
    assert labels.sum() == 503_848
    assert (~labels.any(axis=1)).sum() == 60_301
    for concepts, n_items in {81: 269_648, 21: 195_834, 10: 186_577}.items():
        columns, keep = _most_frequent(labels, concepts)
        known = datasets.statistics("nuswide", {"concepts": concepts})
        assert (len(columns), len(keep)) == (known["classes"], known.get("n", n_items)) == (concepts, n_items)
    parts = _lines(folder / LABELS, *(f"TrainTestLabels/Labels_sky_{part}.txt" for part in ("Train", "Test")))
    assert sorted(len(of_part) for of_part in parts.values()) == [107_859, 161_789]
    n_sky = labels[:, lines.index(b"sky")].sum()
    assert sum(of_part.count(b"1") for of_part in parts.values()) == n_sky == 74_190
