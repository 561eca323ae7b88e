"""A split of a pipeline as a user's own code needs it: the row numbers of each partition, and the dataset's labels."""

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol import storage
from protocol.checks import ProtocolError
from protocol.splits._files import read_parts
from protocol.splits._protocol import PARTITIONS

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """One run of a split: for each partition, row numbers of the dataset's items, ascending.

    Row numbers count the rows of `ids` and `labels`, and of the arrays in the dataset's content.h5. A partition that
    the split protocol does not have is empty. Finished codes (the key `codes` of a config file) have their rows in the
    order of `query` and `database`.

    Parameters
    ----------
    query, database, train, validation_query, validation_database : ndarray of int64, shape (n,)
    path : Path
        The file of the split.
    items : Path or None
        The file with the dataset's ids and labels, results/datasets/DATASET/items.h5; None: it was not found.
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
        return np.char.decode(self._stored["ids"], "utf-8")

    @cached_property
    def labels(self) -> NDArray | None:
        """The class labels of all items of the dataset; None for a dataset without labels.

        int64 of shape (n_items,), or bool of shape (n_items, n_classes) where an item may have several.
        """
        return self._stored.get("labels")

    @cached_property
    def class_names(self) -> list[str]:
        """The names of class 0, 1, ...; [] for a dataset without labels."""
        return [name.decode() for name in self._stored["class_names"].tolist()]

    @cached_property
    def _stored(self) -> dict[str, NDArray]:
        if self.items is None:
            raise ProtocolError(
                f"{self.path}: expected the dataset's items.h5, from which the split was made, in the folder "
                "results/datasets next to the experiment, got none; name it, as in load_split(path, items=FILE)."
            )
        return storage.read(self.items)

    def __repr__(self) -> str:
        sizes = [(field.name, len(getattr(self, field.name))) for field in fields(self) if field.name in PARTITIONS]
        return "\n".join([f"Split {str(self.path)!r}", *(f"  {name:<20}{size:>11,}" for name, size in sizes)])


def load_split(path: str | Path, items: str | Path | None = None) -> Split:
    """Read one run of a split, as the pipeline writes it.

    Parameters
    ----------
    path : str or Path
        Such as ``results/digits/splits/improved/run0/splits.h5``; also ``.npz``, with an array for each partition.
    items : str or Path, optional
        The dataset's ``items.h5``. By default it is found in ``results/datasets``, by the digest that the split records
        of it.

    Returns
    -------
    Split
        The row numbers of each partition, and the ids and labels of the dataset, which are read when they are used.

    Raises
    ------
    ProtocolError
        If the file is missing, damaged or no split, or `items` is not the file that the split was made from.
    """
    path = Path(path)
    parts = read_parts(path)
    texts = [name for name, rows in parts.items() if rows.dtype.kind not in "iu"]
    if texts:
        raise ProtocolError(f"{path}: {texts[0]}: expected row numbers, got ids; read_split(path, ids) looks them up.")
    made_from = storage.read_provenance(path)["inputs"].get("labels") if path.suffix.lower() == ".h5" else None
    if items is None:
        found = _items_of(path, made_from)
    else:
        found = Path(items)
        if made_from not in (None, storage.read_provenance(found)["digest"]):
            raise ProtocolError(f"items: expected the items.h5 from which {path} was made, got {str(found)!r}.")
    return Split(**{name: parts.get(name, np.empty(0, dtype=np.int64)) for name in PARTITIONS}, path=path, items=found)


def _items_of(path: Path, digest: str | None) -> Path | None:
    """Return the dataset's file in ``results/datasets`` that has a digest."""
    folders = path.absolute().parents  # results/EXPERIMENT/splits/SPLIT/runR/splits.h5
    if digest is None or len(folders) < 5:
        return None
    for file in sorted((folders[4] / "datasets").glob("*/items.h5")):
        if storage.read_provenance(file)["digest"] == digest:
            return file
    return None
