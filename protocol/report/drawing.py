"""Charts as static pictures, drawn in a separate process.

vl-convert draws with V8, which reserves far more address space than it uses. If the address space is limited
(``ulimit -v``, as on some clusters), V8 ends its process.
"""

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError, need

PACKAGE_DATA = "_drawing_child.py"
_CHILD = Path(__file__).with_name(PACKAGE_DATA)


class DrawingError(ProtocolError):
    """No picture can be drawn on this machine."""


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
    DrawingError
        If the drawing process ends early, usually for lack of address space.
    ProtocolError
        If a specification can't be drawn.
    """
    need("vl_convert", "report")
    if not specs:
        return []
    requests = [{"spec": spec, "formats": list(formats), "ppi": ppi} for spec in specs]
    done = subprocess.run(
        [sys.executable, "-P", str(_CHILD)],
        input=json.dumps(requests).encode(),
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    if replies and "error" in replies[-1]:
        raise ProtocolError(f"figure {len(replies)}: can't be drawn: {replies[-1]['error']}.")
    if done.returncode or len(replies) < len(specs):
        raise DrawingError(f"vl-convert could not draw the static pictures: {_ended(done.returncode)}.")
    return [{name: base64.b64decode(content) for name, content in reply.items()} for reply in replies]


def _ended(code: int) -> str:
    """Return in words how the drawing process ended, and the limit that is the likely reason."""
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    try:
        import resource
    except ImportError:  # not available on every system
        return how
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    is_limited = limit != resource.RLIM_INFINITY
    return f"{how}: the address space is limited to {limit / 2**30:.3g} GiB (ulimit -v)" if is_limited else how
