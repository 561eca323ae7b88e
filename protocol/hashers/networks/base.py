"""The base class of neural hashers, trained in minibatches on class labels; their networks, and relations of rows."""

import abc
import contextlib
from collections.abc import Iterator, Mapping
from math import ceil, prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, need
from protocol.hashers.base import Hasher
from protocol.hashers.training import progress
from protocol.hashers.training_set import TrainingSet
from protocol.registry import Count, NotNegative, Positive, at_least, choice

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
else:  # for the annotations of hashers, without an import of PyTorch
    Tensor = Module = Any

PRECISIONS = ("float32", "bfloat16")


class NetworkHasher(Hasher):
    """Signs of a network's outputs, trained in minibatches on class labels: ``bit_j(x) = [g_j(x) >= 0]``.

    A subclass implements ``_loss(outputs, labels, rows, epoch)``. To replace the networks of the option `network`, it
    implements ``_network(n_features, n_bits)``, which returns any `torch.nn.Module` from rows (n, n_features) to
    outputs (n, n_bits). What a loss requires from the whole training set is computed by ``_prepare(training, rng)``.
    These methods import PyTorch themselves, so that hashers can be listed without it.

    Parameters
    ----------
    n_bits : int, default 32
    seed : int, default 0
        Seed of the initial weights, of the order of rows and of PyTorch's generator.
    network : {"mlp", "linear", "conv"}, default "mlp"
        For any features, two linear layers with 500 rectified units between them, or one linear layer; or, for
        ``pixels`` of 32 x 32 images, three convolutions and two linear layers.
    epochs : int, default 30
        Number of passes over the training set, at least 1.
    batch_size : int, default 128
        Largest number of rows in a minibatch, at least 3. An epoch is divided into batches of nearly equal size; no
        batch is a single row, which has no pairs.
    learning_rate : float, default 0.001
        Learning rate of Adam in the first epoch.
    weight_decay : float, default 5e-5
        Multiple of the parameters that is added to the gradient; may be 0.
    precision : {"float32", "bfloat16"}, default "float32"
        Number format of products and convolutions in training (PyTorch's autocast). Parameters, loss and optimiser are
        always float32, and so is encoding. On a CPU with AMX, "bfloat16" halves the time of an epoch of convolutions.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows, subtracted from every row.
    scale_ : ndarray of float32, shape (1,)
        The divisor of centred rows: their root mean square in training, or 1 if the weights of the network's first
        layer were divided by it instead.
    network_ : torch.nn.Module
        The trained network, on the CPU. A model file stores its ``state_dict``, array by array.
    fit_record_ : dict
        The mean ``loss`` of the first and the last epoch, the number of ``epochs``, the ``device``, and the version of
        PyTorch, ``torch``.

    Notes
    -----
    Initial weights are normal with variance 2 / fan-in (He et al. 2015), and biases are 0. A subclass may give the last
    layer another standard deviation, `hash_layer_deviation`.

    On a CPU, the same seed gives the same bytes for any number of cores, because training uses one thread. If there is
    a GPU, it is used for training, without this guarantee; codes are always computed on the CPU.
    """

    learned = {"mean_": ("float32", "d"), "scale_": ("float32", 1)}
    supervision = "labels"
    decay: ClassVar[tuple[float, int]] = (1.0, 1)
    """The factor of the learning rate, and the number of equal periods of epochs between which it is applied."""
    hash_layer_deviation: ClassVar[float | None] = None
    """Standard deviation of the initial weights of the last layer, which returns the codes; None: as in other layers.
    """

    network: Annotated[str, choice("conv", "linear", "mlp")] = "mlp"
    epochs: Count = 30
    batch_size: Annotated[int, at_least(3)] = 128
    learning_rate: Positive = 1e-3
    weight_decay: NotNegative = 5e-5
    precision: Annotated[str, choice(*PRECISIONS)] = "float32"

    @abc.abstractmethod
    def _loss(self, outputs: Tensor, labels: Tensor, rows: Tensor, epoch: int) -> Tensor:
        """Return the objective of a minibatch, a scalar.

        Parameters
        ----------
        outputs : Tensor of float32, shape (n, n_bits)
            Unbounded outputs of the network.
        labels : Tensor of int64, shape (n,), or of bool, shape (n, n_classes)
            Labels as in ``training.labels``.
        rows : Tensor of int64, shape (n,)
            Indices of the items in the training set.
        epoch : int
            Number of the epoch, from 0.
        """

    def _prepare(self, training: TrainingSet, rng: np.random.Generator) -> None:
        """Compute what the loss requires from the training set; called first in a fit."""

    def _network(self, n_features: int, n_bits: int) -> Module:
        """Return the network to train; its weights are set by `_initialise`.

        ``linear`` is only the hash layer, for features that may come from another network; ``mlp`` has two linear
        layers with 500 rectified units between them, like the last two layers of `convolutional`, which is ``conv``.
        """
        from torch.nn import Linear, ReLU, Sequential

        if self.network == "conv":
            return convolutional(n_bits)
        if self.network == "linear":
            return Sequential(Linear(n_features, n_bits))
        return Sequential(Linear(n_features, _HIDDEN), ReLU(), Linear(_HIDDEN, n_bits))

    def _initialise(self, network: Module, rng: np.random.Generator) -> None:
        """Draw weights from a normal distribution of variance 2 / fan-in (He et al. 2015), and set biases to 0.

        The weights of the last layer have the standard deviation `hash_layer_deviation` if the class defines one. Other
        parameters, such as the weights of batch normalisation, keep the values that their modules gave them.
        """
        import torch

        hash_layer = [name for name, parameter in network.named_parameters() if parameter.ndim > 1][-1:]
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                if parameter.ndim > 1:
                    deviation = self.hash_layer_deviation if name in hash_layer else None
                    deviation = deviation or np.sqrt(2 / prod(parameter.shape[1:]))
                    drawn = rng.normal(scale=deviation, size=tuple(parameter.shape))
                    parameter.copy_(torch.from_numpy(drawn.astype(np.float32)))
                elif name.endswith("bias"):
                    parameter.zero_()

    def _check_features(self, n_features: int) -> None:
        """Raise ProtocolError if the network does not accept rows of `n_features`."""
        size = 3 * SIDE * SIDE
        if type(self)._network is NetworkHasher._network and self.network == "conv" and n_features != size:
            images = f"{size:,} features, images of {SIDE} x {SIDE} pixels in three channels from the feature `pixels`"
            advice = "Use 'mlp' or 'linear' for other features."
            raise ProtocolError(f"network 'conv': expected {images}, got {n_features:,}. {advice}")

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict[str, Any]:
        torch = need("torch", "learned")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        with _reproducible(device):
            self._prepare(training, rng)
            network = self._module(training.X.shape[1])
            self._initialise(network, rng)
            losses = self._train(network.to(device), training, device)
        self.network_ = network.cpu().eval()
        self.mean_, scale = training.mean, np.float32(training.scale)
        if type(self)._network is NetworkHasher._network:  # divide the weights of its linear first layer
            next(self.network_.parameters()).detach().numpy()[...] /= scale
            scale = np.float32(1)
        self.scale_ = np.array([scale])
        loss = [losses[0], losses[-1]]
        return {"epochs": len(losses), "loss": loss, "device": device, "torch": str(torch.__version__)}

    def _train(self, network: Module, training: TrainingSet, device: str) -> list[float]:
        """Train a network, and return the mean loss of every epoch."""
        import torch

        factor, periods = self.decay
        optimiser = torch.optim.Adam(network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda i: factor ** (i * periods // self.epochs))
        y, n_steps, losses = training.labels, ceil(len(training.X) / self.batch_size), list[float]()
        every_label = torch.from_numpy(y.astype(bool if y.ndim == 2 else np.int64))
        with progress(f"{type(self).__name__}, {self.n_bits} bits", self.epochs * n_steps) as steps:
            for epoch in range(self.epochs):
                rng = np.random.default_rng([self.seed, epoch])
                order = rng.permutation(len(training.X))
                torch.manual_seed(int(rng.integers(2**63)))
                network.train()
                for rows in np.array_split(order, n_steps):
                    batch = torch.from_numpy((training.X[rows] - training.mean) / np.float32(training.scale))
                    index = torch.from_numpy(rows)
                    with torch.autocast(device, torch.bfloat16, enabled=self.precision == "bfloat16"):
                        outputs = network(batch.to(device))
                    labels = every_label[index].to(device)
                    loss = self._loss(outputs.float(), labels, index.to(device), epoch)
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
                    steps.step(loss.item())
                schedule.step()
                losses.append(float(np.mean(steps.values[-n_steps:])))
        return losses

    def _module(self, n_features: int) -> Module:
        """Return an untrained network, with a fixed seed of PyTorch's generator."""
        import torch

        torch.manual_seed(int(np.random.default_rng(self.seed).integers(2**63)))
        return self._network(n_features, int(self.n_bits))

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        import torch

        rows = (X - self.mean_) / self.scale_
        with _reproducible("cpu"), torch.inference_mode():
            return self.network_(torch.from_numpy(rows)).numpy() >= 0

    def _learned_arrays(self) -> dict[str, NDArray]:
        return super()._learned_arrays() | _arrays_of(self.network_)

    def _set_learned_arrays(self, arrays: Mapping[str, NDArray], n_features: int, where: str) -> None:
        torch = need("torch", "learned")
        with _reproducible("cpu"):
            network = self._module(n_features)
        declared = {name: (str(array.dtype), *array.shape) for name, array in _arrays_of(network).items()}
        checked = self._checked(arrays, {**self.learned, **declared}, n_features, where)
        network.load_state_dict({name.partition("/")[2]: torch.tensor(checked[name]) for name in declared})
        self.network_ = network.eval()
        vars(self).update({name: checked[name] for name in self.learned})


def _arrays_of(network: Module) -> dict[str, NDArray]:
    """Return the parameters and buffers of a network as C-contiguous arrays, by the names in a model file."""
    return {f"network_/{name}": value.cpu().contiguous().numpy() for name, value in network.state_dict().items()}


@contextlib.contextmanager
def _reproducible(device: str) -> Iterator[None]:
    """Compute on one thread with deterministic algorithms, and restore the previous state and generators afterwards.

    PyTorch's deterministic mode also fills new memory with NaN, to reveal reads of uninitialised memory. No operation
    of our networks reads such memory, and filling takes a fifth of the time, so it is disabled.
    """
    import torch

    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    memory: Any = torch.utils.deterministic  # a type checker does not see its property
    fills = memory.fill_uninitialized_memory
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(device == "cpu")
    memory.fill_uninitialized_memory = False
    try:
        with torch.random.fork_rng(list(devices)):
            yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)
        memory.fill_uninitialized_memory = fills


SIDE = 32
"""The height and width, in pixels, of the images that the convolutional network accepts; they have three channels."""
_HIDDEN = 500


def convolutional(n_bits: int) -> Module:
    """Return the network of deep supervised hashing: three 5 x 5 convolutions and two linear layers for 32 x 32 images.

    It has 32, 32 and 64 channels, each halved in height and width by 3 x 3 pooling (one max pooling, then two mean
    poolings), and 500 rectified units (Liu et al. 2016, figure 1). Rows are images from the feature `pixels`.
    """
    from torch.nn import AvgPool2d, Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential

    class OfRows(Conv2d):
        """A convolution of images that are given as rows of pixels."""

        def forward(self, X: Tensor) -> Tensor:
            return super().forward(X.view(-1, SIDE, SIDE, 3).permute(0, 3, 1, 2))  # memory is channels-last

    return Sequential(
        *(OfRows(3, 32, 5, padding=2), MaxPool2d(3, 2, 1), ReLU()),
        *(Conv2d(32, 32, 5, padding=2), ReLU(), AvgPool2d(3, 2, 1)),
        *(Conv2d(32, 64, 5, padding=2), ReLU(), AvgPool2d(3, 2, 1)),
        *(Flatten(), Linear(64 * (SIDE // 8) ** 2, _HIDDEN), ReLU()),
        Linear(_HIDDEN, n_bits),
    )


def shared_labels(labels: Tensor) -> Tensor:
    """Return the number of labels that two items share, int64 (n, n), from classes (n,) or a 0/1 matrix (n, n_classes).

    Examples
    --------
    >>> import pytest
    >>> torch = pytest.importorskip("torch", reason="torch is not installed")
    >>> shared_labels(torch.tensor([[1, 1, 0], [1, 0, 1], [0, 0, 1]])).tolist()
    [[2, 1, 0], [1, 2, 1], [0, 1, 1]]
    """
    if labels.ndim == 1:
        return (labels[:, None] == labels).long()
    indicator = labels.float()  # exact for counts; GPUs have no product of integer matrices
    return (indicator @ indicator.T).round().long()


def distinct(pairs: Tensor) -> Tensor:
    """Return the boolean matrix without the pairs of an item with itself."""
    return pairs & ~pairs.new_ones(len(pairs)).diag()


def pair_mean(loss: Tensor) -> Tensor:
    """Return the mean of a symmetric matrix over pairs of different items."""
    n = len(loss)
    return (loss.sum() - loss.diagonal().sum()) / (n * (n - 1))


def mean_of(loss: Tensor, selected: Tensor) -> Tensor:
    """Return the mean of the entries that a boolean matrix selects; 0 if there are none."""
    return (loss * selected).sum() / selected.sum().clamp(min=1)


def quantisation(outputs: Tensor) -> Tensor:
    """Return the mean over the items of ``||u - sign(u)||^2``."""
    return (outputs.abs() - 1).square().sum(dim=1).mean()
