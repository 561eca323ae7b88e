"""The pages of the documentation that error messages and `protocol list` name."""

import re

OF_KIND = {
    "dataset": "docs/reference/datasets.md",
    "feature": "docs/reference/features.md",
    "ground_truth": "docs/explanation/ground-truths.md",
    "split": "docs/explanation/split-protocols.md",
    "hasher": "docs/reference/hashers.md",
    "quantiser": "docs/how-to/compare-representations.md",
    "metric": "docs/explanation/cutoffs-and-denominators.md",
    "finding": "docs/how-to/audit-a-split.md",
    "convention": "docs/explanation/same-codes-three-numbers.md",
}
"""For each kind of name in `protocol list`, the page that explains it."""
OF_ERROR = {
    r"metric .* is ambiguous: choose ": "docs/explanation/cutoffs-and-denominators.md",
    r"^key in |^config file: the keys? ": "docs/reference/configuration.md",
    r"^nothing to compare: ": "docs/how-to/compare-results.md",
    r"ground truth 'epsilon_ball': .*training points": "docs/explanation/ground-truths.md",
    r"expected .*[(]protocol list metrics[)], got ": "docs/reference/metrics.md",
    r"expected .*[(]protocol list findings[)], got ": "docs/reference/findings.md",
    r"expected .*[(]protocol list splits[)], got ": "docs/reference/splits.md",
}
"""For each regular expression, the page that explains the errors whose messages match it; the first match counts."""


def with_page(message: str) -> str:
    """Return an error message, followed by the page that explains the error if there is one.

    Examples
    --------
    >>> with_page("key in the config file: expected ..., got 'hasher'. Did you mean 'hashers'?")
    "key in the config file: expected ..., got 'hasher'. Did you mean 'hashers'? See docs/reference/configuration.md."
    >>> with_page("runs: expected an integer from 1 to 10000, got 0.")
    'runs: expected an integer from 1 to 10000, got 0.'
    """
    for pattern, page in OF_ERROR.items():
        if re.search(pattern, message):
            return f"{message} See {page}."
    return message
