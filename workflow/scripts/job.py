"""The function that runs every script: it logs to a file and the terminal, and prints progress and errors in lines."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError
from protocol.progress import lines
from protocol.provenance import checksums


def run(main: Callable[[Any], None], job: Any) -> None:
    """Run `main(job)`. After a ProtocolError, print its message alone; after any other exception, a traceback."""
    log = Path(str(job.log))
    log.parent.mkdir(parents=True, exist_ok=True)
    terminal, file = logging.StreamHandler(), logging.FileHandler(log, mode="w")
    terminal.setLevel(logging.WARNING)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", handlers=[file])
    terminal.setFormatter(logging.Formatter("%(message)s"))
    logging.getLogger().addHandler(terminal)
    logging.captureWarnings(True)
    # A full disk is reported once, for the file that could not be written, and not again for each line of the log or
    # for each array that HDF5 fails to close.
    logging.raiseExceptions = False
    sys.excepthook = sys.unraisablehook = lambda *problem: logging.info("error that could not be raised: %s", problem)
    logging.info("%s %s", job.rule, dict(job.wildcards.items()))
    name = " ".join(["rule", job.rule, *(str(value) for _, value in job.wildcards.items())])
    logging.info("parameters: %s", dict(job.params.items()))
    try:
        with lines(name):
            main(job)
        checksums.record_origin(job)
        for path in job.output:
            logging.info("wrote %s, %s bytes", path, f"{Path(path).stat().st_size:,}")
    except ProtocolError as error:
        logging.error("error: %s", error)
        sys.exit(1)
    except Exception:
        logging.exception("unexpected error in rule %s", job.rule)
        sys.exit(1)
