"""Datasets: one file each, with sources, checksums and a loader."""

from protocol.datasets._dataset import Data

__all__ = ["Data"]
