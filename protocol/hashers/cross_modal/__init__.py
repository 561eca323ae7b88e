"""Hashers whose queries and database have different modalities, such as texts and images."""
