"""What identifies a file and a score: stored arrays with their origin, checksums, digests of code, and seeds."""

import hashlib
import json

VERSION = "0.1.0"
"""The version of this package, which scores and records contain; a test compares it with ``pyproject.toml``."""


def derive(*parts: str | int) -> int:
    """Return a seed in [0, 2**32) for the purpose that `parts` describe.

    Seeds are hashes of their purpose, so results do not depend on the order of jobs or on the number of cores.

    Parameters
    ----------
    *parts
        The purpose of the randomness, from the general to the particular, for example
        ``(experiment_seed, "digits", "itq", 32, run)``. Order and type matter: ``1`` and ``"1"`` give different seeds.

    Returns
    -------
    int
        The first four bytes of the SHA-256 of the parts written as JSON.

    Examples
    --------
    >>> derive(0, "digits", "itq", 32, 3) == derive(0, "digits", "itq", 32, 3)
    True
    >>> derive(0, "digits", "itq", 32, 3) == derive(0, "digits", "itq", 32, 4)
    False
    """
    return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest()[:4], "big")
