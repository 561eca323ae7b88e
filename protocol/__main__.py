"""`python -m protocol` is `protocol`."""

import sys

from protocol.cli import main

sys.exit(main())
