"""Splits as files of users: complete ones, and a list for each partition."""

import csv
from pathlib import Path

import numpy as np

from protocol.provenance import storage
from protocol.scores import tables


def write_split(path, parts, ids):
    """Write row numbers by partition as ``.h5`` or ``.npz``, or ids as ``.csv``."""
    match Path(path).suffix:
        case ".npz":
            np.savez(path, **parts)
        case ".h5":
            storage.write(Path(path), parts, storage.provenance("split", parameters={}, inputs={}))
        case _:
            with open(path, "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerow(["partition", "id"])
                for name, rows in parts.items():
                    csv.writer(file).writerows((name, tables.safe(item)) for item in ids[rows].tolist())


def write_list(path, part, ids, y=None):
    """Write the ids of one partition, as text or as ``.csv`` with a header; labels are 0 or 1 for each class."""
    flags = np.empty((len(ids), 0), dtype=int)
    if y is not None:
        flags = (y if y.ndim == 2 else y[:, None] == np.arange(y.max() + 1)).astype(int)
    is_table = Path(path).suffix == ".csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="," if is_table else " ", lineterminator="\n")
        if is_table:
            writer.writerow(["id", *range(flags.shape[1])])
        writer.writerows([tables.safe(name), *row] for name, row in zip(ids[part], flags[part].tolist(), strict=True))
