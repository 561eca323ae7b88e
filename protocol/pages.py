"""The pages of the documentation that error messages and `protocol list` name, by their titles.

Users of the wheel have no folder `docs`, so a path would lead nowhere.
"""

import re

OF_KIND = {
    "dataset": "Datasets",
    "feature": "Features",
    "ground_truth": "Ground truths",
    "split": "How the split protocols differ",
    "hasher": "Hashers",
    "quantiser": "Compare representations at equal bytes",
    "metric": "Cutoffs and denominators",
    "finding": "Audit a split",
    "convention": "The same codes, three numbers",
}
"""For each kind of name in `protocol list`, the page that explains it."""
OF_ERROR = {
    r"metric .* is ambiguous: choose ": "Cutoffs and denominators",
    r"^nothing to compare: ": "Compare results",
    r"ground truth 'epsilon_ball' .*training points": "Ground truths",
}
"""For each regular expression, the page that explains the errors whose messages match it; the first match counts."""


def with_page(message: str) -> str:
    """Return an error message, followed by the page that explains the error if there is one.

    Examples
    --------
    >>> print(with_page("nothing to compare: ..."))
    nothing to compare: ... See "Compare results" in the documentation.
    >>> with_page("runs must be an integer from 1 to 10,000, got 0.")
    'runs must be an integer from 1 to 10,000, got 0.'
    """
    for pattern, page in OF_ERROR.items():
        if re.search(pattern, message):
            return f'{message} See "{page}" in the documentation.'
    return message
