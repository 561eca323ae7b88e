"""Figures and tables for the user's own manuscript, as the key `paper` of the configuration chooses them.

`protocol.papers` redraws the figures of published papers instead.
"""
