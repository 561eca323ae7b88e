"""Datasets: one file each, with sources, checksums and a loader."""

from protocol.datasets._dataset import Data, Rows, blocks, check_statistics, load, statistics
from protocol.datasets._download import fetch, provenance_note
from protocol.datasets._user_paths import folder_digest, user_paths

__all__ = [
    "Data",
    "Rows",
    "blocks",
    "check_statistics",
    "fetch",
    "folder_digest",
    "load",
    "provenance_note",
    "statistics",
    "user_paths",
]
