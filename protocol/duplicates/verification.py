"""Verify candidates by the correlation of local contrast, maximised over small shifts, scales and mirroring."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocol.duplicates.descriptors import SIZE, local_contrast, mirrored
from protocol.parallel import in_order, workers

SCALES = (0.92, 1.0, 1 / 0.92)
"""Scales of the query; they cover crops by up to a tenth."""
SHIFTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Shifts in pixels, in each direction."""
_QUERIES = 64  # per block
_BLANK = 3.0  # added to the energy of local contrast (about 2,000), so that two blank images are equal


@dataclass(frozen=True, eq=False)
class _Scale:
    """The matrices, stacked vertically, that scale and shift an image's columns or rows.

    Parameters
    ----------
    matrices : ndarray of float32, shape (n_shifts * SIZE, SIZE)
    inside : ndarray of float32, shape (n_shifts * n_shifts, SIZE * SIZE)
        1 for pixels of the result that are inside the image, for each vertical and horizontal shift.
    """

    matrices: NDArray[np.float32]
    inside: NDArray[np.float32]

    @classmethod
    def of(cls, scale: float) -> "_Scale":
        """Return the matrices for one scale: bilinear, and zero outside the image."""
        centre = (SIZE - 1) / 2
        places = (np.arange(SIZE) - centre) * scale + centre + np.array(SHIFTS)[:, None]
        inside = (places >= 0) & (places <= SIZE - 1)
        weights = np.maximum(0, 1 - np.abs(places[..., None] - np.arange(SIZE))) * inside[..., None]
        both = inside[:, None, :, None] & inside[None, :, None, :]
        return cls(weights.reshape(-1, SIZE).astype(np.float32), both.reshape(-1, SIZE * SIZE).astype(np.float32))

    def moved(self, image: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return an image (n_channels, SIZE, SIZE) for each pair of shifts: (n_shifts ** 2, n_channels * SIZE**2)."""
        n, n_channels = len(SHIFTS), len(image)
        planes = self.matrices @ (image.reshape(-1, SIZE) @ self.matrices.T).reshape(n_channels, SIZE, -1)
        by_shift = planes.reshape(n_channels, n, SIZE, n, SIZE).transpose(1, 3, 0, 2, 4)
        return by_shift.reshape(n * n, -1)


_SCALES = tuple(_Scale.of(scale) for scale in SCALES)
_INSIDE = np.concatenate([scale.inside for scale in _SCALES])


def correlations(
    query: NDArray[np.uint8],
    database: NDArray[np.uint8],
    plain: NDArray[np.int64],
    flipped: NDArray[np.int64],
    *,
    threads: int = 1,
    done: Callable[[int], object] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the correlations of each query with its candidates, unchanged and mirrored.

    Parameters
    ----------
    query, database : ndarray of uint8, shapes (n_queries, n_channels, SIZE, SIZE) and (n_database, ...)
    plain, flipped : ndarray of int64, shapes (n_queries, k) and (n_queries, m)
        Rows of the database: candidates that are compared unchanged, and candidates that are mirrored first.
    threads : int, default=1
        The result is the same for any number.
    done : callable, optional
        Called with the number of queries just finished.

    Returns
    -------
    plain, flipped : ndarray of float32, with the shapes of the arguments
        From -1 to 1: the normalised correlation of local contrast in the overlap of both images, maximised over
        `SCALES` and `SHIFTS`.
    """
    k = plain.shape[1]
    rows = np.concatenate([plain, flipped], axis=1)

    def verify(start: int) -> NDArray[np.float32]:
        block = rows[start : start + _QUERIES]
        distinct, place = np.unique(block, return_inverse=True)
        place = place.reshape(block.shape)
        candidates = local_contrast(database[distinct])
        queries = local_contrast(query[start : start + _QUERIES])
        found = np.empty(block.shape, dtype=np.float32)
        for i, image in enumerate(queries):
            matched = candidates[place[i]]
            matched[k:] = mirrored(matched[k:])
            found[i] = best_correlation(image, matched)
        return found

    found = []
    with workers(threads) as n_threads:
        for part in in_order(verify, range(0, len(query), _QUERIES), n_threads):
            found.append(part)
            if done is not None:
                done(len(part))
    scores = np.concatenate(found)
    return scores[:, :k], scores[:, k:]


def best_correlation(image: NDArray[np.float32], candidates: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the correlation of an image with each candidate, maximised over all shifts and scales: (n,).

    Parameters
    ----------
    image : ndarray of float32, shape (n_channels, SIZE, SIZE)
    candidates : ndarray of float32, shape (n, n_channels, SIZE, SIZE)
        Both after `local_contrast`.
    """
    moved = np.concatenate([scale.moved(image) for scale in _SCALES])
    flat = candidates.reshape(len(candidates), -1)
    energy = np.einsum("ij,ij->i", moved, moved)[:, None]
    overlapping = _INSIDE @ np.square(candidates).sum(axis=1).reshape(len(candidates), -1).T
    values = (moved @ flat.T + _BLANK) / np.sqrt((energy + _BLANK) * (overlapping + _BLANK))
    return np.asarray(values.max(axis=0), dtype=np.float32)
