"""Hashers, which map features to binary codes; one file for each hasher."""

from protocol.hashers.base import THRESHOLDS, Hasher, LinearHasher, packed_codes
from protocol.hashers.networks.base import NetworkHasher
from protocol.hashers.training import check_hasher, train_and_encode
from protocol.hashers.training_set import Affinities, TrainingSet, supervision
