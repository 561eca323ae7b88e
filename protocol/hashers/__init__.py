"""Hashers: one file each, features in, binary codes out."""

from protocol.hashers._base import Hasher
from protocol.hashers._checkpoints import checkpoints
from protocol.hashers._packing import packed_codes
from protocol.hashers._supervision import Affinities, supervision_from_file
from protocol.hashers._training import TrainingSet

__all__ = ["Affinities", "Hasher", "TrainingSet", "checkpoints", "packed_codes", "supervision_from_file"]
