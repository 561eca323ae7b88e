"""Hashers, which map features to binary codes; one file for each hasher."""

from protocol.hashers.base import THRESHOLDS, Hasher, LinearHasher, packed_codes
from protocol.hashers.networks.base import NetworkHasher
from protocol.hashers.repeatability import check_hasher
from protocol.hashers.training import train_and_encode
from protocol.hashers.training_set import Affinities, TrainingSet, supervision
