"""CSQ: central similarity quantization, in which codes are pulled to the hash centres of their classes."""

import numpy as np

from protocol.hashers.networks.base import NetworkHasher, Tensor
from protocol.hashers.supervised.classifier import class_codes
from protocol.hashers.training_set import TrainingSet
from protocol.registry import NetworkRecord, NotNegative


@NetworkRecord.declared
class CSQ(NetworkHasher):
    """Central similarity quantization: a network whose codes are pulled to fixed, distant centres of the classes.

    The loss is ``L_C + lambda_1 L_Q`` with ``h = sigmoid(g(x))``: L_C is the mean over bits of the binary cross-entropy
    between h and the row's centre, and L_Q is ``sum_j log cosh(|2 h_j - 1| - 1)``. The centre of a row with several
    labels is the majority vote of their centres; ties are broken at random. All layers start as in `NetworkHasher`, and
    the learning rate is constant. Parameters and attributes are as for `NetworkHasher`, and:

    Parameters
    ----------
    lambda_1 : float, default 0.0001
        Weight of the quantization loss L_Q, at least 0.

    References
    ----------
    Yuan, Wang, Zhang, Tay, Jie, Liu, Feng, *Central Similarity Quantization for Efficient Image and Video Retrieval*,
    CVPR 2020, section 3, Algorithm 1.
    """

    lambda_1: NotNegative = 1e-4

    def _prepare(self, training: TrainingSet, rng: np.random.Generator) -> None:
        has_label = training.memberships
        votes = has_label @ np.where(class_codes(has_label.shape[1], self.n_bits, rng), 1.0, -1.0)
        self._centre_of_row = np.where(votes == 0, rng.random(votes.shape) < 0.5, votes > 0)

    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        from torch.nn.functional import binary_cross_entropy_with_logits

        centres = outputs.new_tensor(self._centre_of_row[rows.cpu().numpy()])
        quantization = ((2 * outputs.sigmoid() - 1).abs() - 1).cosh().log().sum(dim=1).mean()
        return binary_cross_entropy_with_logits(outputs, centres) + self.lambda_1 * quantization
