"""How every script runs: what it says goes to the terminal and to its log, and an error is one clear line."""

import logging
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError


def run(main: Callable[[Any], None], job: Any) -> None:
    """Run `main(job)`; a ProtocolError ends the job with its message alone, anything else with a traceback."""
    log = Path(str(job.log))
    log.parent.mkdir(parents=True, exist_ok=True)
    terminal, file = logging.StreamHandler(), logging.FileHandler(log, mode="w")
    terminal.setLevel(logging.WARNING)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", handlers=[file])
    terminal.setFormatter(logging.Formatter("%(message)s"))
    logging.getLogger().addHandler(terminal)
    logging.captureWarnings(True)
    # A full disk is said once, in the line of the file that found no room: not by each line of the log, nor by each
    # array that HDF5 closes without being able to raise.
    logging.raiseExceptions = False
    sys.excepthook = sys.unraisablehook = lambda *problem: logging.info("not raised: %s", problem)
    logging.info("%s %s", job.rule, dict(job.wildcards.items()))
    logging.info("parameters: %s", dict(job.params.items()))
    try:
        main(job)
        for path in job.output:
            logging.info("wrote %s, %s bytes", path, f"{Path(path).stat().st_size:,}")
        # Snakemake's benchmark files look at a job every half a second, and miss the peak of a short one.
        logging.info("peak memory %.0f MB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)
    except ProtocolError as error:
        logging.error("error: %s", error)
        sys.exit(1)
    except Exception:
        logging.exception("unexpected error in rule %s", job.rule)
        sys.exit(1)
