"""Hashers: one file each, features in, binary codes out."""
