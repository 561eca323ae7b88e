"""MIHash: maximises the mutual information between the Hamming distance and the neighbourhood of two items."""

from protocol.hashers.networks.base import NetworkHasher, Tensor, shared_labels
from protocol.registry import NetworkRecord, Positive


@NetworkRecord.declared
class MIHash(NetworkHasher):
    """MIHash: a network whose Hamming distances distinguish neighbours from other items, by mutual information.

    Every row of a minibatch queries the others, and the mean over the queries of ``I(D; C) = H(D) - H(D | C)`` is
    maximised. D is the distance ``(n_bits - h . h_q) / 2`` of codes ``h = 2 sigmoid(slope g(x)) - 1``, and C is whether
    the item shares a label with the query. The distributions are soft histograms of triangular bins. All layers start
    as in `NetworkHasher`, and the learning rate is constant. Parameters and attributes are as for `NetworkHasher`,
    and:

    Parameters
    ----------
    bin_width : float, default 2
        Distance in bits between the centres of two bins, above 0. The authors' code has n_bits / 2 bins, so 2.
    slope : float, default 1
        Slope of the sigmoid, above 0.

    Notes
    -----
    Mutual information does not distinguish near from far: codes with which neighbours are farther away than other items
    would have the same value. Training starts from random functions of the features, with which neighbours are nearer,
    and only has to preserve that order.

    References
    ----------
    Cakir, He, Bargal, Sclaroff, *MIHash: Online Hashing with Mutual Information*, ICCV 2017, section 3. The same,
    *Hashing with Mutual Information*, IEEE TPAMI 2019 (arXiv:1803.00974), section 3. github.com/fcakir/deep-mihash,
    ``mihash/mi_forward.m``.
    """

    bin_width: Positive = 2
    slope: Positive = 1

    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        codes = (self.slope / 2 * outputs).tanh()  # 2 sigmoid(z) - 1 = tanh(z / 2)
        return -mutual_information(codes, shared_labels(labels), bin_width=self.bin_width)


def mutual_information(codes: Tensor, shared: Tensor, *, bin_width: float) -> Tensor:
    r"""Return the mean of I(D; C) over a minibatch, in bits, where each row is a query to all others.

    .. math:: I(D; C) = H(D) - P(+) H(D \mid +) - P(-) H(D \mid -)

    Parameters
    ----------
    codes : Tensor, shape (n, k)
        Relaxed codes, in [-1, 1].
    shared : Tensor, shape (n, n)
        The number of labels that two rows share; 0 for non-neighbours.
    bin_width : float

    Notes
    -----
    A query without neighbours, or with neighbours only, has I = 0.
    """
    import torch

    others = ~torch.eye(len(codes), dtype=torch.bool, device=codes.device)
    neighbour = others & (shared > 0)
    distance = (codes.shape[1] - codes @ codes.T) / 2
    near, all_others = (soft_histogram(distance, of, codes.shape[1], bin_width) for of in (neighbour, others))
    share = neighbour.sum(dim=1).to(codes) / (len(codes) - 1)
    conditional = share * _entropy(near) + (1 - share) * _entropy(all_others - near)
    return (_entropy(all_others) - conditional).mean()


def soft_histogram(distance: Tensor, counted: Tensor, n_bits: int, bin_width: float) -> Tensor:
    """Return soft histograms of the counted distances of each row; a distance is divided between two bins.

    Bins have their centres at 0, bin_width, 2 bin_width ...; a distance of 2.3 counts 0.85 at 2 and 0.15 at 4. With a
    bin_width of 1 these are the histograms of `protocol.hashers.talr.objectives`, here with PyTorch's gradients.

    Parameters
    ----------
    distance : Tensor of float, shape (n, m)
        From 0 to n_bits, except for rounding.
    counted : Tensor of bool, shape (n, m)
    n_bits : int
    bin_width : float

    Returns
    -------
    Tensor of float, shape (n, ceil(n_bits / bin_width) + 1)
    """
    n_centres = max(1, -int(-n_bits // bin_width)) + 1
    position = distance.clamp(0, n_bits) / bin_width
    below = position.detach().long().clamp(min=0, max=n_centres - 2)  # NaN becomes a huge negative integer
    above = position - below
    histogram = distance.new_zeros(len(distance), n_centres).scatter_add(1, below, (1 - above) * counted)
    return histogram.scatter_add(1, below + 1, above * counted)


def _entropy(histogram: Tensor) -> Tensor:
    """Return the entropy of each row's distribution in bits; 0 for an empty histogram."""
    p = histogram / histogram.sum(dim=1, keepdim=True).clamp(min=1)
    return -(p * p.where(p > 0, p.new_ones(())).log2()).sum(dim=1)
