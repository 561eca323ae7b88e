"""Hashers, which map features to binary codes; one file for each hasher."""

from protocol.hashers.base import Hasher, packed_codes
from protocol.hashers.networks.base import NetworkHasher
from protocol.hashers.progress import checkpoints
from protocol.hashers.stored import trained, write_stored
from protocol.hashers.supervision import Affinities, supervision_from_file
from protocol.hashers.training_set import TrainingSet

__all__ = [
    "Affinities",
    "Hasher",
    "NetworkHasher",
    "TrainingSet",
    "checkpoints",
    "packed_codes",
    "supervision_from_file",
    "trained",
    "write_stored",
]
