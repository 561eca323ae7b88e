"""Hashers: one file each, features in, binary codes out."""

from protocol.hashers._base import Hasher
from protocol.hashers._checkpoints import checkpoints
from protocol.hashers._packing import packed_codes
from protocol.hashers._ranking_objectives import Objective, Ranked, ap_r, ap_s, dcg_r, dcg_s, mean_objective
from protocol.hashers._supervision import Affinities, supervision_from_file
from protocol.hashers._training import TrainingSet

from protocol.hashers.stored import codes_of_split, unchanged

__all__ = [
    "Affinities",
    "Hasher",
    "Objective",
    "Ranked",
    "TrainingSet",
    "ap_r",
    "ap_s",
    "checkpoints",
    "dcg_r",
    "dcg_s",
    "mean_objective",
    "packed_codes",
    "supervision_from_file",
]
