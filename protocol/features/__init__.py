"""Features: one module for each, from images to float32 vectors, and preprocessing fitted on the training set."""

from protocol.features._feature import Feature
from protocol.features._items import Prepared, Preprocessing, extract, fit_preprocessing, items_of, join, prepared
