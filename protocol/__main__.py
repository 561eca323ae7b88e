"""Run the command line: `python -m protocol` is the same as `protocol`."""

import sys

from protocol.cli import main

sys.exit(main())
