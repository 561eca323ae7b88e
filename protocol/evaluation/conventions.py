"""Conventions: how papers and tools score, as a list of registered metrics and a treatment of undefined values."""

from dataclasses import dataclass

from protocol.checks import one_of


@dataclass(frozen=True)
class Convention:
    """How a paper or a tool scores: a declaration only, the metrics do the computation.

    Parameters
    ----------
    name : str
    summary : str
        One line.
    source : str
        The paper and equation, or the public code and its function.
    metrics : tuple of str
        Registered metrics with their numbers, in the order of the table. Their names determine ties and denominator.
    called_map : tuple of str
        Those of the metrics that the source calls mAP.
    drops : tuple of str
        Prefixes of the metrics that leave undefined queries out of the mean; all others count them as 0.
    not_copied : tuple of str
        Differences from the original, including its bugs, which may make its numbers differ from ours.
    """

    name: str
    summary: str
    source: str
    metrics: tuple[str, ...]
    called_map: tuple[str, ...] = ("mAP",)
    drops: tuple[str, ...] = ()
    not_copied: tuple[str, ...] = ()

    def empty(self, metric: str) -> str:
        """Return how a metric treats undefined values, for its argument ``empty``: ``"zero"`` or ``"drop"``."""
        return "drop" if metric.startswith(self.drops) else "zero"


def find(name: str) -> Convention:
    """Return the convention called `name`.

    Raises
    ------
    ProtocolError
        If there is none; the message lists the known conventions.

    Examples
    --------
    >>> find("hashnet").empty("mAP@1000[retrieved]"), find("deephash").empty("mAP@1000[retrieved]")
    ('drop', 'zero')
    """
    one_of(name, (convention.name for convention in CONVENTIONS), "convention", listing="protocol list conventions")
    return next(convention for convention in CONVENTIONS if convention.name == name)


_UNSTABLE = "Ties are ordered by an unstable sort, which depends on the library version; here: the expected value."
_CUT = "Ties at a cutoff are in database order; here: the expected value."
_LAST_RADIUS = "The curve ends one radius below the largest observed distance; here: all radii 0..n_bits."

CONVENTIONS = (
    Convention(
        "protocol",
        "Our own: expected values over ties and their range, all relevant items in the denominator, undefined is 0.",
        source="the sources of the metrics, see `protocol list metrics`",
        metrics=(
            "mAP",
            "mAP[best]",
            "mAP[worst]",
            "mAP@1000[all]",
            "mAP@1000[retrieved]",
            "nDCG",
            "AUPRC[area]",
            "precision@r2",
            "recall@r2",
            "empty@r2",
            "RAMAP@r2",
            "mLGAP@r2",
            "utilisation",
        ),
    ),
    Convention(
        "ramap",
        "RAMAP and precision by radius, 0 for an empty ball; mAP divided by the relevant items among those returned.",
        source="Jiang, Li, Li, On the Evaluation Metric for Hashing, eq. 1, tables 1-3",
        metrics=(
            "mAP@5000[retrieved]",
            "mAP@50000[retrieved]",
            *(f"{name}@r{radius}" for name in ("precision", "recall", "RAMAP") for radius in range(3)),
        ),
        called_map=("mAP@5000[retrieved]", "mAP@50000[retrieved]"),
        not_copied=(
            "The printed formula of MAP has no cutoff and divides by all relevant items, which the table contradicts.",
            "Public code called RAMAP takes the mean over the radii 0..n_bits, whatever R is.",
            "Public code called RAMAP may omit the division by the number of codes in the ball.",
        ),
    ),
    Convention(
        "talr",
        "Expected values over ties in closed form; with a cutoff, divided by the relevant items above it.",
        source="He et al., Hashing as Tie-Aware Learning to Rank, eq. 6, 7, 17 and 20, and the released code",
        metrics=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]", "nDCG"),
        called_map=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]"),
        not_copied=(
            "Eq. 17 divides by all relevant items (mAP@K[all]), the released code by those in the top K.",
            "The released AP omits the precision at rank 1.",
            "The released tie-aware AP leaves queries without relevant items out of the mean if they come last.",
            "The released nDCG is 1 for a query without relevant items; here: 0.",
            "The released nDCG computes gains in 8-bit integers, so the gain of any level above 6 is 126.",
        ),
    ),
    Convention(
        "mlgap",
        "mLGAP, and the range of mAP over all orders of ties.",
        source="Mean Local Group Average Precision, eq. 10-11, figures 2 and 8",
        metrics=("mLGAP@r2", "mAP", "mAP[best]", "mAP[worst]", "utilisation"),
        not_copied=(
            "The paper states neither the radius of its table nor the value of an empty ball; here: 2 and 0.",
            "Its mAP depends on an arbitrary order of ties; here: the expected value, the best and the worst.",
            "It divides the number of used codes by 2^n_bits; here: by the size of the database where that is smaller.",
        ),
    ),
    Convention(
        "thesis",
        "Pooled precision and recall by radius, and the area under their curve; mAP with ties in database order.",
        source="Moran 2016, thesis, section 3.6, eq. 3.8-3.13, and the author's code (GRH)",
        metrics=(
            "AUPRC[trapezoid]",
            "AUPRC[sum]",
            "precision_micro@r2",
            "recall_micro@r2",
            "F1_micro@r2",
            "precision@r2",
            "mAP[index]",
        ),
        called_map=("mAP[index]",),
        not_copied=(_LAST_RADIUS, "Eq. 3.11 is a sum (AUPRC[sum]), but its footnote and the code use trapezoids."),
    ),
    Convention(
        "habir",
        "The area under the pooled precision-recall curve from recall 0, which its code calls mAP.",
        source="HABIR toolkit, area_RP and recall_precision",
        metrics=("AUPRC[area]", "precision_micro@r2", "recall_micro@r2"),
        called_map=("AUPRC[area]",),
        not_copied=(
            _LAST_RADIUS,
            "It omits points of the curve whose recall has already occurred.",
            "A byte that differs in all eight bits adds only 7 to the Hamming distance: its lookup table saturates.",
        ),
    ),
    Convention(
        "deephash",
        "mAP divided by the relevant items among the top K; a query without any counts as 0.",
        source="DeepHash-pytorch, CalcTopMap",
        metrics=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]"),
        called_map=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]"),
        not_copied=(
            _UNSTABLE,
            "K = -1, its value for CIFAR-10, leaves out the last item; here: the complete database.",
            "It leaves queries whose precision is 0 out of its precision-recall curve.",
        ),
    ),
    Convention(
        "hashnet",
        "mAP divided by the relevant items among the top K; queries without any are left out. Empty balls count as 0.",
        source="HashNet and DeepHash of the same group (thuml, thulab), get_mAPs and the precision at radius 2",
        metrics=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]", "precision@r2"),
        called_map=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]"),
        drops=("mAP",),
        not_copied=(
            _UNSTABLE,
            "It leaves out a query if its order of ties has no hit; here: the expected value over orders with a hit.",
            "Its mAP within a ball re-ranks by real-valued features, which codes do not have.",
        ),
    ),
    Convention(
        "mihash",
        "mAP with ties in database order, without undefined queries; an empty ball counts as 0.",
        source="MIHash and the authors' online hashing code, mAP by VLFeat's vl_pr, mAP_N and prec_n",
        metrics=("mAP[index]", "mAP@1000[retrieved]", "precision@r2"),
        called_map=("mAP[index]", "mAP@1000[retrieved]"),
        drops=("mAP",),
        not_copied=(_CUT, "One of the two AP functions of its deep version omits the precision at rank 1."),
    ),
)
"""Our own convention, then those of papers, then those of tools."""
