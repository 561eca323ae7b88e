"""NUS-WIDE from small archives in the official layout of folders and text."""

import zipfile

import numpy as np
import pytest
from official_archives import refused

from protocol import datasets
from protocol.datasets.nuswide import CONCEPTS, IMAGES, LABELS, TAGS, WORDS, _labels, _lines, _most_frequent, load

N = 30
NAMES = [f"concept{number:02d}" for number in range(81)]
TAG_LIST = [f"tag{number}" for number in range(12)]
PHOTOS = [f"{7_000_000 + 13 * row}" for row in range(N)]
WORD_COUNTS = np.random.default_rng(0).integers(0, 300, (N, 5))


def truth():
    """Concepts 60 to 80 are frequent, image 0 shows the others too; images 28 and 29 show none that is frequent."""
    labels = np.zeros((N, 81), dtype=bool)
    labels[0] = True
    for column in range(60, 81):
        labels[(column - 60) % 7 : 28 : 2, column] = True
    labels[29, 3] = True
    return labels


def tags_of(row):
    return [TAG_LIST[row % 12], TAG_LIST[(row * 5) % 12], "notinthelist"]


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


@pytest.fixture
def written(tmp_path):
    def write(**changed):
        images = [f"class{row % 3}\\{row:04d}_{photo}.jpg" for row, photo in enumerate(PHOTOS)]
        texts = {
            "images": "\r\n".join(images) + "\r\n",
            "concepts": "\n".join(NAMES) + "\n",
            "tag_list": "\n".join(TAG_LIST),
            "tags": "".join(f"{photo}      {' '.join(tags_of(row))} \n" for row, photo in enumerate(PHOTOS)),
            "words": "".join(" ".join(map(str, row)) + " \n" for row in WORD_COUNTS.tolist()),
            "labels": {name: "".join(f"{int(value)}\n" for value in truth()[:, i]) for i, name in enumerate(NAMES)},
        } | changed
        zipped(tmp_path / IMAGES, {"ImageList/Imagelist.txt": texts["images"], "ImageList/TestImagelist.txt": "x"})
        zipped(tmp_path / CONCEPTS, {"ConceptsList/Concepts81.txt": texts["concepts"]})
        zipped(tmp_path / TAGS, {"NUS_WID_Tags/All_Tags.txt": texts["tags"], "Final_Tag_List.txt": texts["tag_list"]})
        groundtruth = {f"Groundtruth/AllLabels/Labels_{name}.txt": text for name, text in texts["labels"].items()}
        zipped(tmp_path / LABELS, groundtruth | {"Groundtruth/TrainTestLabels/Labels_concept00_Train.txt": "1\n"})
        (tmp_path / WORDS).write_text(texts["words"])
        return {name: tmp_path / name for name in (LABELS, IMAGES, CONCEPTS, TAGS, WORDS)}

    return write


def tag_matrix():
    return np.array([[tag in tags_of(row) for tag in TAG_LIST] for row in range(N)], dtype=np.uint8)


def test_all_concepts_words_and_tags(written):
    data = load(written())
    np.testing.assert_array_equal(data.labels, truth())
    assert data.class_names == tuple(NAMES)
    assert data.ids[:2].tolist() == [f"class0/0000_{PHOTOS[0]}.jpg", f"class1/0001_{PHOTOS[1]}.jpg"]
    np.testing.assert_array_equal(data.vectors["bow"], WORD_COUNTS)
    assert data.vectors["bow"].dtype == np.int16
    np.testing.assert_array_equal(data.vectors["tags"][:], tag_matrix())
    np.testing.assert_array_equal(data.vectors["tags"][7:19], tag_matrix()[7:19])
    assert data.images is None


def test_the_most_frequent_concepts_and_no_image_without_one(written):
    """Ties are broken by the order of the list."""
    data = load(written(), concepts=21)
    counts = truth().sum(axis=0)
    chosen = sorted(sorted(range(81), key=lambda column: (-counts[column], column))[:21])
    assert data.class_names == tuple(NAMES[column] for column in chosen)
    keep = np.flatnonzero(truth()[:, chosen].any(axis=1))
    assert 0 < len(keep) < 29
    np.testing.assert_array_equal(data.labels, truth()[np.ix_(keep, chosen)])
    np.testing.assert_array_equal(data.vectors["bow"], WORD_COUNTS[keep])
    np.testing.assert_array_equal(data.vectors["tags"][:], tag_matrix()[keep])
    assert "n" not in datasets.statistics("nuswide", {"concepts": 10})


def test_other_numbers_of_concepts_are_refused():
    message = "concepts must be 81, or the 21 or 10 most frequent, got "
    refused(message, load, {}, concepts="21")
    refused(message, datasets.statistics, "nuswide", {"concepts": 12})


def labels_but(**changed):
    texts = {name: "".join(f"{int(value)}\n" for value in truth()[:, i]) for i, name in enumerate(NAMES)} | changed
    return {name: text for name, text in texts.items() if text is not None}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"labels": labels_but(concept07=None)}, "the archive lacks AllLabels/Labels_concept07.txt"),
        ({"labels": labels_but(concept07="0\n" * 29 + "-1130179\n")}, "for each of 30 images, got '-1130179'"),
        ({"concepts": "sky\nsea\n"}, "ConceptsList.zip: 2 lines for 81 concepts."),
        ({"words": "1 2\n" * 29}, "BoW_int.dat: 29 lines for 30 images."),
        (
            {"words": "1 2\n" * 29 + "1 70000\n"},
            "BoW_int.dat: can't be read as text with int16 integers (could not convert",
        ),
        (
            {"tags": f"{PHOTOS[0]} tag1\n" * 30},
            "All_Tags.txt: its 30 lines are not the 30 photos of ImageList.zip in the",
        ),
    ],
)
def test_inconsistent_files_are_named(written, changed, message):
    refused(message, load, written(**changed))


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
