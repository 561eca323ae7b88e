"""Load a split of the pipeline: the row numbers of each partition, and the dataset's ids and labels."""

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.splits._files import read_parts
from protocol.splits._protocol import PARTITIONS

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """One run of a split: the row numbers of the items in each partition, ascending.

    Row numbers are indices into `ids`, `labels` and the arrays in the dataset's content.h5. Partitions that the split
    protocol does not define are empty. Precomputed codes (the key `codes` of a config file) must have their rows in
    the order of `query` and `database`.

    Parameters
    ----------
    query : ndarray of int64, shape (n,)
        Row numbers of the queries.
    database : ndarray of int64, shape (n,)
        Row numbers of the database.
    train : ndarray of int64, shape (n,)
        Row numbers of the training set.
    validation_query : ndarray of int64, shape (n,)
        Row numbers of the validation queries.
    validation_database : ndarray of int64, shape (n,)
        Row numbers of the database that the validation queries rank.
    path : Path
        The file of the split.
    items : Path or None
        The file with the dataset's ids and labels, results/datasets/DATASET/items.h5; None if it was not found.
    """

    query: Rows
    database: Rows
    train: Rows
    validation_query: Rows
    validation_database: Rows
    path: Path
    items: Path | None = None

    @cached_property
    def ids(self) -> NDArray[np.str_]:
        """The ids of all items of the dataset, shape (n_items,)."""
        return storage.decoded(self._stored["ids"])

    @cached_property
    def labels(self) -> NDArray | None:
        """The class labels of all items of the dataset; None for a dataset without labels.

        int64, shape (n_items,), or bool, shape (n_items, n_classes), if an item may have several.
        """
        return self._stored.get("labels")

    @cached_property
    def class_names(self) -> list[str]:
        """The names of the classes 0, 1, ...; [] for a dataset without labels."""
        return [name.decode() for name in self._stored["class_names"].tolist()]

    @cached_property
    def _stored(self) -> dict[str, NDArray]:
        if self.items is None:
            raise ProtocolError(
                f"{self.path}: the items.h5 from which the split was drawn is not in the folder results/datasets next "
                "to the experiment. Pass its path: load_split(path, items=FILE)."
            )
        return storage.read(self.items)

    def __repr__(self) -> str:
        sizes = [(field.name, len(getattr(self, field.name))) for field in fields(self) if field.name in PARTITIONS]
        return "\n".join([f"Split {str(self.path)!r}", *(f"  {name:<20}{size:>11,}" for name, size in sizes)])


def load_split(path: str | Path, items: str | Path | None = None) -> Split:
    """Read one run of a split that the pipeline has written.

    Parameters
    ----------
    path : str or Path
        The file of the split, such as ``results/digits/splits/improved/run0/splits.h5``; also ``.npz``, with an array
        for each partition.
    items : str or Path, optional
        The dataset's ``items.h5``. By default, the file in ``results/datasets`` whose digest the split records.

    Returns
    -------
    Split
        The row numbers of each partition, and the ids and labels of the dataset, which are read on first use.

    Raises
    ------
    ProtocolError
        If the file is missing, damaged or not a split, or `items` is not the file from which the split was drawn.
    """
    path = Path(path)
    parts = read_parts(path)
    texts = [name for name, rows in parts.items() if rows.dtype.kind not in "iu"]
    if texts:
        raise ProtocolError(
            f"{path}: {texts[0]}: ids instead of row numbers. Use read_split(path, ids), which looks them up."
        )
    made_from = storage.read_provenance(path)["inputs"].get("labels") if path.suffix.lower() == ".h5" else None
    if items is None:
        found = _items_of(path, made_from)
    else:
        found = Path(items)
        if made_from not in (None, storage.read_provenance(found)["digest"]):
            raise ProtocolError(f"items: {found} is not the items.h5 from which {path} was drawn.")
    return Split(**{name: parts.get(name, np.empty(0, dtype=np.int64)) for name in PARTITIONS}, path=path, items=found)


def _items_of(path: Path, digest: str | None) -> Path | None:
    """Return the items.h5 in ``results/datasets`` that has the given digest."""
    folders = path.absolute().parents  # results/EXPERIMENT/splits/SPLIT/runR/splits.h5
    if digest is None or len(folders) < 5:
        return None
    for file in sorted((folders[4] / "datasets").glob("*/items.h5")):
        if storage.read_provenance(file)["digest"] == digest:
            return file
    return None
