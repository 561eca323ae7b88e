"""m-deep squared hashing: deep squared hashing whose similar pairs are m bits apart, m = 4, 8, 12."""

from protocol.hashers._squared import DEVIATIONS, SquaredHasher
from protocol.registry import HasherRecord


def _registered(m: int) -> HasherRecord:
    return HasherRecord(
        f"m_dsh_{m}",
        source="Jiang, Li, Li, On the Evaluation Metric for Hashing, section 4.2, J(H; m)",
        deviations=DEVIATIONS,
        bits_within_features=False,
        random=True,
        extra="learned",
    )


@_registered(4)
class MDSH4(SquaredHasher):
    """m-DSH with m = 4: deep squared hashing whose similar pairs are to be 4 bits apart.

    ``mean over S+ of (m - d)^2 + mean over S- of (n_bits - d)^2``: m far below n_bits leaves the order of distances as
    it is, but a search finds little at the first m radii. Parameters and attributes are those of `NetworkHasher`.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, section 4.2, J(H; m), and section 5.2.
    """

    m = 4


@_registered(8)
class MDSH8(SquaredHasher):
    """m-DSH with m = 8: as `MDSH4`, 8 bits apart."""

    m = 8


@_registered(12)
class MDSH12(SquaredHasher):
    """m-DSH with m = 12: as `MDSH4`, 12 bits apart."""

    m = 12
