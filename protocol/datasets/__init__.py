"""Datasets: one file each, with sources, checksums and a loader."""

from protocol.datasets._dataset import Data, File
from protocol.datasets._download import fetch, provenance_note

__all__ = ["Data", "File", "fetch", "provenance_note"]
