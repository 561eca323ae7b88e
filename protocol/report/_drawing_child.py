"""The script that draws charts in a separate process, since vl-convert ends its process if memory is limited.

`protocol.report.drawing` runs it. The standard input is a JSON list of requests, each with a ``spec``, the ``formats``
to draw and the ``ppi`` (pixels per inch) of PNG. Each reply is a line of JSON: base64 by format, or ``error``.
"""

import base64
import json
import sys
from typing import Any

import vl_convert


def main() -> None:
    """Draw every chart that the standard input describes."""
    for request in json.load(sys.stdin):
        sys.stdout.write(json.dumps(drawn(request)) + "\n")
        sys.stdout.flush()


def drawn(request: dict[str, Any]) -> dict[str, str]:
    """Return a chart in each format that a request names, or the error."""
    spec, made = request["spec"], {}
    try:
        for name in request["formats"]:
            match name:
                case "svg":
                    content = vl_convert.vegalite_to_svg(spec).encode()
                case "pdf":
                    content = vl_convert.vegalite_to_pdf(spec)
                case _:
                    content = vl_convert.vegalite_to_png(spec, ppi=request["ppi"])
            made[name] = base64.b64encode(content).decode("ascii")
    except ValueError as error:
        return {"error": " ".join(str(error).split())}
    return made


if __name__ == "__main__":
    main()
