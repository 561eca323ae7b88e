"""Hashers: one file each, features in, binary codes out."""

from protocol.hashers._base import Hasher
from protocol.hashers._packing import packed_codes
from protocol.hashers._training import TrainingSet

__all__ = ["Hasher", "TrainingSet", "packed_codes"]
