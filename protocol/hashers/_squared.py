"""What deep squared hashing and m-DSH share: the squared loss, and a growing tanh that draws codes to the corners."""

from typing import TYPE_CHECKING, ClassVar

from protocol.hashers._network_hasher import NO_PRETRAINING, NetworkHasher
from protocol.hashers._objectives import squared

if TYPE_CHECKING:
    from torch import Tensor

DEVIATIONS = (
    f"{NO_PRETRAINING}Of eq. 4's two lines, which differ, the second. beta grows to what 400 epochs of the paper's "
    "factor 1.005 make of it, over however many epochs there are."
)
_BETA_LAST = 1.005**400


class SquaredHasher(NetworkHasher):
    """A network trained by the squared loss, on codes ``tanh(beta g(x))``; ``bit_j(x) = [g_j(x) >= 0]``.

    beta is 1 in the first epoch and 7.35 in the last, and grows by the same factor every epoch; the learning rate is
    halved for the second half, as the paper's.
    """

    decay = (0.5, 2)
    m: ClassVar[int]
    """Hamming distance that similar pairs are pulled to."""

    def _loss(self, outputs: "Tensor", shared: "Tensor", epoch: int) -> "Tensor":
        beta = _BETA_LAST ** (epoch / max(1, self.epochs - 1))
        return squared((beta * outputs).tanh(), shared, m=self.m)
