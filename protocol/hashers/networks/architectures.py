"""The values of the option `network` of neural hashers: networks from features to real-valued codes."""

from typing import TYPE_CHECKING

from protocol.checks import ProtocolError, one_of

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

SIDE = 32
"""The height and width, in pixels, of the images that the convolutional network accepts; they have three channels."""
_HIDDEN = 500


def linear(n_features: int, n_bits: int) -> "Module":
    """Return one linear layer: only the hash layer, for features that may come from another network."""
    from torch.nn import Linear, Sequential

    return Sequential(Linear(n_features, n_bits))


def mlp(n_features: int, n_bits: int) -> "Module":
    """Return two linear layers with 500 rectified units between them, like the last two layers of `convolutional`."""
    from torch.nn import Linear, ReLU, Sequential

    return Sequential(Linear(n_features, _HIDDEN), ReLU(), Linear(_HIDDEN, n_bits))


def convolutional(n_features: int, n_bits: int) -> "Module":
    """Return the network of deep supervised hashing: three 5 x 5 convolutions and two linear layers for 32 x 32 images.

    It has 32, 32 and 64 channels, each halved in height and width by 3 x 3 pooling (one max pooling, then two mean
    poolings), and 500 rectified units (Liu et al. 2016, figure 1). Rows are images from the feature `pixels`.
    """
    from torch.nn import AvgPool2d, Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential

    class OfRows(Conv2d):
        """A convolution of images that are given as rows of pixels."""

        def forward(self, X: "Tensor") -> "Tensor":
            return super().forward(X.view(-1, SIDE, SIDE, 3).permute(0, 3, 1, 2))  # memory is channels-last

    return Sequential(
        *(OfRows(3, 32, 5, padding=2), MaxPool2d(3, 2, 1), ReLU()),
        *(Conv2d(32, 32, 5, padding=2), ReLU(), AvgPool2d(3, 2, 1)),
        *(Conv2d(32, 64, 5, padding=2), ReLU(), AvgPool2d(3, 2, 1)),
        *(Flatten(), Linear(64 * (SIDE // 8) ** 2, _HIDDEN), ReLU()),
        Linear(_HIDDEN, n_bits),
    )


ARCHITECTURES = {"linear": linear, "mlp": mlp, "conv": convolutional}


def architecture(name: str, n_features: int, n_bits: int) -> "Module":
    """Return a network for rows of `n_features`; ProtocolError if the name is unknown or the number does not fit."""
    check_features(name, n_features)
    return ARCHITECTURES[name](n_features, n_bits)


def check_features(name: str, n_features: int) -> None:
    """Raise ProtocolError if no network has this name, or it does not accept rows of `n_features`."""
    one_of(name, ARCHITECTURES, "network")
    if name == "conv" and n_features != 3 * SIDE * SIDE:
        raise ProtocolError(
            f"network 'conv': expected rows of {3 * SIDE * SIDE} features, images of {SIDE} x {SIDE} pixels in three "
            f"channels from the feature `pixels`, got {n_features}. Use 'mlp' or 'linear' for other features."
        )
