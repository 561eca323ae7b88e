"""Datasets: one module for each, with its sources, checksums and loader."""

from protocol.datasets._dataset import (
    Data,
    LazyRows,
    blocks,
    check_statistics,
    load,
    numbered_ids,
    statistics,
    store,
)
from protocol.datasets._fetch import File, Place, fetch, redacted
from protocol.datasets._user_paths import count_files, file_state, folder_state, user_paths

__all__ = [
    "Data",
    "File",
    "LazyRows",
    "Place",
    "blocks",
    "check_statistics",
    "count_files",
    "fetch",
    "file_state",
    "folder_state",
    "load",
    "numbered_ids",
    "redacted",
    "statistics",
    "store",
    "user_paths",
]
