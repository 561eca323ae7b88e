"""Seeds are hashes of what they are for, so no order of work and no number of cores can move a result."""

import hashlib
import json


def derive(*parts: str | int) -> int:
    """Return a seed in [0, 2**32) for the thing that `parts` name.

    Parameters
    ----------
    *parts
        What the randomness is for, from the general to the particular, for example
        ``(setting_seed, "digits", "itq", 32, run)``. Order and type count: ``1`` and ``"1"`` differ.

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
