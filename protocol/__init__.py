"""Reproduce, audit and compare the evaluation protocols of learning to hash."""

__version__ = "0.1.0"
