"""The networks that the option `network` of a neural hasher names, from features to real-valued codes."""

from typing import TYPE_CHECKING

from protocol.checks import ProtocolError, one_of

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

SIDE = 32
"""Pixels: the convolutional network takes images of 32 x 32, of three channels."""
_HIDDEN = 500


def linear(n_features: int, n_bits: int) -> "Module":
    """Return one linear layer: the hash layer alone, over features that another network may have made."""
    from torch.nn import Linear, Sequential

    return Sequential(Linear(n_features, n_bits))


def mlp(n_features: int, n_bits: int) -> "Module":
    """Return two linear layers with 500 rectified units between them: the last two of `convolutional`."""
    from torch.nn import Linear, ReLU, Sequential

    return Sequential(Linear(n_features, _HIDDEN), ReLU(), Linear(_HIDDEN, n_bits))


def convolutional(n_features: int, n_bits: int) -> "Module":
    """Return three convolutions of 5 x 5 and two linear layers, for images of 32 x 32: deep supervised hashing's.

    32, 32 and 64 channels, each halved in height and width by a 3 x 3 pool (the largest value, then twice the mean),
    and 500 rectified units (Liu et al. 2016, figure 1). Rows are images as the feature `pixels` extracts them.
    """
    from torch.nn import AvgPool2d, Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential

    class OfRows(Conv2d):
        """A convolution of images that come as rows of pixels."""

        def forward(self, X: "Tensor") -> "Tensor":
            return super().forward(X.view(-1, SIDE, SIDE, 3).permute(0, 3, 1, 2))  # pixels already lie channels last

    return Sequential(
        *(OfRows(3, 32, 5, padding=2), MaxPool2d(3, 2, 1), ReLU()),
        *(Conv2d(32, 32, 5, padding=2), ReLU(), AvgPool2d(3, 2, 1)),
        *(Conv2d(32, 64, 5, padding=2), ReLU(), AvgPool2d(3, 2, 1)),
        *(Flatten(), Linear(64 * (SIDE // 8) ** 2, _HIDDEN), ReLU()),
        Linear(_HIDDEN, n_bits),
    )


ARCHITECTURES = {"linear": linear, "mlp": mlp, "conv": convolutional}


def architecture(name: str, n_features: int, n_bits: int) -> "Module":
    """Return a network for rows of `n_features`; ProtocolError if the name is unknown or it can't take them."""
    check_features(name, n_features)
    return ARCHITECTURES[name](n_features, n_bits)


def check_features(name: str, n_features: int) -> None:
    """Raise ProtocolError if no network has this name, or it can't take rows of `n_features`."""
    one_of(name, ARCHITECTURES, "network")
    if name == "conv" and n_features != 3 * SIDE * SIDE:
        raise ProtocolError(
            f"network 'conv': expected rows of {3 * SIDE * SIDE} features, images of {SIDE} x {SIDE} pixels in three "
            f"channels as the feature `pixels` extracts them, got {n_features}. Use 'mlp' or 'linear' for others."
        )
