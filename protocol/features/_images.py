"""Convert images to channels: mean grey, luma, or RGB."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError

COLOURS = ("mean", "luma", "rgb")
_LUMA = (0.299, 0.587, 0.114)  # of red, green and blue: ITU-R BT.601


def channels(images: NDArray[np.uint8], colour: str) -> NDArray[np.float32]:
    """Return the channels given by `colour`: float32, shape (n, n_channels, height, width), 0 to 255.

    Parameters
    ----------
    images : ndarray of uint8, shape (n, height, width) or (n, height, width, 3)
    colour : {"mean", "luma", "rgb"}
        One channel, the mean of R, G and B or 0.299 R + 0.587 G + 0.114 B, where grey images are unchanged; or the
        three channels of colour images.

    Raises
    ------
    ProtocolError
        If `colour` is "rgb" and the images are grey.

    Examples
    --------
    >>> red = np.uint8([[[[150, 0, 0]]]])
    >>> [channels(red, colour).astype(int).ravel().tolist() for colour in COLOURS]
    [[50], [44], [150, 0, 0]]
    """
    if images.ndim == 3:
        if colour == "rgb":
            raise ProtocolError("colour: expected 'mean' or 'luma' for grey images, got 'rgb'.")
        return images[:, None].astype(np.float32)
    planes = images.transpose(0, 3, 1, 2).astype(np.float32, order="C")
    if colour == "rgb":
        return planes
    red, green, blue = planes[:, :1], planes[:, 1:2], planes[:, 2:]
    grey = _LUMA[0] * red + _LUMA[1] * green + _LUMA[2] * blue if colour == "luma" else (red + green + blue) / 3
    return grey.astype(np.float32, copy=False)
