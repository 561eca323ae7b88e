"""What identifies a file and a score: stored arrays with their origin, checksums, digests of code, and seeds."""

VERSION = "0.1.0"
"""The version of this package, which scores and records contain; a test compares it with ``pyproject.toml``."""
