"""m-deep squared hashing: deep squared hashing in which similar pairs are pulled to m bits."""

from typing import Annotated

from protocol.hashers.networks.deep_squared import DeepSquared
from protocol.registry import NetworkRecord, at_least


@NetworkRecord.declared
class MDSH(DeepSquared):
    """m-DSH: deep squared hashing in which similar pairs are pulled to a distance of m bits, the option `margin`.

    The loss is ``mean over S+ of (m - d)^2 + mean over S- of (n_bits - d)^2``. If m is far below n_bits, the order of
    distances does not change, but a search finds little at the first m radii. Initialisation and learning rate are
    those of `DeepSquared`. Parameters and attributes are as for `NetworkHasher`, and:

    Parameters
    ----------
    margin : int, default 4
        m, at least 0; the paper uses 4, 8 and 12.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, section 4.2, J(H; m), and section 5.2.
    """

    margin: Annotated[int, at_least(0)] = 4  # type: ignore[misc]  # a constant of the base class
