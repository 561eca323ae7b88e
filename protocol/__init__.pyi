"""The public names and the modules that have them, for type checkers and for `protocol.__getattr__`."""

from protocol.auditing import Evidence as Evidence
from protocol.auditing import audit as audit
from protocol.auditing.duplicates import find_duplicates as find_duplicates
from protocol.comparison import compare as compare
from protocol.comparison import leaderboard as leaderboard
from protocol.evaluation import Codes as Codes
from protocol.evaluation import Evaluator as Evaluator
from protocol.evaluation import Judgments as Judgments
from protocol.evaluation import Labels as Labels
from protocol.evaluation import Nearest as Nearest
from protocol.evaluation import Outputs as Outputs
from protocol.evaluation import Relevant as Relevant
from protocol.evaluation import bucket_search as bucket_search
from protocol.evaluation import evaluate as evaluate
from protocol.evaluation import evaluate_run as evaluate_run
from protocol.evaluators import diagnose as diagnose
from protocol.evaluators import explain as explain
from protocol.quantisers import attribute as attribute
from protocol.quantisers import quantisation as quantisation
from protocol.registry import get as get
from protocol.registry import names as names
from protocol.splits import load_split as load_split
from protocol.verification import verify as verify

__version__: str
