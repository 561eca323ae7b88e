"""The terminal that shows printed text: its width, and whether it shows colours."""

import os
import re
import shutil
from typing import TextIO

_STYLES = {
    re.compile(r"^(?:== .*|(?:usage|examples|options|files):)", re.M): "1",  # headings: bold
    re.compile(r"^(?:protocol:|  error(?= ))", re.M): "31",  # red
    re.compile(r"^  warning(?= )", re.M): "33",  # yellow
}


def width(otherwise: int = 100) -> int:
    """Return the columns of printed text: those of the terminal, from 80 to 140; `otherwise` if there is none."""
    columns = shutil.get_terminal_size((0, 0)).columns
    return min(max(columns, 80), 140) if columns else otherwise


def coloured(text: str, stream: TextIO) -> str:
    """Return text in which headings, errors and warnings have colours, if the stream is a terminal that shows them."""
    if stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb":
        for pattern, style in _STYLES.items():
            text = pattern.sub(f"\x1b[{style}m\\g<0>\x1b[m", text)
    return text
