"""How every script runs: what it says goes to the terminal and to its log, and an error is one clear line."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError


def run(main: Callable[[Any], None], job: Any) -> None:
    """Run `main(job)`; a ProtocolError ends the job with its message alone, anything else with a traceback."""
    log = Path(str(job.log))
    log.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        level=logging.INFO, format="%(message)s", handlers=[logging.StreamHandler(), logging.FileHandler(log, mode="w")]
    )
    try:
        main(job)
    except ProtocolError as error:
        logging.error("error: %s", error)
        sys.exit(1)
    except Exception:
        logging.exception("unexpected error in rule %s", job.rule)
        sys.exit(1)
