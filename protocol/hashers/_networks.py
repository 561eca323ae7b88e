"""Networks from features to real-valued codes, as functions of one flat vector of parameters.

One vector is what a file keeps, what a checkpoint keeps, and what the optimiser moves; a network says how it is cut up.
"""

import abc
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, known

if TYPE_CHECKING:
    from torch import Tensor

SIDE = 32
"""Pixels: the images that the convolutional network takes are 32 x 32, of three channels."""
_HIDDEN = 500


class Network(abc.ABC):
    """A function of rows (n, d) and parameters, whose `shapes` alternate between weights and biases of its layers."""

    def __init__(self, n_features: int, n_bits: int) -> None:
        self.shapes = self._shapes(n_features, n_bits)

    @abc.abstractmethod
    def _shapes(self, n_features: int, n_bits: int) -> list[tuple[int, ...]]: ...

    @abc.abstractmethod
    def _apply(self, X: "Tensor", layers: "Sequence[Tensor]") -> "Tensor": ...

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return sum(map(prod, self.shapes))

    def initial(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return parameters to begin with: weights normal with variance 2 / fan-in (He et al. 2015), biases zero."""
        drawn = [
            rng.normal(scale=np.sqrt(2 / prod(shape[1:])), size=shape) if len(shape) > 1 else np.zeros(shape)
            for shape in self.shapes
        ]
        return np.concatenate([layer.ravel() for layer in drawn]).astype(np.float32)

    def __call__(self, X: "Tensor", parameters: "Tensor") -> "Tensor":
        """Return the outputs (n, n_bits)."""
        layers = parameters.split([prod(shape) for shape in self.shapes])
        return self._apply(X, [layer.view(shape) for layer, shape in zip(layers, self.shapes, strict=True)])


class Linear(Network):
    """One linear layer: the hash layer alone, over features that another network may have made."""

    def _shapes(self, n_features: int, n_bits: int) -> list[tuple[int, ...]]:
        return [(n_bits, n_features), (n_bits,)]

    def _apply(self, X: "Tensor", layers: "Sequence[Tensor]") -> "Tensor":
        from torch.nn import functional

        return functional.linear(X, *layers)


class MLP(Network):
    """Two linear layers with 500 rectified units between them: the last two of `Convolutional`."""

    def _shapes(self, n_features: int, n_bits: int) -> list[tuple[int, ...]]:
        return [(_HIDDEN, n_features), (_HIDDEN,), (n_bits, _HIDDEN), (n_bits,)]

    def _apply(self, X: "Tensor", layers: "Sequence[Tensor]") -> "Tensor":
        from torch.nn import functional

        weight, bias, *last = layers
        return functional.linear(functional.relu(functional.linear(X, weight, bias)), *last)


class Convolutional(Network):
    """Three convolutions of 5 x 5 and two linear layers, on images of 32 x 32: deep supervised hashing's network.

    32, 32 and 64 channels, each halved in height and width by a 3 x 3 pool (the largest value, then twice the mean),
    and 500 rectified units (Liu et al. 2016, figure 1). Rows are images as the feature `pixels` gives them.
    """

    def _shapes(self, n_features: int, n_bits: int) -> list[tuple[int, ...]]:
        if n_features != 3 * SIDE * SIDE:
            raise ProtocolError(
                f"network 'conv': wanted rows of {3 * SIDE * SIDE} features, images of {SIDE} x {SIDE} pixels in three "
                f"channels as the feature `pixels` gives them, came {n_features}; take 'mlp' or 'linear' for others"
            )
        convolutions = [(32, 3, 5, 5), (32,), (32, 32, 5, 5), (32,), (64, 32, 5, 5), (64,)]
        return [*convolutions, (_HIDDEN, 64 * (SIDE // 8) ** 2), (_HIDDEN,), (n_bits, _HIDDEN), (n_bits,)]

    def _apply(self, X: "Tensor", layers: "Sequence[Tensor]") -> "Tensor":
        import torch
        from torch.nn import functional

        images = X.view(-1, SIDE, SIDE, 3).permute(0, 3, 1, 2)  # no copy: pixels already lie channels last
        first, second, third, *dense = (layers[i : i + 2] for i in range(0, len(layers), 2))
        maps = functional.relu(functional.max_pool2d(_convolved(images, first), 3, 2, 1))
        for layer in (second, third):
            maps = functional.avg_pool2d(functional.relu(_convolved(maps, layer)), 3, 2, 1)
        hidden = functional.relu(functional.linear(torch.flatten(maps, start_dim=1), *dense[0]))
        return functional.linear(hidden, *dense[1])


def _convolved(maps: "Tensor", layer: "Sequence[Tensor]") -> "Tensor":
    import torch
    from torch.nn import functional

    weight, bias = layer
    return functional.conv2d(maps, weight.contiguous(memory_format=torch.channels_last), bias, padding=2)


NETWORKS: dict[str, type[Network]] = {"linear": Linear, "mlp": MLP, "conv": Convolutional}


def network(name: str, n_features: int, n_bits: int) -> Network:
    """Return a network for rows of `n_features`; ProtocolError if the name is unknown or it can't take them."""
    return NETWORKS[known(name, NETWORKS, "network")](n_features, n_bits)
