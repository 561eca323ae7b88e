"""The layout of a SIFT descriptor: constants shared by `sift`, `dense_sift`, `bow` and the compiled loops."""

CELLS = 4
"""Cells along each side of a patch."""
ORIENTATIONS = 8
LENGTH = CELLS**2 * ORIENTATIONS
CLIP = 0.2
"""Upper bound on the components of the unit vector, which is rescaled after clipping."""
STEPS = 512
"""Scale from components to integers, as in Lowe's code and OpenCV."""
