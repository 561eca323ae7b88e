"""SIFT descriptors on a regular grid for many images at once, used by `dense_sift` and `bow`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.features._images import channels
from protocol.features._sift_layout import CELLS, LENGTH, ORIENTATIONS
from protocol.inputs.images import squares


def check_grid(*, grid: int, patch: int, image_size: int) -> None:
    """Raise ProtocolError unless the options are integers and a patch is no larger than the image."""
    integer(grid, "grid")
    integer(image_size, "image_size", minimum=8)
    integer(patch, "patch", minimum=4)
    if patch > image_size:
        raise ProtocolError(f"patch: expected at most image_size = {image_size}, got {patch}.")


def centres(grid: int, patch: int, image_size: int) -> NDArray[np.float64]:
    """Return the positions of the patches' centres along a side, in pixels (0 is the middle of the first pixel).

    Examples
    --------
    >>> centres(3, 16, 32), centres(1, 16, 32)
    (array([ 7.5, 15.5, 23.5]), array([15.5]))
    """
    slack = (image_size - patch) / 2 if grid > 1 else 0
    return np.linspace(-slack, slack, grid) + (image_size - 1) / 2


def _pooling(at: NDArray[np.float64], patch: int, size: int) -> NDArray[np.float32]:
    """Return the matrix (4 * number of patches, size) that sums pixels into the cells of each patch along one side.

    A pixel at u cell widths from the patch's centre has the weight max(0, 1 - |u - c|) in the cell centred at c, times
    the Gaussian window exp(-u^2 / 8), whose standard deviation is half a patch.
    """
    u = (np.arange(size) - at[:, None, None]) / (patch / CELLS)
    cell = np.arange(CELLS)[:, None] - (CELLS - 1) / 2
    weights = np.maximum(0, 1 - np.abs(u - cell)) * np.exp(-(u**2) / (CELLS**2 / 2))
    return weights.reshape(-1, size).astype(np.float32)


def _gradient(grey: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the gradient's angle in eighths of a turn, -4 to 4, and its magnitude; edge pixels are repeated."""
    padded = np.pad(grey, ((0, 0), (1, 1), (1, 1)), mode="edge")
    right = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    up = padded[:, :-2, 1:-1] - padded[:, 2:, 1:-1]
    return np.arctan2(up, right) * np.float32(ORIENTATIONS / (2 * np.pi)), np.sqrt(right**2 + up**2)


def describer(*, grid: int, patch: int, image_size: int) -> Callable[[NDArray[np.uint8]], NDArray[np.uint8]]:
    """Return a function that maps images to the descriptors of all patches of a grid.

    Its result is uint8, shape (n, grid^2, 128): 512 times a vector of unit length, or zero for a flat patch. Patches
    are ordered row by row; in each patch, the cells row by row; in each cell, by orientation.
    """
    pool = _pooling(centres(grid, patch, image_size), patch, image_size)

    def describe(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
        from protocol.features import _kernels  # loads numba

        grey = squares(channels(images, "luma"), image_size)[:, 0]
        shared = np.empty((len(grey), image_size, ORIENTATIONS, image_size), dtype=np.float32)
        _kernels.share(*_gradient(grey), shared)
        # Two products of fixed shape per image, so that a value doesn't depend on the other images in the block.
        in_columns = shared.reshape(len(grey), -1, image_size) @ pool.T
        cells = pool @ in_columns.reshape(len(grey), image_size, -1)
        cells = cells.reshape(-1, grid, CELLS, ORIENTATIONS, grid, CELLS)
        found = np.empty((len(grey), grid**2, LENGTH), dtype=np.uint8)
        _kernels.normalise(cells, found)
        return found

    return describe
