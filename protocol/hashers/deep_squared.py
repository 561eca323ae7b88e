"""Deep squared hashing: similar pairs on one code, dissimilar ones as far apart as codes can be."""

from protocol.hashers._squared import DEVIATIONS, SquaredHasher
from protocol.registry import HasherRecord


@HasherRecord(
    "deep_squared",
    source="Jiang, Li, Li, On the Evaluation Metric for Hashing, section 4.2, eq. 4",
    deviations=DEVIATIONS,
    bits_within_features=False,
    random=True,
    extra="learned",
)
class DeepSquared(SquaredHasher):
    """Deep squared hashing: a network whose codes put similar pairs at distance 0 and others at n_bits.

    ``mean over S+ of d^2 + mean over S- of (n_bits - d)^2``, with ``d = (n_bits - h_k . h_l) / 2`` of the codes h of a
    minibatch. Parameters and attributes are those of `NetworkHasher`.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, section 4.2, eq. 4, and section 5.1.
    """

    m = 0
