"""Random images, and the complete result of a feature's extraction in blocks."""

import numpy as np


def noise(n, *shape):
    return np.random.default_rng(0).integers(0, 256, (n, *shape), dtype=np.uint8)


def extract_all(feature, images, progress=None):
    """Return the raw descriptors of all images, and the image of each."""
    rows, owners = zip(*feature.extract(images, progress), strict=True)
    return np.concatenate(rows), np.concatenate(owners)
