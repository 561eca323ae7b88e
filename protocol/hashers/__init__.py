"""Hashers: one file each, features in, binary codes out."""

from protocol.hashers.base import Hasher, packed_codes
from protocol.hashers.networks.base import NetworkHasher
from protocol.hashers.progress import checkpoints
from protocol.hashers.supervision import Affinities, supervision_from_file
from protocol.hashers.training_set import TrainingSet

from protocol.hashers.stored import codes_of_split, unchanged

__all__ = [
    "Affinities",
    "Hasher",
    "NetworkHasher",
    "TrainingSet",
    "checkpoints",
    "packed_codes",
    "supervision_from_file",
]
