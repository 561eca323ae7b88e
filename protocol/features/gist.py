"""GIST: the energy of an image's texture by region, scale and orientation."""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.features._feature import COLOURS, Describe, Feature, Sliceable, channels, one_each
from protocol.inputs.images import squares
from protocol.registry import Count, FeatureRecord, Positive, at_least, choice

Step = Callable[[NDArray[np.float32]], NDArray[np.float32]]

_PREFILTER_BORDER = 5
_CONTRAST_FLOOR = 0.2
_NEGLIGIBLE = 1e-6  # smaller values of a transfer function count as zero


def _reflected(n: int, border: int) -> NDArray[np.int64]:
    """Return the indices that pad a line of n pixels with its mirror image (edge pixels repeated)."""
    return np.pad(np.arange(n), border, mode="symmetric")


def _frequencies(n: int) -> NDArray[np.int64]:
    """Return the frequencies of a line of n pixels, -n/2 to n/2 - 1, in cycles per line."""
    return np.arange(n) - n // 2


def _transfers(n: int, orientations: Sequence[int]) -> NDArray[np.float64]:
    """Return the Gabor transfer functions, ordered by scale: (sum of orientations, n, n), by frequency on both axes."""
    fy, fx = np.meshgrid(_frequencies(n), _frequencies(n), indexing="ij")
    radius, angle = np.hypot(fx, fy) / n, np.arctan2(fy, fx)
    bank = []
    for scale, n_orientations in enumerate(orientations):
        radial = -3.5 * (radius / (0.3 / 1.85**scale) - 1) ** 2
        for orientation in range(n_orientations):
            turned = angle + np.pi * orientation / n_orientations
            turned = np.where(turned > np.pi, turned - 2 * np.pi, turned)
            bank.append(np.exp(radial - 2 * np.pi * (16 * n_orientations**2 / 32**2) * turned**2))
    return np.stack(bank)


def _averaging(n: int, grid: int) -> NDArray[np.float32]:
    """Return the matrix (grid, n) that averages n pixels in `grid` runs whose lengths differ by at most one pixel."""
    edges = np.linspace(0, n, grid + 1).astype(int)
    pixel = np.arange(n)
    inside = (pixel >= edges[:-1, None]) & (pixel < edges[1:, None])
    return (inside / inside.sum(axis=1, keepdims=True)).astype(np.float32)


@FeatureRecord.declared
class Gist(Feature):
    r"""GIST: mean magnitude of Gabor filter responses in a coarse grid over a contrast-normalised image.

    The image is stretched to 0...255 and its local contrast is normalised: with L = log(1 + I) and a Gaussian low-pass
    g, P = (L - g*L) / (0.2 + sqrt(g*(L - g*L)^2)). A filter of scale s and orientation o has the transfer function

    .. math:: G(f, t) = \exp(-3.5 (f / (0.3 / 1.85^s) - 1)^2 - 2 \pi (16 n_o^2 / 32^2) (t + \pi o / n_o)^2),

    with f in cycles per pixel and t the angle of the frequency in [-pi, pi]. A component is the mean of abs(P filtered
    by G) in one cell of the grid.

    Parameters
    ----------
    image_size : int, even, at least `grid`, default 32
        Side in pixels; images of another size are cropped to their central square and resized bilinearly (8 x 8 digits
        are enlarged).
    border : int, at least 0, default 32
        Pixels of mirror image added on each side before filtering, against the wrap-around of the Fourier transform.
    scales : int, at least 1, default 4
        Number of scales, from fine to coarse, each 1.85 times coarser than the one before; the finest is at 0.3 cycles
        per pixel.
    orientations : int or list of int, each at least 1, default 8
        Number of orientations, for all scales or for each: ``[8, 8, 4]`` with three scales gives the 320 components of
        Tiny Images, 960 in colour.
    grid : int, at least 1, default 4
        Cells per side.
    contrast_cycles : float, above 0, default 4.0
        Frequency in cycles per (padded) image at which the low-pass for contrast normalisation falls to one half.
    colour : {"mean", "luma", "rgb"}, default "mean"
        Grey as the mean of the three channels (as in LMgist) or as 0.299 R + 0.587 G + 0.114 B; or a vector for each of
        R, G and B, concatenated: three times as long, for colour images only.

    Notes
    -----
    Components are ordered as in LMgist: by scale, by orientation, then by cell, column by column. Orientation 0
    responds to vertical stripes. On square images of `image_size` pixels, they differ from LMgist's formulas only by
    rounding and by the negligible gains, 1e-4 relative; on other images, also by the resizing. In colour, which LMgist
    averages away, each channel is stretched and normalised separately.

    Every step except log, division and magnitude is linear along rows and along columns, so it is a product with a
    small matrix on either side. Padding and the Fourier transform are one such matrix, the inverse transform and the
    crop another, and only the box of frequencies that pass a filter takes part, about a quarter of all. At 32 x 32
    pixels, this is 2 to 3 times as fast as the inverse fast Fourier transforms of the padded responses alone; those
    would be faster only for images of at least about 256 x 256 pixels. The products have the same shape for every
    image, whatever the block, so a value does not depend on the other images.

    References
    ----------
    Oliva and Torralba, *Modeling the Shape of the Scene: A Holistic Representation of the Spatial Envelope*, IJCV
    42(3), 2001. Torralba, Fergus, Freeman, *80 Million Tiny Images*, PAMI 30(11), 2008: GIST of 32 x 32 images.

    Examples
    --------
    >>> Gist().dimension
    512
    >>> stripes = np.tile(np.uint8([0, 0, 255, 255]), (1, 32, 8))
    >>> X, image = next(Gist().extract(stripes))
    >>> by_filter = X.reshape(4, 8, 16).mean(axis=2)
    >>> divmod(int(by_filter.argmax()), 8)  # scale, orientation
    (0, 0)
    """

    block = 16  # fastest for 32 x 32 images: larger blocks overflow the cache

    image_size: int = 32
    border: Annotated[int, at_least(0)] = 32
    scales: Count = 4
    orientations: int | Sequence[int] = 8
    grid: Count = 4
    contrast_cycles: Positive = 4.0
    colour: Annotated[str, choice(*COLOURS)] = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer(self.image_size, "image_size", minimum=self.grid)
        if self.image_size % 2:
            raise ProtocolError(f"image_size: expected an even number, got {self.image_size}.")
        if len(self._orientations) != self.scales:
            raise ProtocolError(f"orientations: {self.orientations!r}, but {self.scales} scales need one number each.")
        for number in self._orientations:
            integer(number, "orientations")

    @property
    def _orientations(self) -> Sequence[int]:
        """Number of orientations at each scale."""
        return self.orientations if isinstance(self.orientations, Sequence) else [self.orientations] * self.scales

    @property
    def dimension(self) -> int:
        """Length of a vector: (sum of orientations over the scales) * grid^2, three times that with colour="rgb"."""
        return sum(self._orientations) * self.grid**2 * (3 if self.colour == "rgb" else 1)

    def _describer(self, images: Sliceable) -> Describe:
        normalised, filtered = self._contrast(), self._filters()

        def describe(block: NDArray[np.uint8]) -> NDArray[np.float32]:
            planes = squares(channels(block, self.colour), self.image_size)
            return filtered(normalised(planes.reshape(-1, *planes.shape[2:]))).reshape(len(block), -1)

        return one_each(describe)

    def _contrast(self) -> Step:
        """Return a function that maps channels (n, size, size) to P (see the class)."""
        size, border = self.image_size, _PREFILTER_BORDER
        n, f = size + 2 * border, _frequencies(size + 2 * border)
        # A circular low-pass, whose transfer exp(-f^2 ln 2 / cycles^2) is 1/2 at the cycles.
        transfer = np.exp(-(f**2) * np.log(2) / self.contrast_cycles**2)
        kernel = np.cos(2 * np.pi * np.arange(n)[:, None] * f / n) @ transfer / n
        blur = kernel[(np.arange(n)[:, None] - np.arange(n)) % n].astype(np.float32)
        pixels = _reflected(size, border)

        def normalised(plane: NDArray[np.float32]) -> NDArray[np.float32]:
            low = plane - plane.min(axis=(1, 2), keepdims=True)
            high = low.max(axis=(1, 2), keepdims=True)
            log = np.log1p(low * (255 / np.where(high > 0, high, 1)))[:, pixels[:, None], pixels]
            detail = log - blur @ log @ blur
            contrast = np.sqrt(np.abs(blur @ detail**2 @ blur))
            return (detail / (_CONTRAST_FLOOR + contrast))[:, border : border + size, border : border + size]

        return normalised

    def _filters(self) -> Step:
        """Return a function that maps images (n, size, size) to vectors (n, d)."""
        size, n = self.image_size, self.image_size + 2 * self.border
        wave = np.exp(2j * np.pi * np.outer(np.arange(n), _frequencies(n)) / n)
        to_spectrum = (wave.conj().T @ np.eye(size)[_reflected(size, self.border)]).astype(np.complex64)
        to_image = (wave[self.border : self.border + size] / n).astype(np.complex64)
        average = _averaging(size, self.grid)
        bank = []
        for transfer in _transfers(n, self._orientations):
            used = (np.flatnonzero((transfer > _NEGLIGIBLE).any(axis=axis)) for axis in (1, 0))
            rows, columns = (slice(int(at[0]), int(at[-1]) + 1) for at in used)
            left, right = np.ascontiguousarray(to_image[:, rows]), np.ascontiguousarray(to_image[:, columns].T)
            # Gains multiply interleaved real and imaginary parts, because NumPy would convert them to complex numbers.
            parts = slice(2 * columns.start, 2 * columns.stop)
            bank.append((rows, parts, transfer[rows, columns].astype(np.float32).repeat(2, axis=1), left, right))

        def filtered(images: NDArray[np.float32]) -> NDArray[np.float32]:
            spectrum = (to_spectrum @ images.astype(np.complex64) @ to_spectrum.T).view(np.float32)
            cells = np.empty((len(images), len(bank), self.grid, self.grid), dtype=np.float32)
            for number, (rows, parts, gain, left, right) in enumerate(bank):
                response = left @ (spectrum[:, rows, parts] * gain).view(np.complex64) @ right
                cells[:, number] = (average @ np.abs(response) @ average.T).transpose(0, 2, 1)
            return cells.reshape(len(images), -1)

        return filtered
