"""Deep squared hashing: similar pairs get equal codes, dissimilar pairs codes that are as far apart as possible."""

from typing import TYPE_CHECKING, ClassVar

from protocol.hashers.networks.base import NO_PRETRAINING, NetworkHasher
from protocol.hashers.networks.objectives import shared_labels, squared
from protocol.registry import HasherRecord

if TYPE_CHECKING:
    from torch import Tensor

DEVIATIONS = (
    f"{NO_PRETRAINING}The two lines of eq. 4 differ; we use the second. beta grows to the value that the paper reaches "
    "after 400 epochs with its factor 1.005, over any number of epochs."
)


@HasherRecord(
    "deep_squared",
    printed="DSH (squared)",
    source="Jiang, Li, Li, On the Evaluation Metric for Hashing, section 4.2, eq. 4",
    deviations=DEVIATIONS,
    bits_within_features=False,
    random=True,
    extra="learned",
)
class DeepSquared(NetworkHasher):
    """Deep squared hashing: a network that draws similar pairs to distance 0 and others to distance n_bits.

    The loss is ``mean over S+ of d^2 + mean over S- of (n_bits - d)^2``, with ``d = (n_bits - h_k . h_l) / 2`` for the
    codes ``h = tanh(beta g(x))`` of a minibatch. beta is 1 in the first epoch and 7.35 in the last, and grows by the
    same factor every epoch. All layers start as in `NetworkHasher`, and the learning rate is halved for the second
    half, as in the paper. Parameters and attributes are those of `NetworkHasher`.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, section 4.2, eq. 4, and section 5.1.
    """

    decay = (0.5, 2)
    beta_growth: ClassVar[float] = 1.005
    """The factor by which beta grows in each of the paper's 400 epochs."""

    def _loss(self, outputs: "Tensor", labels: "Tensor", rows: "Tensor", epoch: int) -> "Tensor":
        return squared(self._relaxed(outputs, epoch), shared_labels(labels))

    def _relaxed(self, outputs: "Tensor", epoch: int) -> "Tensor":
        beta = (self.beta_growth**400) ** (epoch / max(1, self.epochs - 1))
        return (beta * outputs).tanh()
