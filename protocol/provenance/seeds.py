"""Seeds that are hashes of their purpose, so that results do not depend on the order of jobs or the number of cores."""

import hashlib
import json


def derive(*parts: str | int) -> int:
    """Return a seed in [0, 2**32) for the purpose that `parts` describe.

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
