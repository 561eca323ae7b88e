"""Features: one module for each, from images to float32 vectors, and preprocessing fitted on the training set."""

from protocol.features._feature import Feature
from protocol.features._items import (
    Extracted,
    Prepared,
    Preprocessing,
    Rows,
    extract,
    extracted,
    fit_preprocessing,
    items_of,
    join,
    prepared,
)

__all__ = [
    "Extracted",
    "Feature",
    "Prepared",
    "Preprocessing",
    "Rows",
    "extract",
    "extracted",
    "fit_preprocessing",
    "items_of",
    "join",
    "prepared",
]
