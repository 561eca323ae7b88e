"""Datasets: one module for each, with its sources, checksums and loader."""

from protocol.datasets._dataset import Data, Paths, check_vectors, load, numbered_ids, statistics, store
from protocol.datasets._fetch import Downloads, fetch, redacted
from protocol.datasets._training_labels import training_labels
from protocol.datasets._user_files import count_images, file_state, folder_state, user_paths
from protocol.inputs.validation import LazyRows
from protocol.registry.records import File
