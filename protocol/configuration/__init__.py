"""The configuration: the keys of a config file, the loader, the checks, and the plan of jobs."""

from protocol.configuration.checks import check_installed
from protocol.configuration.experiment import Experiment
from protocol.configuration.loading import load
from protocol.configuration.plan import Plan
from protocol.configuration.schema import read
