"""What a dataset says of a file it is read from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """A file to download.

    Parameters
    ----------
    name : str
        The official file name; the loader finds the file under this key of its `paths`.
    urls : tuple of str
        Where it is to be had (http, https or ftp), in the order to try; () where nobody may hand it on, so that it
        must be put into the mirror by hand.
    sha256 : str or None
        Official checksum of its bytes, 64 hexadecimal digits; None where none is known.
    size : int or None
        Length in bytes; None where it is not known.
    by_hand : str, default=""
        How a person gets the file, where that is more than opening one of `urls`.
    """

    name: str
    urls: tuple[str, ...]
    sha256: str | None
    size: int | None
    by_hand: str = ""
