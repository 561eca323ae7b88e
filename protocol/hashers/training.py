"""Training and encoding in a job: progress, reuse of what an earlier run trained, and the files of models and codes."""

import contextlib
import logging
import math
import pickle
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.hashers.base import Hasher, packed_codes
from protocol.hashers.repeatability import check_codes
from protocol.hashers.training_set import TrainingSet
from protocol.provenance import reuse, storage
from protocol.scores.tables import read_text, write_csv

TIMES = ("n_bits", "training_seconds", "encoding_seconds")
"""The columns of a file of CPU times: of training, and of encoding the queries and all items once."""
_LINES = 20  # in the log, for the steps of a training
_log = logging.getLogger(__name__)


class Progress:
    """Records the objective of a training at each step. Created by `progress`.

    Attributes
    ----------
    values : list of float
        The objective at every step so far.
    """

    def __init__(self, name: str, n_steps: int, bar: Any) -> None:
        self.values: list[float] = []
        self._name, self._n_steps, self._bar = name, n_steps, bar

    def step(self, value: float) -> None:
        """Record the objective of the next step; raise ProtocolError with its number if the objective is not finite."""
        self.values.append(float(value))
        n_done = len(self.values)
        if not math.isfinite(value):
            before = f" (it was {self.values[-2]:.4g} before)" if n_done > 1 else ""
            problem = f"the objective is {value}{before}. Try a lower learning_rate."
            raise ProtocolError(f"{self._name}: step {n_done:,} of {self._n_steps:,}: {problem}")
        self._bar.set_postfix_str(f"objective {value:.4f}", refresh=False)
        self._bar.update()
        if n_done * _LINES // self._n_steps > (n_done - 1) * _LINES // self._n_steps:
            _log.info("%s: step %d of %d, objective %.4f", self._name, n_done, self._n_steps, value)


@contextlib.contextmanager
def progress(name: str, n_steps: int) -> Iterator[Progress]:
    """Yield an object that records the steps of a training, in twenty lines of the log and as a bar on a terminal.

    Parameters
    ----------
    name : str
        The name of the training, such as ``"TALRAP, 32 bits"``.
    n_steps : int
    """
    from tqdm import tqdm

    with tqdm(total=n_steps, desc=name, unit="step", disable=None, leave=False) as bar:
        yield Progress(name, n_steps, bar)


def train_and_encode(
    files: tuple[str | Path, str | Path, str | Path],
    hasher: Callable[..., Hasher],
    made_of: Mapping[int, Mapping[str, Any]],
    training: TrainingSet,
    blocks: Mapping[str, Iterable[NDArray[np.float32]]],
    images: Mapping[str, NDArray[np.int64]],
    *,
    options: Mapping[str, Any],
    inputs: Mapping[str, str | Path],
) -> None:
    """Train and encode at every code length that has changed, and write the files of models and codes.

    Lengths that have not changed are copied from the second names of both files (`protocol.provenance.reuse`). A length
    that was trained is saved next to the models at once, so that a job that is killed continues with the next one.

    Parameters
    ----------
    files : three paths
        The files of the fitted hashers, of the codes, and of the CPU times of training and encoding, `TIMES`.
    hasher : type of Hasher
    made_of : mapping of int to mapping
        As for `protocol.provenance.reuse.unchanged`: for each code length, with its ``hasher``, ``seed`` and
        ``options``.
    training : TrainingSet
    blocks : mapping of str to iterable of ndarray of float32, shape (n_block, d)
        The vectors to encode: ``query``, and ``items``, which have the modality of the database.
    images : mapping of str to ndarray of int64, shape (n,)
        The image from which each encoded vector comes, by the keys of `blocks`.
    options : mapping
        The options of all code lengths, without those that were selected for each.
    inputs : mapping of str to path
        The input files of the job.
    """
    *stored, times = files
    earlier, encoding = reuse.unchanged(stored, made_of), defaultdict[int, float](float)
    fitted = {n: _fitted(hasher, n, made_of[n], training, files[0]) for n in sorted(made_of) if n not in earlier}
    models = {n_bits: model for n_bits, (model, _) in fitted.items()}
    codes = {
        part: packed_codes(models, rows, of_database=part == "items", seconds=encoding)
        for part, rows in blocks.items()
        if models
    }
    fits, learned = dict[int, Any](), dict[int, Any]()
    packed: dict[Any, Any] = {"image": images["items"], "query_image": images["query"]}
    for n_bits in sorted(made_of):
        if n_bits in earlier:
            fits[n_bits] = earlier[n_bits]
            learned[n_bits], packed[n_bits] = reuse.arrays(stored, n_bits)
        else:
            fits[n_bits] = {"made_of": made_of[n_bits], **models[n_bits].fit_record_}
            learned[n_bits] = models[n_bits].to_arrays()
            packed[n_bits] = {part: of_part[n_bits] for part, of_part in codes.items()}
    name, parameters = f"hasher {next(iter(made_of.values()))['hasher']}", {"n_bits": list(fits), **options}
    fitted_on = storage.array_digest(training.X)
    provenance = storage.provenance(name, parameters=parameters, inputs=inputs, fits=fits, fitted_on=fitted_on)
    for path, arrays in zip(stored, (learned, packed), strict=True):
        storage.write(path, storage.flattened(arrays), provenance)
        reuse.keep(path)
    _write_times(times, {n: (n, seconds, encoding[n]) for n, (_, seconds) in fitted.items()}, made_of)
    # Also those of lengths that are no longer needed.
    for left in Path(files[0]).parent.glob(f"{Path(files[0]).name}.[0-9]*"):
        left.unlink()


def _fitted(
    hasher: Callable[..., Hasher], n_bits: int, made_of: Mapping[str, Any], training: TrainingSet, output: str | Path
) -> tuple[Hasher, float]:
    """Return a fitted hasher and its CPU time; NaN for one that a killed job has saved."""
    model = hasher(n_bits=n_bits, seed=made_of["seed"], **made_of["options"])
    path = Path(f"{output}.{n_bits}")  # which Snakemake does not delete
    if path.exists():
        try:
            if storage.read_provenance(path)["parameters"] == made_of:
                return model.from_arrays(storage.read(path)), math.nan
            _log.info("%s: not used, because it was made of something else", path)
        except ProtocolError as error:
            _log.info("not used: %s", error)
    _log.info("training at %d bits", n_bits)
    started, generator = time.process_time(), pickle.dumps(np.random.get_state())  # noqa: NPY002 - is it used?
    model.fit(training)
    seconds = time.process_time() - started
    if pickle.dumps(np.random.get_state()) != generator:  # noqa: NPY002 - as above
        advice = "Draw random numbers from `rng`, and pass random_state=self.seed to scikit-learn."
        raise ProtocolError(f"{type(model).__name__}._fit: np.random was used, which no seed determines. {advice}")
    check_codes(model.from_arrays(model.to_arrays()), training)  # as it will be read
    storage.write(path, model.to_arrays(), storage.provenance("model", parameters=made_of, inputs={}))
    return model, seconds


def _write_times(path: str | Path, measured: Mapping[int, Sequence[Any]], lengths: Iterable[int]) -> None:
    """Write the times of all code lengths; a length that was copied has the time of the job that trained it."""
    before = reuse.earlier(path)
    earlier = {int(row["n_bits"]): list(row.values()) for row in read_text(before)} if before.exists() else {}
    write_csv(path, TIMES, (measured.get(n, earlier.get(n, (n, math.nan, math.nan))) for n in sorted(lengths)))
    reuse.keep(path)
