"""The pages of the documentation that error messages, helps and `protocol list` name."""

OF_KIND = {
    "dataset": "docs/reference/configuration.md",
    "feature": "docs/reference/configuration.md",
    "ground_truth": "docs/reference/configuration.md",
    "split": "docs/reference/configuration.md",
    "hasher": "docs/reference/configuration.md",
    "metric": "docs/explanation/same-codes-three-numbers.md",
    "finding": "docs/how-to/audit-in-continuous-integration.md",
    "convention": "docs/explanation/same-codes-three-numbers.md",
}
"""By the kind of a name, as in `protocol list`."""
