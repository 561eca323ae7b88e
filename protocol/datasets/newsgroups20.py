"""20 Newsgroups: 18,846 messages of 20 discussion groups, divided by date, from the archive that scikit-learn loads."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from protocol.checks import ProtocolError, one_of
from protocol.datasets import Data
from protocol.downloads import File
from protocol.inputs.archives import members
from protocol.registry import DatasetRecord

FILE = "20news-bydate.tar.gz"
PARTS = {"train": "20news-bydate-train", "test": "20news-bydate-test"}
REMOVABLE = {"headers": "header", "footers": "footer", "quotes": "quoting"}
"""The parts of a message that can be removed, in the order of scikit-learn, and the names of its functions for that."""


@DatasetRecord(
    "newsgroups20",
    printed="20 Newsgroups",
    source="Lang 1995, NewsWeeder: Learning to Filter Netnews, ICML; the version bydate, "
    "http://qwone.com/~jason/20Newsgroups/, as scikit-learn loads it",
    files=(
        File(
            name=FILE,
            urls=("https://ndownloader.figshare.com/files/5975967",),
            sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
            size=None,
        ),
    ),
    statistics={
        "n": 18_846,
        "classes": 20,
        "partitions": {"train": 11_314, "test": 7_532},
        "arrays": ("texts",),
    },
)
def load(paths: Mapping[str, Path], *, remove: Sequence[str] = ()) -> Data:
    """20 Newsgroups: texts of messages to 20 discussion groups; 11,314 older and 7,532 newer messages.

    Parameters
    ----------
    paths : mapping of str to Path
        Path of ``20news-bydate.tar.gz``.
    remove : sequence of {"headers", "footers", "quotes"}, default=()
        Parts of each message to remove, with the functions of ``sklearn.datasets.fetch_20newsgroups``. The headers
        contain words, such as the names of hosts and authors, that reveal the group.

    Returns
    -------
    Data
        Texts, decoded as Latin-1; labels, int64, the groups in alphabetical order; partitions ``train``, which is
        first, and ``test``. The ids are the paths in the archive, by which each part is sorted.

    Raises
    ------
    ProtocolError
        If the archive is damaged or contains other files, or an option is unknown.
    """
    from sklearn.datasets import _twenty_newsgroups as newsgroups

    for part in remove:
        one_of(part, REMOVABLE, "remove")
    texts = {}
    with members(paths[FILE], None) as found:
        for name, stream in found:
            if name.count("/") != 2 or not name.startswith(tuple(f"{folder}/" for folder in PARTS.values())):
                raise ProtocolError(
                    f"{paths[FILE]}: {name} is not a message in a group of {' or '.join(PARTS.values())}."
                )
            texts[name] = stream.read().decode("latin-1")
    ids = [name for folder in PARTS.values() for name in sorted(texts) if name.startswith(f"{folder}/")]
    for part in (part for part in REMOVABLE if part in remove):
        strip = getattr(newsgroups, f"strip_newsgroup_{REMOVABLE[part]}")
        texts = {name: strip(text) for name, text in texts.items()}
    groups, labels = np.unique([name.split("/")[1] for name in ids], return_inverse=True)
    is_train = np.char.startswith(ids, PARTS["train"])
    return Data(
        np.array(ids),
        labels.astype(np.int64),
        tuple(groups.tolist()),
        texts=np.array([texts[name] for name in ids], dtype=np.dtypes.StringDType()),
        partitions={"train": np.flatnonzero(is_train), "test": np.flatnonzero(~is_train)},
    )
