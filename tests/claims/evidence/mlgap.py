"""Evidence for and against the claims of *Mean Local Group Average Precision*."""

from evidence.case import Case

CASES = {
    "S0-08": Case(
        confirming=[{"mean": 0.15}, {"hasher": "itq", "mean": 0.19}],
        refuting=[{"mean": 0.15}, {"hasher": "itq", "mean": 0.21}],
    ),
}
