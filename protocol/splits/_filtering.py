"""Remove entries from lists and complete splits, and write them in their original format."""

import contextlib
import gzip
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from protocol.inputs.arrays import npz_keys, read_labels
from protocol.inputs.text import raw_lines
from protocol.provenance import storage
from protocol.splits._files import ARRAYS, rows_of_text, write_list

SINGLE_LIST = ""
"""The key for a file that contains a single list."""


def write_subset(target: str | Path, source: str | Path, keep: Mapping[str, NDArray[np.bool_]]) -> None:
    """Write a copy of a list, or of a complete split, without some of its entries.

    Lines of text are copied unchanged, with their order, labels, line ends and header. Arrays keep their dtype. Arrays
    and partitions without remaining entries are omitted.

    Parameters
    ----------
    target : str or Path
        With the extension of `source`.
    source : str or Path
        A file for `protocol.splits.read_list` or `read_parts`.
    keep : mapping of str to ndarray of bool
        The entries to keep, in the order of the file: by array (``.npz``, ``.h5``), by partition (a complete split as
        ``.csv``), or under `SINGLE_LIST` for a file with a single list.

    Raises
    ------
    ProtocolError
        If the source can't be read, or the target can't be written.
    """
    target, source = Path(target), Path(source)
    if source.suffix.lower() in ARRAYS:
        arrays = {key: read_labels(f"{source}:{key}" if key else source)[mask] for key, mask in keep.items()}
        _write_arrays(target, {key: array for key, array in arrays.items() if len(array)})
        return
    with storage.replacing(target) as temporary, _opened(temporary, target) as file:
        file.writelines(_remaining_lines(source, keep))


def write_items(target: Path, items: NDArray) -> None:
    """Write a new list of a partition: row numbers as ``.npy``, or ids as text or ``.csv``."""
    if items.dtype.kind in "iu":
        _write_arrays(target, {SINGLE_LIST: items})
    else:
        write_list(target, np.arange(len(items)), items)


def sole_key(source: Path) -> str:
    """Return the name of the only array of an ``.npz`` file, or `SINGLE_LIST` for other files."""
    return npz_keys(source)[0] if source.suffix.lower() == ".npz" else SINGLE_LIST


def _write_arrays(target: Path, arrays: Mapping[str, NDArray]) -> None:
    match target.suffix.lower():
        case ".npy":
            with storage.replacing(target) as temporary, open(temporary, "wb") as stream:
                np.save(stream, next(iter(arrays.values())))
        case ".npz":
            with storage.replacing(target) as temporary, open(temporary, "wb") as stream:
                np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
        case _:
            note = "entries were removed from this split (protocol audit --write-fixed)"
            arrays = {key or "items": array for key, array in arrays.items()}
            storage.write(target, arrays, storage.provenance("split", parameters={}, inputs={}, notes=[note]))


@contextlib.contextmanager
def _opened(temporary: Path, target: Path) -> Iterator[IO[bytes]]:
    """Open a text file for writing, compressed if its name ends with ``.gz``; the bytes do not depend on the time."""
    with open(temporary, "wb") as plain:
        if target.suffix.lower() != ".gz":
            yield plain
            return
        with gzip.GzipFile("", "wb", fileobj=plain, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def _remaining_lines(source: Path, keep: Mapping[str, NDArray[np.bool_]]) -> Iterator[bytes]:
    """Yield the lines to keep, as bytes."""
    all_lines = raw_lines(source, "a list of items")
    places = dict.fromkeys(keep, 0)
    for lines, fields in rows_of_text(source):
        raw_row = list(itertools.islice(all_lines, len(lines)))
        if fields:
            key = SINGLE_LIST if SINGLE_LIST in keep else fields[0]
            place = places[key]
            places[key] += 1
            if not keep[key][place]:
                continue
        yield from raw_row
