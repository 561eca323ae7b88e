"""Pixels: the unchanged values of an image, for baselines and for methods that learn their own features."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from protocol.features._feature import COLOURS, Describe, Feature, Sliceable, channels, one_each
from protocol.inputs.images import squares
from protocol.registry import Count, FeatureRecord, choice


@FeatureRecord.declared
class Pixels(Feature):
    """Pixels: the values of an image, 0 to 255, row by row, with interleaved channels.

    Parameters
    ----------
    image_size : int, at least 1, or None, default None
        Side in pixels; images are cropped to their central square and resized bilinearly. None for unchanged images.
    colour : {"mean", "luma", "rgb"} or None, default None
        Grey as the mean of the channels or as 0.299 R + 0.587 G + 0.114 B; or the channels of colour images. None for
        all channels that the images have.

    Notes
    -----
    Raw values are uint8 if both options are None, otherwise float32. If either option is None, the length of a vector
    depends on the data.

    Examples
    --------
    >>> next(Pixels().extract(np.uint8([[[1, 2], [3, 4]]])))[0]
    array([[1, 2, 3, 4]], dtype=uint8)
    """

    images_per_job = None

    image_size: Count | None = None
    colour: Annotated[str, choice(*COLOURS)] | None = None

    @property
    def dimension(self) -> int | None:
        """Length of a vector: image_size^2 times the number of channels; None if an option is None."""
        if self.image_size is None or self.colour is None:
            return None
        return self.image_size**2 * (3 if self.colour == "rgb" else 1)

    def _describer(self, images: Sliceable) -> Describe:
        colour = self.colour or ("rgb" if len(images.shape) == 4 else "mean")

        def describe(block: NDArray[np.uint8]) -> NDArray:
            if self.image_size is None and self.colour is None:
                return block.reshape(len(block), -1)
            planes = channels(block, colour)
            if self.image_size is not None:
                planes = squares(planes, self.image_size)
            return planes.transpose(0, 2, 3, 1).reshape(len(block), -1)

        return one_each(describe)
