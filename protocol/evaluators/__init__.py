"""What public evaluators do differently, and which of it explains a reported score."""

from protocol.evaluators.diagnosis import Diagnosis, diagnose, read_answers, write_cases
from protocol.evaluators.search import Explanation, explain
from protocol.evaluators.ways import VARIANTS, Way
