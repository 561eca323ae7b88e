"""Datasets: one file each, with sources, checksums and a loader."""
