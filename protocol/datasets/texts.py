"""Your own texts: a folder with a subfolder for each class, or a table with the columns text and label."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from protocol.checks import ProtocolError
from protocol.datasets import Data, numbered_ids
from protocol.datasets._image_files import files_below
from protocol.inputs import limits
from protocol.inputs.text import lines
from protocol.registry import DatasetRecord

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def _statistics(folder: str | None, table: str | None) -> dict[str, Any]:
    if folder is not None and table is not None:
        raise ProtocolError("dataset_options of 'texts': give folder or table, not both.")
    return {"arrays": ("texts",)}


def _read_folder(folder: str) -> dict[str, list[str]]:
    ids, n_bytes = files_below(folder), 0
    outside = next((name for name in ids if "/" not in name), None)
    if outside is not None or not ids:
        problem = "no files" if outside is None else f"the text {outside} is next to the subfolders"
        raise ProtocolError(f"{folder}: {problem}. Every text must be in the subfolder of its class.")
    texts = []
    for name in ids:
        path = Path(folder, name)
        texts.append("".join(lines(path, "a text")))
        n_bytes += path.stat().st_size
        if n_bytes > limits.TEXT_BYTES:
            raise ProtocolError(f"{folder}: the texts exceed the limit of {limits.TEXT_BYTES >> 20:,} MiB.")
    return {"id": ids, "text": texts, "label": [name.partition("/")[0] for name in ids]}


def _read_table(file: str) -> dict[str, list[str]]:
    path = Path(file)
    if path.suffix.lower() not in _SEPARATORS:
        raise ProtocolError(f"{file}: expected a table, .csv or .tsv, got the extension {path.suffix!r}.")
    reader = csv.DictReader(lines(path, "a table of texts"), delimiter=_SEPARATORS[path.suffix.lower()], strict=True)
    before, rows = csv.field_size_limit(limits.LINE_BYTES), []
    try:
        for row in reader:
            if None in row or None in row.values():
                raise ProtocolError(f"{file}: line {reader.line_num}: the number of fields differs from the header's.")
            if row.get("label") == "":
                raise ProtocolError(f"{file}: line {reader.line_num}: the label is empty.")
            rows.append(row)
    except csv.Error as error:
        raise ProtocolError(f"{file}: line {reader.reader.line_num}: can't be read as a table ({error}).") from error
    finally:
        csv.field_size_limit(before)
    names = reader.fieldnames or ()
    if twice := [name for name in ("text", "label", "id") if names.count(name) > 1]:
        raise ProtocolError(f"{file}: the column {twice[0]!r} occurs more than once.")
    if "text" not in names or not rows:
        without = f"no column 'text' among {', '.join(names)}" if names else "the file is empty"
        problem = "no rows after the header" if "text" in names else without
        raise ProtocolError(f"{file}: {problem}. A table needs the column text; label and id are optional.")
    return {name: [row[name] for row in rows] for name in ("id", "text", "label") if name in names}


@DatasetRecord(
    "texts",
    printed="Texts",
    source="your own texts",
    files=(),
    statistics=_statistics,
    user_files=("table",),
    user_folders=("folder",),
)
def load(paths: Mapping[str, Path], *, folder: str | None = None, table: str | None = None) -> Data:
    """Your own texts: a folder with a subfolder for each class, or a table with the columns text and label.

    Parameters
    ----------
    paths : mapping of str to Path
        Not used: nothing is downloaded.
    folder : str or None
        Its subfolders are the classes and may have subfolders themselves. Every file is a text in UTF-8. Hidden files
        and folders, whose names begin with a dot, are skipped.
    table : str or None
        A file ``F.csv`` or ``F.tsv`` in UTF-8 with a header and the columns ``text``, ``label`` and ``id``. Without
        ``label``, there are no labels; without ``id``, the ids are ``item-0000000`` ...

    Returns
    -------
    Data
        Texts in the order of their paths or rows; labels, int64, the classes in the order of their names.

    Raises
    ------
    ProtocolError
        If neither or both are given; if there is no text, a file is not UTF-8 or all texts are larger than 1 GiB; if a
        folder contains texts next to the subfolders, or a table lacks the column ``text``.
    """
    _statistics(folder, table)  # not both
    if folder is None and table is None:
        raise ProtocolError(
            "dataset_options of 'texts': folder or table is missing. Add {folder: PATH} or {table: FILE}."
        )
    columns = _read_folder(folder) if folder is not None else _read_table(str(table))
    texts = np.array(columns["text"], dtype=np.dtypes.StringDType())
    ids = np.array(columns["id"]) if "id" in columns else numbered_ids(len(texts))
    if "label" not in columns:
        return Data(ids, texts=texts)
    classes, labels = np.unique(columns["label"], return_inverse=True)
    return Data(ids, labels.astype(np.int64), tuple(classes.tolist()), texts=texts)
