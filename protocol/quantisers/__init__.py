"""Recall by approximate representations: codes, quantisers (one file for each), and indexes of search engines."""

from protocol.quantisers._quantiser import Quantiser
from protocol.quantisers.attribution import Attribution, attribute
from protocol.quantisers.binarisation import Quantisation, quantisation
from protocol.quantisers.representations import plugin_of
