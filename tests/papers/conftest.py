"""Verdicts that several tests share: a proof takes seconds, and always has the same result."""

import contextlib

import pytest

from protocol import papers


@contextlib.contextmanager
def proved(proofs):
    """Judge claims without repeating the proofs."""
    judge = papers.Claim.judge
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(papers.Claim, "judge", lambda claim, results: proofs.get(claim.id) or judge(claim, results))
        yield


@pytest.fixture(scope="session")
def proofs():
    """Return the verdict of each proof by its id."""
    return {claim.id: claim.judge(papers.Results()) for claim in papers.all_claims() if claim.proof}


@pytest.fixture
def proved_once(proofs):
    with proved(proofs):
        yield


@pytest.fixture(scope="session")
def without_data(proofs):
    """Return the entries of the ledger by id."""
    with proved(proofs):
        return {entry["id"]: entry for entry in papers.judge(papers.Results())}


@pytest.fixture(scope="session")
def reference_tables(root):
    return sorted((root / "results" / "reference").glob("*/*.csv"))


@pytest.fixture(scope="session")
def with_reference_tables(proofs, reference_tables):
    with proved(proofs):
        return {entry["id"]: entry for entry in papers.judge(papers.Results(reference_tables))}
