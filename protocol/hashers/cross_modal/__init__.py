"""Hashers whose queries and database are of two modalities, such as texts and images."""
