"""Complete splits as files of users."""

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
