"""Readers for untrusted files in several formats. They verify headers and never execute or unpickle content."""
