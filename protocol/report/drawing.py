"""Charts as static pictures, drawn by vl-convert.

vl-convert draws with V8, which reserves about 64 GiB of address space when it starts, of which it uses little. It ends
the whole process if the address space is limited (``ulimit -v``, as on some clusters), which is therefore refused.
"""

import contextlib
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from protocol.checks import ProtocolError, need

_CLIP = re.compile(r'(?<=id=")clip\d+(?=")|(?<=url\(#)clip\d+(?=\))')
_RESERVED = 80 * 2**30  # bytes; 64.4 GiB were measured, and the process has its own


def pictures(
    specs: Sequence[Mapping[str, Any]], formats: Sequence[str] = ("svg",), *, ppi: float = 72
) -> list[dict[str, bytes]]:
    """Return charts as pictures.

    Parameters
    ----------
    specs : sequence of mapping
        Vega-Lite specifications with their data.
    formats : sequence of {"svg", "pdf", "png"}
    ppi : float, default=72
        Pixels per inch of PNG pictures, which they record; at 72, a point is a pixel.

    Returns
    -------
    list of dict of str to bytes
        The pictures by format, in the order of `specs`.

    Raises
    ------
    ProtocolError
        If the address space is limited, or a specification can't be drawn.
    """
    library = need("vl_convert", "report")
    with contextlib.suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and limit < _RESERVED:
            raise ProtocolError(
                f"vl-convert can't draw the static pictures: the address space is limited to {limit / 2**30:.3g} GiB. "
                "Run `ulimit -v unlimited` first."
            )
    clips: dict[str, str] = {}

    def numbered(name: re.Match[str]) -> str:  # Vega counts the pictures of a process
        return clips.setdefault(name[0], f"clip{len(clips)}")

    draw = {
        "svg": lambda spec: _CLIP.sub(numbered, library.vegalite_to_svg(spec)).encode(),
        "pdf": library.vegalite_to_pdf,
        "png": functools.partial(library.vegalite_to_png, ppi=ppi),
    }
    drawn = []
    for number, spec in enumerate(specs, 1):
        try:
            drawn.append({name: draw[name](spec) for name in formats})
        except ValueError as error:
            raise ProtocolError(f"figure {number}: can't be drawn: {' '.join(str(error).split())}.") from error
    return drawn
