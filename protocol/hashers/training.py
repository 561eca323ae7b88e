"""Training and encoding in a job: progress, checkpoints, reuse of an earlier run, and the files of models and codes."""

import contextlib
import glob
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.hashers.base import Hasher, packed_codes
from protocol.hashers.training_set import TrainingSet
from protocol.provenance import storage
from protocol.provenance.reuse import Earlier, keep

_LINES = 20  # in the log, for the steps of a training
_log = logging.getLogger(__name__)


class Progress:
    """Records the objective of a training at each step. Created by `progress`.

    Attributes
    ----------
    values : list of float
        The objective at every step so far.
    """

    def __init__(self, name: str, n_steps: int, bar: Any, values: Sequence[float] = ()) -> None:
        self.values = list(values)
        self._name, self._n_steps, self._bar = name, n_steps, bar

    def step(self, value: float) -> None:
        """Record the objective of the next step; raise ProtocolError with its number if the objective is not finite."""
        self.values.append(float(value))
        n_done = len(self.values)
        if not math.isfinite(value):
            before = f" (it was {self.values[-2]:.4g} before)" if n_done > 1 else ""
            raise ProtocolError(
                f"{self._name}: step {n_done:,} of {self._n_steps:,}: the objective is {value}{before}. Try a lower "
                "learning_rate."
            )
        self._bar.set_postfix_str(f"objective {value:.4f}", refresh=False)
        self._bar.update()
        if n_done * _LINES // self._n_steps > (n_done - 1) * _LINES // self._n_steps:
            _log.info("%s: step %d of %d, objective %.4f", self._name, n_done, self._n_steps, value)


@contextlib.contextmanager
def progress(name: str, n_steps: int, values: Sequence[float] = ()) -> Iterator[Progress]:
    """Yield an object that records the steps of a training, in twenty lines of the log and as a bar on a terminal.

    Parameters
    ----------
    name : str
        The name of the training, such as ``"TALRAP, 32 bits"``.
    n_steps : int
    values : sequence of float, optional
        The objective at previous steps, if the training resumes.
    """
    from tqdm import tqdm

    with tqdm(total=n_steps, initial=len(values), desc=name, unit="step", disable=None, leave=False) as bar:
        yield Progress(name, n_steps, bar, values)


@contextlib.contextmanager
def checkpoints(output: str | Path) -> Iterator[Callable[[int], Path]]:
    """Yield a function from code lengths to paths of checkpoints next to a job's output; remove these files on success.

    The files are not outputs of the job, so they still exist when a killed job is run again.

    Examples
    --------
    >>> with checkpoints("models.h5") as checkpoint:
    ...     print(checkpoint(32))
    models.h5.32.checkpoint
    """
    output = Path(output)
    yield lambda n_bits: output.with_name(f"{output.name}.{n_bits}.checkpoint")
    for path in output.parent.glob(f"{glob.escape(output.name)}.*.checkpoint"):
        path.unlink()


class Stored(NamedTuple):
    """The record of the fit, the arrays of the model, and the packed codes of one code length."""

    fit: Mapping[str, Any]
    model: Mapping[str, NDArray]
    codes: Mapping[str, NDArray]


def trained(
    hasher: Callable[..., Hasher],
    made_of: Mapping[int, Mapping[str, Any]],
    training: TrainingSet,
    blocks: Mapping[str, Iterable[NDArray[np.float32]]],
    *,
    earlier: Mapping[int, Earlier],
    checkpoint: Callable[[int], Path],
) -> dict[int, Stored]:
    """Train and encode at every code length that is not reused; return the content to store for each code length.

    Parameters
    ----------
    hasher : type of Hasher
    made_of : mapping
        As for `protocol.provenance.reuse.unchanged`, with the ``seed`` and ``options`` of each code length.
    earlier : mapping
        The earlier content, as for `protocol.provenance.reuse.unchanged`.
    training : TrainingSet
    blocks : mapping of str to iterable of ndarray of float32, shape (n_block, d)
        The vectors to encode: ``query``, and ``items``, which have the modality of the database.
    checkpoint : callable
        The function from `checkpoints`, which returns the path of the checkpoint for a code length.
    """
    models = {}
    for n_bits in sorted(made_of.keys() - earlier.keys()):
        _log.info("training at %d bits", n_bits)
        model = hasher(n_bits=n_bits, seed=made_of[n_bits]["seed"], **made_of[n_bits]["options"])
        models[n_bits] = model.fit(training, checkpoint=checkpoint(n_bits))
    codes = {
        part: packed_codes(models, of_part, of_database=part == "items") for part, of_part in blocks.items() if models
    }
    stored = {n_bits: Stored(reused.fit, *reused.arrays()) for n_bits, reused in earlier.items()}
    for n_bits, model in models.items():
        of_length = {part: packed[n_bits] for part, packed in codes.items()}
        stored[n_bits] = Stored({"made_of": made_of[n_bits], **model.fit_record_}, model.to_arrays(), of_length)
    return dict(sorted(stored.items()))


def write_stored(
    models: str | Path,
    codes: str | Path,
    stored: Mapping[int, Stored],
    image: NDArray[np.int64],
    provenance: Mapping[str, Any],
) -> None:
    """Write the files of models and codes, each with a second name for later runs (`protocol.provenance.reuse`).

    Parameters
    ----------
    models : path
        The file of the fitted hashers.
    codes : path
        The file of the codes.
    stored : mapping of int to Stored
        The content for each code length.
    image : ndarray of int64, shape (n_items,)
        The image from which each encoded item comes.
    provenance : mapping
    """
    learned = {n_bits: content.model for n_bits, content in stored.items()}
    packed = {n_bits: content.codes for n_bits, content in stored.items()} | {"image": image}
    for path, arrays in ((models, learned), (codes, packed)):
        storage.write(path, storage.flattened(arrays), provenance)
        keep(path)
