"""The configuration: the keys of a config file, the loader, the checks, and the jobs with their memory and time."""

from protocol.configuration.checks import check_installed
from protocol.configuration.experiment import Experiment, FeaturePlan, FinishedCodes, Use
from protocol.configuration.finished_codes import code_files
from protocol.configuration.jobs import jobs
from protocol.configuration.loading import DEFAULT, load
from protocol.configuration.resources import n_parts, need
from protocol.configuration.yaml_files import check_files, read

__all__ = [
    "DEFAULT",
    "Experiment",
    "FeaturePlan",
    "FinishedCodes",
    "Use",
    "check_files",
    "check_installed",
    "code_files",
    "jobs",
    "load",
    "n_parts",
    "need",
    "read",
]
