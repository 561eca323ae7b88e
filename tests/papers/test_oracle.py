"""The ledger compared with the list of claims that accompanies the papers: equal ids and equal numbers."""

import re
from collections import Counter
from fractions import Fraction

import pytest
import yaml
from encoded import yaml_of

from protocol import papers
from protocol.papers.claims import leaves

DERIVED = yaml_of("papers/derived.yaml")
WORDED = {"S0-13", "S3-22", "S4-11"}  # their numbers are written in words and units there


@pytest.fixture(scope="module")
def oracle(shared):
    return yaml.safe_load((shared / "papers" / "claims.yaml").read_text())


def numbers(value):
    """Return the numbers in a value, including those in text such as 4/6 or 100."""
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers(part)]
    if isinstance(value, str):
        return [float(Fraction(value))] if re.fullmatch(r"\d+/\d+", value) else []
    return [] if value is None else [float(value)]


def parts_of(number):
    """Return the claims that an entry of the list became: one, or several whose ids have an ending such as -runs."""
    return [claim for claim in papers.all_claims() if claim.id == number or claim.id.startswith(f"{number}-")]


def test_the_ids_are_those_of_the_list_and_more(oracle):
    listed = [entry["id"] for entry in oracle["claims"]]
    assert len(listed) == len(set(listed)) == oracle["meta"]["n_claims"]
    registered = Counter(claim.id for claim in papers.all_claims())
    assert set(registered.values()) == {1}
    assert set(listed) <= set(registered)
    split = {claim.id for number in listed for claim in parts_of(number)}
    assert all(number.startswith("X-") for number in set(registered) - split)


def test_every_printed_number_is_expected(oracle):
    for entry in oracle["claims"]:
        expected = [number for claim in parts_of(entry["id"]) for number in leaves(claim.expected)]
        for number in set(numbers(entry.get("values"))) - {*DERIVED.get(entry["id"], [])}:
            if entry["id"] not in WORDED:
                assert any(abs(number - mine) < 1e-9 for mine in expected), (entry["id"], number)
