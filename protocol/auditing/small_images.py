"""Compare small images: candidates by their block means, which are verified by the correlation of local contrast.

The correlation is maximised over small shifts, scales and mirroring.
"""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.inputs.images import squares
from protocol.parallel import Step, unreported

SIZE = 32
"""Side in pixels of the squares to which the centres of images are resized for comparison."""
_BLOCKS = 8  # per side; their means are the cheap descriptor
_SIGMA = 2.0  # pixels, standard deviation of the Gaussian window for local contrast
_NOISE = 4.0  # grey levels; lower contrast is noise
_BLANK = 1.0  # grey level of an added component, so that blank images have equal instead of undefined descriptors
_BLOCK_BYTES = 16 << 20


def small_images(images: Any, *, n_channels: int, done: Step = unreported) -> NDArray[np.uint8]:
    """Return the central squares of images, resized to `SIZE`: (n, n_channels, SIZE, SIZE).

    Parameters
    ----------
    images : Rows of uint8, shape (n, height, width) or (n, height, width, 3)
        Read in slices. Grey images get three equal channels if `n_channels` is 3.
    n_channels : {1, 3}
    done : callable, optional
        Called with the number of images just read.
    """
    small = np.empty((len(images), n_channels, SIZE, SIZE), dtype=np.uint8)
    size = max(1, _BLOCK_BYTES // prod(images.shape[1:]))
    for start in range(0, len(images), size):
        block = np.asarray(images[start : start + size])
        planes = block[:, None] if block.ndim == 3 else block.transpose(0, 3, 1, 2)
        if planes.shape[2:] != (SIZE, SIZE):
            planes = np.rint(squares(planes.astype(np.float32, order="C"), SIZE))
        small[start : start + size] = planes
        done(len(block))
    return small


def block_means(small: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the descriptors of images: the means of 8 x 8 blocks, centred and scaled to unit length.

    Parameters
    ----------
    small : ndarray of uint8, shape (n, n_channels, SIZE, SIZE)

    Returns
    -------
    ndarray of float32, shape (n, n_channels * 64 + 1)
        The inner product of two descriptors is their cosine. The last component is 1 for blank images and small for all
        others.
    """
    n, n_channels = small.shape[:2]
    k = SIZE // _BLOCKS
    rows = small.reshape(n, n_channels * _BLOCKS, k, _BLOCKS, k)
    means = rows.sum(axis=(2, 4), dtype=np.float32).reshape(n, -1) / np.float32(k * k)
    means -= means.mean(axis=1, keepdims=True)
    centred = np.concatenate([means, np.full((n, 1), _BLANK, dtype=np.float32)], axis=1)
    return centred / np.sqrt(np.einsum("ij,ij->i", centred, centred))[:, None]


def _smoothing() -> NDArray[np.float32]:
    """Return the matrix (SIZE, SIZE) of a Gaussian filter that repeats border pixels."""
    reach = np.arange(-round(4 * _SIGMA), round(4 * _SIGMA) + 1)
    weights = np.exp(-0.5 * (reach / _SIGMA) ** 2)
    matrix = np.zeros((SIZE, SIZE))
    for pixel in range(SIZE):
        np.add.at(matrix[pixel], np.clip(pixel + reach, 0, SIZE - 1), weights / weights.sum())
    return matrix.astype(np.float32)


_GAUSSIAN = _smoothing()


def local_contrast(small: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Subtract the local mean from images and divide them by their local contrast; the shape is the same.

    Changes in brightness and contrast, including gradual ones across the image, hardly affect the result.

    Parameters
    ----------
    small : ndarray of uint8, shape (n, n_channels, SIZE, SIZE)
    """
    planes = small.astype(np.float32)
    detail = planes - _smoothed(planes)
    spread = np.sqrt(np.maximum(_smoothed((detail * detail).mean(axis=1, keepdims=True)), 0))
    return (detail / (spread + np.float32(_NOISE))).astype(np.float32, copy=False)


def _smoothed(planes: NDArray[np.float32]) -> NDArray[np.float32]:
    return _GAUSSIAN @ (planes.reshape(-1, SIZE) @ _GAUSSIAN.T).reshape(planes.shape)


# Verification

SCALES = (0.92, 1.0, 1 / 0.92)
"""Scales of the query; they cover crops by up to a tenth."""
SHIFTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Shifts in pixels, in each direction."""
_BLANK_ENERGY = 3.0  # added to the energy of local contrast (about 2,000), so that two blank images are equal


def _matrices(scale: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the matrices that scale and shift an image's columns or rows, bilinear, and zero outside the image.

    Returns
    -------
    matrices : ndarray of float32, shape (n_shifts * SIZE, SIZE)
        One matrix for each shift, stacked vertically.
    inside : ndarray of float32, shape (n_shifts * n_shifts, SIZE * SIZE)
        1 for pixels of the result that are inside the image, for each vertical and horizontal shift.
    """
    centre = (SIZE - 1) / 2
    places = (np.arange(SIZE) - centre) * scale + centre + np.array(SHIFTS)[:, None]
    inside = (places >= 0) & (places <= SIZE - 1)
    weights = np.maximum(0, 1 - np.abs(places[..., None] - np.arange(SIZE))) * inside[..., None]
    both = inside[:, None, :, None] & inside[None, :, None, :]
    return weights.reshape(-1, SIZE).astype(np.float32), both.reshape(-1, SIZE * SIZE).astype(np.float32)


_SCALED = [_matrices(scale) for scale in SCALES]
_INSIDE = np.concatenate([inside for _, inside in _SCALED])


def correlations(query: NDArray[np.uint8], database: NDArray[np.uint8], rows: NDArray, k: int) -> NDArray[np.float32]:
    """Return the correlations of each query with its candidates.

    Parameters
    ----------
    query, database : ndarray of uint8, shapes (n_queries, n_channels, SIZE, SIZE) and (n_database, ...)
    rows : ndarray of int64, shape (n_queries, m)
        Rows of the database: the candidates.
    k : int
        The first k candidates of a query are compared unchanged, the others are mirrored first.

    Returns
    -------
    ndarray of float32, shape (n_queries, m)
        From -1 to 1: the normalised correlation of local contrast in the overlap of both images, maximised over
        `SCALES` and `SHIFTS`.
    """
    distinct, candidate_of = np.unique(rows, return_inverse=True)
    candidates, best = local_contrast(database[distinct]), np.empty(rows.shape, dtype=np.float32)
    for i, image in enumerate(local_contrast(query)):
        matched = candidates[candidate_of.reshape(rows.shape)[i]]
        matched[k:] = matched[k:, ..., ::-1]
        best[i] = best_correlation(image, matched)
    return best


def best_correlation(image: NDArray[np.float32], candidates: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the correlation of an image with each candidate, maximised over all shifts and scales: (n,).

    Parameters
    ----------
    image : ndarray of float32, shape (n_channels, SIZE, SIZE)
    candidates : ndarray of float32, shape (n, n_channels, SIZE, SIZE)
        Both after `local_contrast`.
    """
    n, n_channels = len(SHIFTS), len(image)
    moved = []
    for matrices, _ in _SCALED:
        planes = matrices @ (image.reshape(-1, SIZE) @ matrices.T).reshape(n_channels, SIZE, -1)
        moved.append(planes.reshape(n_channels, n, SIZE, n, SIZE).transpose(1, 3, 0, 2, 4).reshape(n * n, -1))
    left, flat = np.concatenate(moved), candidates.reshape(len(candidates), -1)
    energy = np.einsum("ij,ij->i", left, left)[:, None]
    overlapping = _INSIDE @ np.square(candidates).sum(axis=1).reshape(len(candidates), -1).T
    values = (left @ flat.T + _BLANK_ENERGY) / np.sqrt((energy + _BLANK_ENERGY) * (overlapping + _BLANK_ENERGY))
    return np.asarray(values.max(axis=0), dtype=np.float32)
