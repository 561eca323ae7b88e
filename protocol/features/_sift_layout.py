"""The layout of a SIFT descriptor: the constants that `sift`, `dense_sift`, `bow` and the compiled loops share."""

CELLS = 4
"""Cells along each side of a patch."""
ORIENTATIONS = 8
LENGTH = CELLS**2 * ORIENTATIONS
CLIP = 0.2
"""Largest component of the unit vector, which is then scaled again."""
STEPS = 512
"""Integers per unit of a descriptor's component, as in Lowe's code and OpenCV."""
