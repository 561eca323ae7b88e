"""Downloads: what a dataset says of a file that is to be fetched."""

from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """A file to download.

    Parameters
    ----------
    name : str
        The official file name; the loader finds the file under this key of its `paths`.
    urls : tuple of str
        Where it is to be had, in the order to try; () where it must be put into the mirror by hand.
    sha256 : str or None
        Official checksum of its bytes, 64 hexadecimal digits; None where none is known.
    size : int or None
        Length in bytes, where it is known.
    by_hand : str
        How to come by the file where no address gives it.
    """

    name: str
    urls: tuple[str, ...]
    sha256: str | None
    size: int | None
    by_hand: str = ""
