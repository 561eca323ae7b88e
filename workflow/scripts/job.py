"""The function that runs every script: it logs to a file and the terminal, and prints progress and errors in lines."""

import logging
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import protocol
from protocol.checks import ProtocolError
from protocol.cli._output import lines
from protocol.provenance import checksums
from protocol.registry import folders


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
            _in_one_directory(main, job)
        checksums.record_origin(job)
        for path in job.output:
            logging.info("wrote %s, %s bytes", path, f"{Path(path).stat().st_size:,}")
    except ProtocolError as error:
        logging.error("error: %s", error)
        sys.exit(1)
    except Exception:
        logging.exception("unexpected error in rule %s", job.rule)
        sys.exit(1)


def _in_one_directory(main: Callable[[Any], None], job: Any) -> None:
    """Run `main(job)`; if it changed the working directory, raise only the error that names the file that did so.

    Every path of a job is relative, so other errors would be misleading. A temporary change is allowed.
    """
    start, callers = os.getcwd(), [job.rule]
    code = (os.path.dirname(protocol.__file__), *map(str, folders.folders()))

    def record(event: str, _: Any) -> None:
        if event == "os.chdir":
            files = [frame.filename for frame in traceback.extract_stack()]
            callers.extend(file for file in files if file.startswith(code))

    sys.addaudithook(record)
    try:
        main(job)
    finally:
        if os.getcwd() != start:
            raise ProtocolError(
                f"{callers[-1]}: changes the working directory, to which relative paths refer. Remove os.chdir."
            )
