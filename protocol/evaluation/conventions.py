"""Conventions: how papers and tools score, each as registered metrics and what they do with an undefined value."""

from dataclasses import dataclass

from protocol.checks import one_of


@dataclass(frozen=True)
class Convention:
    """How a paper or a tool scores: data only, the computing is the metrics'.

    Parameters
    ----------
    name : str
    summary : str
        One line.
    source : str
        Paper and equation, or the public code and its function.
    metrics : tuple of str
        Registered metrics with their numbers, in the order of the table. Ties and denominator are in the names.
    called_map : tuple of str
        Those of them whose value the source prints as mAP.
    drops : tuple of str
        The starts of the names of metrics that leave undefined queries out of the mean; all others count them as 0.
    not_copied : tuple of str
        What the original does otherwise, bugs included, so that its numbers may differ from these.
    """

    name: str
    summary: str
    source: str
    metrics: tuple[str, ...]
    called_map: tuple[str, ...] = ("mAP",)
    drops: tuple[str, ...] = ()
    not_copied: tuple[str, ...] = ()

    def empty(self, metric: str) -> str:
        """Return what an undefined value of a metric is, as its keyword ``empty``: ``"zero"`` or ``"drop"``."""
        return "drop" if metric.startswith(self.drops) else "zero"


def find(name: str) -> Convention:
    """Return the convention of a name.

    Raises
    ------
    ProtocolError
        If there is none; the known ones are listed.

    Examples
    --------
    >>> find("hashnet").empty("mAP@1000[retrieved]"), find("deephash").empty("mAP@1000[retrieved]")
    ('drop', 'zero')
    """
    one_of(name, (convention.name for convention in CONVENTIONS), "convention", listing="protocol list conventions")
    return next(convention for convention in CONVENTIONS if convention.name == name)


_UNSTABLE = "Ties come in the order of an unstable sort, which moves with its version; here the expected value."
_CUT = "Ties at a cutoff come in database order; here the expected value."
_LAST_RADIUS = "The curve stops one radius below the largest distance observed; here it has every radius 0..n_bits."

CONVENTIONS = (
    Convention(
        "protocol",
        "This project's own: expected over ties with their range beside it, all relevant items, undefined is 0.",
        source="the metrics' own sources, see `protocol list metrics`",
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
        "RAMAP and precision by radius, an empty ball 0; mAP over the relevant items among the returned ones.",
        source="Jiang, Li, Li, On the Evaluation Metric for Hashing, eq. 1, tables 1-3",
        metrics=(
            "mAP@5000[retrieved]",
            "mAP@50000[retrieved]",
            *(f"{name}@r{radius}" for name in ("precision", "recall", "RAMAP") for radius in range(3)),
        ),
        called_map=("mAP@5000[retrieved]", "mAP@50000[retrieved]"),
        not_copied=(
            "The printed MAP has no cutoff and all relevant items in its denominator, which the table contradicts.",
            "Public code of that name takes the mean over the radii 0..n_bits, whatever R is.",
            "Public code of that name may leave out the division by the number of codes in the ball.",
        ),
    ),
    Convention(
        "talr",
        "Expected values over ties in closed form; a cutoff with the relevant items above it.",
        source="He et al., Hashing as Tie-Aware Learning to Rank, eq. 6, 7, 17 and 20, and the released code",
        metrics=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]", "nDCG"),
        called_map=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]"),
        not_copied=(
            "Eq. 17 has all relevant items in its denominator (mAP@K[all]), the released code those in the top K.",
            "The released AP drops the precision at rank 1.",
            "The released tie-aware AP leaves queries without relevant items out of the mean if they come last.",
            "The released nDCG is 1 for a query without relevant items; here 0.",
            "The released nDCG computes gains in 8-bit integers: a level above 6 gains 126.",
        ),
    ),
    Convention(
        "mlgap",
        "mLGAP, and the range that the order of ties alone gives mAP.",
        source="Mean Local Group Average Precision, eq. 10-11, figures 2 and 8",
        metrics=("mLGAP@r2", "mAP", "mAP[best]", "mAP[worst]", "utilisation"),
        not_copied=(
            "The paper names neither the radius of its table nor the value of an empty ball; here 2 and 0.",
            "Its own mAP has the order of ties that came; here the expected value between the best and the worst.",
            "It divides the number of codes in use by 2^n_bits; here by the database where that is smaller.",
        ),
    ),
    Convention(
        "thesis",
        "Pooled precision and recall over the radius and the area under their curve; mAP in database order.",
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
        not_copied=(_LAST_RADIUS, "Eq. 3.11 is a sum (AUPRC[sum]), its footnote and the code a trapezoidal rule."),
    ),
    Convention(
        "habir",
        "What its code calls mAP: the area under the pooled precision-recall curve, from recall 0 on.",
        source="HABIR toolkit, area_RP and recall_precision",
        metrics=("AUPRC[area]", "precision_micro@r2", "recall_micro@r2"),
        called_map=("AUPRC[area]",),
        not_copied=(
            _LAST_RADIUS,
            "Points with a recall that was there before are left out.",
            "A byte that differs in all its eight bits adds 7 to the Hamming distance, by a table that saturates.",
        ),
    ),
    Convention(
        "deephash",
        "Relevant items among the top K in the denominator; a query without any counts 0.",
        source="DeepHash-pytorch, CalcTopMap",
        metrics=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]"),
        called_map=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]"),
        not_copied=(
            _UNSTABLE,
            "K = -1, the setting for CIFAR-10, leaves out the last item; here the whole database.",
            "Queries whose precision is 0 are left out of its precision-recall curve.",
        ),
    ),
    Convention(
        "hashnet",
        "Relevant items among the top K in the denominator; queries without any are left out. Empty balls count 0.",
        source="HashNet and DeepHash of the same group (thuml, thulab), get_mAPs and the precision at radius 2",
        metrics=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]", "precision@r2"),
        called_map=("mAP", "mAP@1000[retrieved]", "mAP@5000[retrieved]"),
        drops=("mAP",),
        not_copied=(
            _UNSTABLE,
            "A query is left out if its one order has no hit; here the value is expected over the orders with one.",
            "Its mAP within a ball ranks again by real-valued features, which codes don't have.",
        ),
    ),
    Convention(
        "mihash",
        "mAP in database order, undefined queries left out; an empty ball counts 0.",
        source="MIHash and the authors' online hashing code, mAP by VLFeat's vl_pr, mAP_N and prec_n",
        metrics=("mAP[index]", "mAP@1000[retrieved]", "precision@r2"),
        called_map=("mAP[index]", "mAP@1000[retrieved]"),
        drops=("mAP",),
        not_copied=(_CUT, "One of the two AP functions of its deep version drops the precision at rank 1."),
    ),
)
"""This project's own, the papers', the tools'."""
