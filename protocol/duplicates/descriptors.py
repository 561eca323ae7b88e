"""Descriptors of small images for near-duplicates: block means and local contrast."""

import tempfile
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.inputs.images import squares

SIZE = 32
"""Side in pixels of the squares to which the centres of images are resized for comparison."""
_BLOCKS = 8  # per side; their means are the cheap descriptor
_SIGMA = 2.0  # pixels, standard deviation of the Gaussian window for local contrast
_NOISE = 4.0  # grey levels; lower contrast is noise
_BLANK = 1.0  # grey level of an added component, so that blank images have equal instead of undefined descriptors
_IN_MEMORY = 1 << 30  # bytes; larger arrays are stored in a temporary file
_BLOCK_BYTES = 16 << 20


def small_images(images: Any, *, n_channels: int, done: Callable[[int], object] | None = None) -> NDArray[np.uint8]:
    """Return the central squares of images, resized to `SIZE`: (n, n_channels, SIZE, SIZE).

    Parameters
    ----------
    images : Rows of uint8, shape (n, height, width) or (n, height, width, 3)
        Read in slices. Grey images get three equal channels if `n_channels` is 3.
    n_channels : {1, 3}
    done : callable, optional
        Called with the number of images just read.

    Notes
    -----
    A result above 1 GB is stored in a temporary file, which is deleted with the array.
    """
    shape = (len(images), n_channels, SIZE, SIZE)
    if prod(shape) > _IN_MEMORY:
        with tempfile.TemporaryFile() as file:
            small: NDArray[np.uint8] = np.memmap(file, dtype=np.uint8, mode="w+", shape=shape)
    else:
        small = np.empty(shape, dtype=np.uint8)
    size = max(1, _BLOCK_BYTES // prod(images.shape[1:]))
    for start in range(0, len(images), size):
        block = np.asarray(images[start : start + size])
        planes = block[:, None] if block.ndim == 3 else block.transpose(0, 3, 1, 2)
        if planes.shape[2:] != (SIZE, SIZE):
            planes = np.rint(squares(planes.astype(np.float32, order="C"), SIZE))
        small[start : start + size] = planes
        if done is not None:
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
    descriptors = np.empty((n, n_channels * _BLOCKS**2 + 1), dtype=np.float32)
    size = max(1, _BLOCK_BYTES // prod(small.shape[1:]))
    for start in range(0, n, size):
        rows = small[start : start + size].reshape(-1, n_channels * _BLOCKS, k, _BLOCKS, k)
        means = rows.sum(axis=(2, 4), dtype=np.float32).reshape(len(rows), -1) / np.float32(k * k)
        means -= means.mean(axis=1, keepdims=True)
        centred = np.concatenate([means, np.full((len(means), 1), _BLANK, dtype=np.float32)], axis=1)
        descriptors[start : start + size] = centred / np.sqrt(np.einsum("ij,ij->i", centred, centred))[:, None]
    return descriptors


def mirrored(small: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return horizontally mirrored images."""
    return small[..., ::-1]


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
