"""Hashers: one file each, features in, binary codes out."""

from protocol.hashers._base import Hasher

__all__ = ["Hasher"]
