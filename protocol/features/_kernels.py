"""Compiled loops of dense SIFT, imported only inside the function that needs them, because numba loads slowly.

The compiler may reorder sums, which vectorisation requires; for the same reason, the lengths of loops are constants.
"""

from typing import Any

import numpy as np

from protocol.compiled import compiled
from protocol.features.sift import CELLS, CLIP, LENGTH, ORIENTATIONS, STEPS

_FAST = {"reassoc", "nsz", "contract"}
_HALF_TURN = np.float32(ORIENTATIONS // 2)
_CLIP, _STEPS, _LARGEST = np.float32(CLIP), np.float32(STEPS), np.float32(255)
_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)


@compiled(fastmath=_FAST)
def share(angle: Any, magnitude: Any, shared: Any) -> None:
    """Share each pixel's gradient magnitude linearly between the two nearest orientations.

    Parameters
    ----------
    angle : ndarray of float32, shape (n, height, width)
        In eighths of a turn, -4 to 4.
    magnitude : ndarray of float32, shape (n, height, width)
    shared : ndarray of float32, shape (n, height, 8, width)
        Output.
    """
    n, height, width = angle.shape
    for image in range(n):
        for y in range(height):
            angles, magnitudes = angle[image, y], magnitude[image, y]
            for orientation in range(ORIENTATIONS):
                row = shared[image, y, orientation]
                centre = np.float32(orientation - ORIENTATIONS * (orientation > _HALF_TURN))
                for x in range(width):
                    away = _HALF_TURN - abs(abs(angles[x] - centre) - _HALF_TURN)  # the shorter way round
                    row[x] = max(_ONE - away, _ZERO) * magnitudes[x]


@compiled(fastmath=_FAST)
def _length(histogram: Any) -> Any:
    squares = _ZERO
    for index in range(LENGTH):
        squares += histogram[index] * histogram[index]
    return np.sqrt(squares)


@compiled(fastmath=_FAST)
def normalise(cells: Any, descriptors: Any) -> None:
    """Gather each patch's histogram, scale it to unit length, clip it, scale it again, and round it.

    Parameters
    ----------
    cells : ndarray of float32, shape (n, grid, 4, 8, grid, 4)
        By the patch's row, the cell's row, orientation, the patch's column, the cell's column.
    descriptors : ndarray of uint8, shape (n, grid * grid, 128)
        Output, by cell and orientation; a zero histogram gives zeros.
    """
    n, grid = cells.shape[:2]
    histogram = np.empty(LENGTH, dtype=np.float32)
    for image in range(n):
        for row in range(grid):
            for column in range(grid):
                for y in range(CELLS):
                    for x in range(CELLS):
                        for orientation in range(ORIENTATIONS):
                            index = (y * CELLS + x) * ORIENTATIONS + orientation
                            histogram[index] = cells[image, row, y, orientation, column, x]
                top = _CLIP * _length(histogram)
                for index in range(LENGTH):
                    histogram[index] = min(histogram[index], top)
                scale = _STEPS / _length(histogram) if top > _ZERO else _ZERO
                descriptor = descriptors[image, row * grid + column]
                for index in range(LENGTH):
                    descriptor[index] = np.uint8(min(histogram[index] * scale + _HALF, _LARGEST))
