"""Hashers, which map features to binary codes; one file for each hasher."""

from protocol.hashers.base import Hasher, packed_codes
from protocol.hashers.networks.base import NetworkHasher
from protocol.hashers.training import train_and_encode
from protocol.hashers.training_set import Affinities, TrainingSet, supervision

__all__ = ["Affinities", "Hasher", "NetworkHasher", "TrainingSet", "packed_codes", "supervision", "train_and_encode"]
