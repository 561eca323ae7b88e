"""SIFT: histograms of gradient orientations around a point, computed by OpenCV."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from protocol.features._feature import Describe, Feature, Sliceable, channels
from protocol.inputs.images import squares
from protocol.registry import FeatureRecord, at_least, choice

CELLS = 4
"""Cells along each side of a patch."""
ORIENTATIONS = 8
LENGTH = CELLS**2 * ORIENTATIONS
CLIP = 0.2
"""Upper bound on the components of the unit vector, which is rescaled after clipping."""
STEPS = 512
"""Scale from components to integers, as in Lowe's code and OpenCV."""
_SIDE_PER_SIZE = 6  # a side of OpenCV's descriptor has 4 cells of 1.5 keypoint sizes


@FeatureRecord.declared
class Sift(Feature):
    """SIFT: histograms of 8 gradient orientations in 4 x 4 cells, for a whole image or for each detected keypoint.

    Parameters
    ----------
    items : {"image", "local"}, default "image"
        ``image``: one upright descriptor of the whole image. ``local``: one for each keypoint that Lowe's detector
        finds, with its orientation and scale, as in SIFT1M. An item is then a keypoint; an image may have any number of
        items, and a flat one has none.
    image_size : int, at least 16, default 64
        Side in pixels; images are converted to luma, cropped to their central square and resized bilinearly. OpenCV's
        base blur of 1.6 pixels would remove most detail of an 8 x 8 or 32 x 32 image.

    Notes
    -----
    Raw descriptors are uint8: OpenCV rounds 512 times the clipped, normalised vector to integers from 0 to 255. The
    keypoints of ``local`` are in the order of OpenCV's detector.

    References
    ----------
    Lowe, *Distinctive Image Features from Scale-Invariant Keypoints*, IJCV 60(2), 2004, sections 3 to 6.
    Jegou, Douze, Schmid, *Product Quantization for Nearest Neighbor Search*, PAMI 33(1), 2011: SIFT1M.
    """

    items: Annotated[str, choice("image", "local")] = "image"
    image_size: Annotated[int, at_least(16)] = 64

    @property
    def dimension(self) -> int:
        """Length of a descriptor, 128."""
        return LENGTH

    def _describer(self, images: Sliceable) -> Describe:
        import cv2

        cv2.setNumThreads(1)
        detector = cv2.SIFT_create()  # type: ignore[attr-defined]
        middle = self.image_size / 2
        keypoints = [cv2.KeyPoint(middle, middle, self.image_size / _SIDE_PER_SIZE, 0)]

        def of_image(grey: NDArray[np.uint8]) -> NDArray:
            if self.items == "image":
                return detector.compute(grey, keypoints)[1]
            descriptors = detector.detectAndCompute(grey, None)[1]
            return np.empty((0, LENGTH)) if descriptors is None else descriptors

        def describe(block: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
            grey = np.rint(squares(channels(block, "luma"), self.image_size)[:, 0]).astype(np.uint8)
            rows = [of_image(image) for image in grey]
            return np.concatenate(rows).astype(np.uint8), np.repeat(np.arange(len(block)), list(map(len, rows)))

        return describe
