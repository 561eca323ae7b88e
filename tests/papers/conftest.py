"""The ledger with and without the stored reference results."""

import pytest

from protocol import papers


@pytest.fixture(scope="session")
def without_data():
    """Return the entries of the ledger by id."""
    return {entry["id"]: entry for entry in papers.ledger(papers.Results())}


@pytest.fixture(scope="session")
def reference_tables(root):
    return sorted((root / "results" / "reference").glob("*/*.csv"))


@pytest.fixture(scope="session")
def with_reference_tables(reference_tables):
    return {entry["id"]: entry for entry in papers.ledger(papers.Results(reference_tables))}
