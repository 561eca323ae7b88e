"""Wiki: 2,866 pairs of an image and a text from Wikipedia's featured articles, as vectors, in 10 categories."""

import re
from pathlib import Path

import numpy as np

from protocol.checks import ProtocolError
from protocol.datasets import Data, Paths
from protocol.inputs.arrays import read_array
from protocol.inputs.text import lines
from protocol.registry import DatasetRecord

FEATURES = "raw_features.mat"
LISTS = {"train": "trainset_txt_img_cat.list", "test": "testset_txt_img_cat.list"}
VARIABLES = {"image": {"train": "I_tr", "test": "I_te"}, "text": {"train": "T_tr", "test": "T_te"}}
CATEGORIES = ("art", "biology", "geography", "history", "literature", "media", "music", "royalty", "sport", "warfare")
_LINE = re.compile(r"([^\t]+)\t[^\t]+\t([0-9]{1,3})")


def _read_list(path: Path) -> tuple[list[str], list[int]]:
    """Return the names of the texts in a list, and their categories, which start from 0.

    A line contains a text, an image and a category, which starts from 1, separated by tabs.
    """
    names, categories = [], []
    for number, line in enumerate(map(str.rstrip, lines(path, "a list of texts and images")), start=1):
        match = _LINE.fullmatch(line)
        if match is None or not 1 <= int(match[2]) <= len(CATEGORIES):
            expected = f"text, image and category 1 to {len(CATEGORIES)}, separated by tabs"
            raise ProtocolError(f"{path}, line {number}: expected {expected}, got {line[:80]!r}.")
        names.append(match[1])
        categories.append(int(match[2]) - 1)
    return names, categories


@DatasetRecord.declared
def load(paths: Paths) -> Data:
    """Wiki: pairs of an image and a text in 10 categories, as 128-d bags of SIFT words and 10-d topic vectors.

    Parameters
    ----------
    paths : mapping of str to Path
        Paths of ``raw_features.mat`` and the two ``.list`` files.

    Returns
    -------
    Data
        Vectors ``image``, float32, shape (2866, 128), and ``text``, float32, shape (2866, 10); labels, int64; ids are
        the names of the texts in the lists; partitions ``train``, which is first, and ``test``.

    Raises
    ------
    ProtocolError
        If a file is damaged, a line of a list is invalid, or lists and features have different lengths.
    """
    lists = {part: _read_list(Path(paths[file])) for part, file in LISTS.items()}
    vectors = {}
    for kind, variables in VARIABLES.items():
        parts = {part: read_array(f"{paths[FEATURES]}:{variable}") for part, variable in variables.items()}
        for part, rows in parts.items():
            n_lines = len(lists[part][0])
            if rows.ndim != 2 or len(rows) != n_lines:
                where, expected = f"{paths[FEATURES]}: {variables[part]}", f"one row for each of the {n_lines:,} lines"
                raise ProtocolError(f"{where}: expected {expected} of {LISTS[part]}, got shape {rows.shape}.")
        vectors[kind] = np.concatenate(list(parts.values())).astype(np.float32)
    names, categories = (np.concatenate(columns) for columns in zip(*lists.values(), strict=True))
    train, test = np.split(np.arange(len(names)), [len(lists["train"][0])])
    return Data(names, categories, CATEGORIES, vectors=vectors, partitions={"train": train, "test": test})
