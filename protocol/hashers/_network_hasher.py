"""What hashers share that train a network on class labels: minibatches, the optimiser, checkpoints, determinism."""

import abc
import contextlib
import importlib.util
import json
import logging
from collections.abc import Iterator
from math import ceil, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from protocol import sources, storage
from protocol.checks import ProtocolError, one_of
from protocol.hashers._base import Hasher, positive, whole
from protocol.hashers._networks import NETWORKS, Network, network
from protocol.hashers._objectives import shared_labels
from protocol.hashers._progress import Course, progress
from protocol.hashers._training import TrainingSet

if TYPE_CHECKING:
    from torch import Tensor

NO_PRETRAINING = (
    "No pre-trained network can be shipped: codes come from a head over any features, or from a convolutional network "
    "trained from nothing on images of 32 x 32. Adam in place of stochastic gradient descent, so that objectives of "
    "any scale learn at one rate; inputs are centred by the training mean and divided by their root mean square. "
)
_log = logging.getLogger(__name__)


class NetworkHasher(Hasher):
    """Signs of a network's outputs, trained by minibatches on what the rows of a batch share.

    A subclass writes ``_loss(outputs, shared, epoch)`` and names its paper's schedule in `decay`.

    Parameters
    ----------
    n_bits : int, default 32
    seed : int, default 0
        Of the first parameters and of the order of rows.
    network : {"mlp", "linear", "conv"}, default "mlp"
        A head of two linear layers with 500 rectified units between, or of one, over any features; or three
        convolutions and two linear layers over ``pixels`` of 32 x 32 images.
    epochs : int, default 30
    batch_size : int, default 128
        Rows of a minibatch, at least 3; an epoch is cut into parts of nearly the same size, none larger, none of a
        single row, which has no pairs.
    learning_rate : float, default 0.001
        Of Adam, at the beginning.
    weight_decay : float, default 5e-5
        Added to the gradient, times the parameters; may be 0.
    patience : int or None, default None
        Stop when the mean loss of an epoch has not fallen for so many epochs; None: never.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows, subtracted from every row.
    parameters_ : ndarray of float32, shape (n_parameters,)
        Of the network, layer by layer, weights before biases.
    fit_record_ : dict
        ``epochs`` made, ``loss`` of the first and the last (means over their steps), ``device``, and ``torch``, the
        version of PyTorch.

    Notes
    -----
    On a processor the same seed gives the same bytes, whatever the number of cores: training takes one thread. A GPU is
    used where there is one, and does not promise that; codes are made on the processor in any case.
    A fit given a `checkpoint` leaves its state there after every epoch and, begun again with the same rows, labels,
    parameters and code, goes on from it to the same result.
    """

    learned = {"mean_": ("float32", "d"), "parameters_": ("float32", "n_parameters")}
    supervision = "labels"
    checkpoints = True
    decay: ClassVar[tuple[float, int]]
    """What the learning rate is multiplied by, and into how many stretches of equal length that divides a training."""

    mean_: NDArray[np.float32]
    parameters_: NDArray[np.float32]

    def __init__(
        self,
        n_bits: int = 32,
        *,
        seed: int = 0,
        network: str = "mlp",
        epochs: int = 30,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        weight_decay: float = 5e-5,
        patience: int | None = None,
    ) -> None:
        super().__init__(n_bits, seed=seed)
        self.network = network
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.patience = patience

    @abc.abstractmethod
    def _loss(self, outputs: "Tensor", shared: "Tensor", epoch: int) -> "Tensor":
        """Return the objective of a batch from the network's outputs (n, n_bits) and the labels that items share."""

    def _check(self) -> None:
        one_of(self.network, tuple(NETWORKS), "network")
        whole(self.epochs, "epochs")
        whole(self.batch_size, "batch_size", least=3)
        positive(self.learning_rate, "learning_rate")
        if self.weight_decay:
            positive(self.weight_decay, "weight_decay")
        if self.patience is not None:
            whole(self.patience, "patience")
        if importlib.util.find_spec("torch") is None:
            raise ProtocolError(
                f"{type(self).__name__} needs PyTorch, which is not installed: pip install 'hashing-protocol[learned]'"
            )

    def _lengths(self, n_features: int) -> dict[str, int]:
        return super()._lengths(n_features) | {"n_parameters": network(self.network, n_features, self.n_bits).size}

    def _fit(
        self, training: TrainingSet, rng: np.random.Generator, checkpoint: str | Path | None = None
    ) -> dict[str, Any]:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        net = network(self.network, training.X.shape[1], self.n_bits)
        scale = training.scale
        state = _State(net.initial(rng))
        identity = self._identity(training) if checkpoint else {}
        if checkpoint:
            state.load(checkpoint, identity)
        n_steps = ceil(len(training.X) / self.batch_size)
        name = f"{type(self).__name__}, {self.n_bits} bits"
        with _deterministic(device), progress(name, self.epochs * n_steps, state.losses) as course:
            run = _Run(self, net, training, scale, state, device)
            while not self._finished(epochs := _means(state.losses, n_steps)):
                order = np.random.default_rng([self.seed, len(epochs)]).permutation(len(training.X))
                run.epoch(len(epochs), np.array_split(order, n_steps), course)
                if checkpoint:
                    state.save(checkpoint, identity)
        self.mean_, self.parameters_ = training.mean, state.parameters.copy()
        # The first layer's weights take in what inputs were divided by.
        self.parameters_[: prod(net.shapes[0])] /= scale
        loss = [epochs[0], epochs[-1]]
        return {"epochs": len(epochs), "loss": loss, "device": device, "torch": str(torch.__version__)}

    def _finished(self, losses: list[float]) -> bool:
        """Return whether training ends, after epochs with these mean losses."""
        waited = len(losses) - 1 - int(np.argmin(losses)) if losses else 0
        return len(losses) == self.epochs or (self.patience is not None and waited >= self.patience)

    def _rate(self, epoch: int) -> float:
        factor, stretches = self.decay
        return self.learning_rate * factor ** (epoch * stretches // self.epochs)

    def _identity(self, training: TrainingSet) -> dict[str, Any]:
        """Return what a training's result depends on, as JSON has it."""
        import torch

        identity = {
            "hasher": type(self).__name__,
            "parameters": self.get_params(),
            "rows": storage.array_digest(training.X),
            "labels": storage.array_digest(training.labels),
            "code": sources.digest(
                *(own.__module__ for own in type(self).__mro__ if own.__module__.startswith("protocol."))
            ),
            "torch": str(torch.__version__),
        }
        return json.loads(json.dumps(identity, default=np.generic.item))

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        import torch

        net = network(self.network, X.shape[1], self.n_bits)
        with _deterministic("cpu"), torch.inference_mode():
            return net(torch.from_numpy(X - self.mean_), torch.from_numpy(self.parameters_)).numpy() >= 0


class _State:
    """All that a training carries from step to step: parameters, Adam's two moments, the loss of every step."""

    _ARRAYS = ("parameters", "first_moment", "second_moment")

    def __init__(self, parameters: NDArray[np.float32]) -> None:
        self.parameters = parameters
        self.first_moment, self.second_moment = np.zeros_like(parameters), np.zeros_like(parameters)
        self.losses: list[float] = []

    def save(self, path: str | Path, identity: dict[str, Any]) -> None:
        arrays = {name: getattr(self, name) for name in self._ARRAYS}
        passport = storage.passport("checkpoint", parameters=identity, inputs={})
        storage.write(path, arrays | {"losses": np.array(self.losses)}, passport)

    def load(self, path: str | Path, identity: dict[str, Any]) -> None:
        """Go on from a file if it is of the same training; one that is another's, or damaged, is left alone."""
        if not Path(path).exists():
            return
        try:
            if storage.read_passport(path)["parameters"] != identity:
                raise ProtocolError(f"{path}: of another training")
            arrays = storage.read(path)
        except ProtocolError as error:
            _log.info("checkpoint not used: %s", error)
            return
        self.losses = arrays.pop("losses").tolist()
        for name, array in arrays.items():
            setattr(self, name, array)
        _log.info("%s: going on after %d steps", path, len(self.losses))


class _Run:
    """The epochs of one training, which change its state in place."""

    def __init__(
        self, hasher: NetworkHasher, net: Network, training: TrainingSet, scale: float, state: _State, device: str
    ) -> None:
        import torch

        self._hasher, self._net, self._training, self._scale = hasher, net, training, scale
        self._labels, self._device, self._state = torch.from_numpy(training.labels), device, state
        self._parameters = torch.from_numpy(state.parameters).to(device).requires_grad_()
        self._adam = torch.optim.Adam([self._parameters], weight_decay=hasher.weight_decay)
        self._adam.state[self._parameters] = {
            "step": torch.tensor(float(len(state.losses))),
            "exp_avg": torch.from_numpy(state.first_moment).to(device),
            "exp_avg_sq": torch.from_numpy(state.second_moment).to(device),
        }

    def epoch(self, epoch: int, batches: list[NDArray[np.int64]], course: Course) -> None:
        for group in self._adam.param_groups:
            group["lr"] = self._hasher._rate(epoch)
        for rows in batches:
            course.step(self._step(rows, epoch))
        moments = self._adam.state[self._parameters]
        self._state.parameters = self._parameters.detach().cpu().numpy()
        self._state.first_moment = moments["exp_avg"].cpu().numpy()
        self._state.second_moment = moments["exp_avg_sq"].cpu().numpy()
        self._state.losses = course.values

    def _step(self, rows: NDArray[np.int64], epoch: int) -> float:
        import torch

        batch = torch.from_numpy((self._training.X[rows] - self._training.mean) / np.float32(self._scale))
        shared = shared_labels(self._labels[torch.from_numpy(rows)].to(self._device))
        outputs = self._net(batch.to(self._device), self._parameters)
        loss = self._hasher._loss(outputs, shared, epoch)
        self._adam.zero_grad()
        loss.backward()
        self._adam.step()
        return loss.item()


@contextlib.contextmanager
def _deterministic(device: str) -> Iterator[None]:
    """Compute on one thread, by algorithms that give the same bytes each time; afterwards as before."""
    import torch

    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(device == "cpu")
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)


def _means(losses: list[float], n_steps: int) -> list[float]:
    """Return the mean loss of each epoch of `n_steps` steps."""
    return [float(np.mean(losses[start : start + n_steps])) for start in range(0, len(losses), n_steps)]
