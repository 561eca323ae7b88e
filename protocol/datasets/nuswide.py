"""NUS-WIDE: 269,648 Flickr images with 81 concepts, as bags of visual words and tags; images are not read."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.datasets import Data, LazyRows, Paths
from protocol.datasets._archives import members
from protocol.inputs.formats import reading
from protocol.registry import DatasetRecord

LABELS, IMAGES, CONCEPTS, TAGS = "Groundtruth.zip", "ImageList.zip", "ConceptsList.zip", "NUS_WID_Tags.zip"
WORDS = "BoW_int.dat"
N_CONCEPTS = 81
# Number of images that show at least one of the K most frequent concepts, by K, as reported in papers. For 10, all are
# accepted; the official files have 186,577.
_ITEMS = {N_CONCEPTS: 269_648, 21: 195_834, 10: None}


def _statistics(concepts: int) -> dict[str, Any]:
    if concepts not in _ITEMS:
        raise ProtocolError(f"concepts must be {N_CONCEPTS}, or the 21 or 10 most frequent, got {concepts!r}.")
    known: dict[str, Any] = {} if _ITEMS[concepts] is None else {"n": _ITEMS[concepts]}
    known |= {"classes": concepts, "dimensions": {"bow": 500, "tags": 5_018}}
    return known | ({"labels_per_item": 1.87} if concepts == N_CONCEPTS else {})


def _lines(path: Path, *names: str) -> dict[str, list[bytes]]:
    """Return the lines of text files in an archive, without trailing blanks and without empty lines."""
    with members(path, names) as archive:
        texts = {name: stream.read() for name, stream in archive}
    return {name: [line.strip() for line in text.splitlines() if line.strip()] for name, text in texts.items()}


def _labels(path: Path, concepts: list[str], n_items: int) -> NDArray[np.bool_]:
    """Return whether images (rows) show concepts (columns), from one file per concept with 0 or 1 per image."""
    files = {f"AllLabels/Labels_{concept}.txt": column for column, concept in enumerate(concepts)}
    labels = np.empty((n_items, len(concepts)), dtype=bool)
    for name, lines in _lines(path, *files).items():
        values = np.array(lines)
        other = values[~np.isin(values, (b"0", b"1"))]
        if len(values) != n_items or other.size:
            got = repr(other[0].decode(errors="replace")) if other.size else f"{len(values):,} lines"
            raise ProtocolError(f"{path}: {name}: expected 0 or 1 for each of {n_items:,} images, got {got}.")
        labels[:, files[name]] = values == b"1"
    return labels


def _most_frequent(labels: NDArray[np.bool_], concepts: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns of the most frequent concepts, and the images that show any; all images for all concepts.

    The sort is stable: among equally frequent concepts, the first in the list is selected.
    """
    columns = np.sort(np.argsort(-labels.sum(axis=0), kind="stable")[:concepts])
    return columns, np.flatnonzero(labels[:, columns].any(axis=1) | (concepts == N_CONCEPTS))


def _tags(path: Path, photos: list[str], keep: NDArray[np.int64]) -> LazyRows:
    """Return whether images (rows) have the final tags (columns); a line contains a photo's number and its tags."""
    texts = _lines(path, "Final_Tag_List.txt", "All_Tags.txt")
    columns = {tag: column for column, tag in enumerate(texts["Final_Tag_List.txt"])}
    lines = [line.split() for line in texts["All_Tags.txt"]]
    if [line[0].decode(errors="replace") for line in lines] != photos:
        expected = f"the {len(photos):,} photos of {IMAGES} in the same order"
        raise ProtocolError(f"{path}: All_Tags.txt: its {len(lines):,} lines are not {expected}.")
    tagged = [np.array([columns[tag] for tag in lines[row][1:] if tag in columns], dtype=np.int32) for row in keep]

    def read(start: int, stop: int) -> NDArray[np.uint8]:
        rows = np.zeros((stop - start, len(columns)), dtype=np.uint8)
        for row, of_photo in zip(rows, tagged[start:stop], strict=True):
            row[of_photo] = 1
        return rows

    return LazyRows((len(keep), len(columns)), np.uint8, read)


@DatasetRecord.declared_with(statistics=_statistics)
def load(paths: Paths, *, concepts: int = N_CONCEPTS) -> Data:
    """NUS-WIDE: 269,648 Flickr images with 81 concepts, as bags of 500 visual words and 5,018 tags.

    Parameters
    ----------
    paths : mapping of str to Path
        Paths of ``Groundtruth.zip``, ``ImageList.zip``, ``ConceptsList.zip``, ``NUS_WID_Tags.zip`` and
        ``BoW_int.dat``.
    concepts : {81, 21, 10}, default=81
        Number of concepts. 21 and 10 select the most frequent concepts and drop the images that show none of them.

    Returns
    -------
    Data
        Vectors ``bow``, int16, shape (269648, 500), the number of occurrences of each visual word, and ``tags``, uint8,
        shape (269648, 5018), 1 if the image has the tag; labels, bool, shape (269648, concepts), in the order of the
        official list; ids are the names in the image list, with ``/``.

    Raises
    ------
    ProtocolError
        If an archive is damaged or lacks a file, files disagree on the number of images, or the photos in the list of
        tags are not those in the image list.

    References
    ----------
    The 21 concepts: He et al. 2018, Hashing as Tie-Aware Learning to Rank, section 5.2, and the code of its authors.
    The 10 concepts: Moran 2016, thesis section 3.2.2.
    """
    _statistics(concepts)
    (lines,) = _lines(paths[IMAGES], "Imagelist.txt").values()
    names = [line.decode("utf-8", errors="replace").replace("\\", "/") for line in lines]
    (lines,) = _lines(paths[CONCEPTS], "Concepts81.txt").values()
    concept_names = [line.decode("ascii", errors="replace") for line in lines]
    if len(concept_names) != N_CONCEPTS:
        raise ProtocolError(f"{paths[CONCEPTS]}: {len(concept_names):,} lines for {N_CONCEPTS} concepts.")
    labels = _labels(paths[LABELS], concept_names, len(names))
    most_frequent, keep = _most_frequent(labels, concepts)
    with reading(paths[WORDS], "text with int16 integers"):
        words = np.loadtxt(paths[WORDS], dtype=np.int16, comments=None, ndmin=2)
    if len(words) != len(names):
        raise ProtocolError(f"{paths[WORDS]}: {len(words):,} lines for {len(names):,} images.")
    photos = [name.rpartition("/")[2].rpartition("_")[2].partition(".")[0] for name in names]
    class_names = tuple(concept_names[column] for column in most_frequent)
    vectors: dict[str, Any] = {"bow": words[keep], "tags": _tags(paths[TAGS], photos, keep)}
    return Data(np.array(names)[keep], labels[np.ix_(keep, most_frequent)], class_names, vectors=vectors)
