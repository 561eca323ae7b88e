"""Selects the scores that may be in one table: their identifying fields are known and equal, or assumed to be equal."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from protocol.checks import ProtocolError, abridged, counted, listed, one_of
from protocol.comparison.reading import Score
from protocol.scores.metadata import PROTOCOL

OF_METRIC = ("undefined", "ties")
"""The fields that depend on the metric; scores of one file agree in all others."""
_FEW = 3
_DIGEST = 12  # letters of the SHA-256 of a ground truth


def assumptions(assumed: str | Iterable[str]) -> dict[str, str]:
    """Return the assumed value of each field.

    Examples
    --------
    >>> assumptions(["dataset=digits", "split=standard"])
    {'dataset': 'digits', 'split': 'standard'}
    """
    values: dict[str, str] = {}
    for text in [assumed] if isinstance(assumed, str) else assumed:
        field, _, value = map(str.strip, text.partition("="))
        one_of(field, PROTOCOL, "assume")
        if not value:
            raise ProtocolError(f"assume: {field} has no value: {field}=VALUE.")
        if values.setdefault(field, value) != value:
            raise ProtocolError(f"assume: {field} has two values, {values[field]} and {value}.")
    return values


def match(
    scores: Sequence[Score], assumed: Mapping[str, str], *, least: int = 2
) -> tuple[list[Score], dict[str, list[str]]]:
    """Return the scores that at least two sources (or `least`) have under the same known or assumed protocol.

    A field that a score does not record takes the assumed value, if there is one.

    Returns
    -------
    compared : list of Score
        Every score for which enough files have one under the same protocol; assumed values are filled in.
    left_out : dict of str to list of str
        For each file, descriptions of the scores that were left out, with the reasons.

    Raises
    ------
    ProtocolError
        If no scores can be compared.
    """
    complete = _with_digests([_completed(score, assumed) for score in scores])
    files: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for score in complete:
        files[score.metric, score.n_bits, score.protocol].add(score.file)
    compared, left_out = list[Score](), list[Score]()
    for score in complete:
        is_known = None not in score.protocol
        is_compared = is_known and len(files[score.metric, score.n_bits, score.protocol]) >= least
        (compared if is_compared else left_out).append(score)
    if not compared:
        raise ProtocolError(_nothing(complete))
    return _named_by_method(compared), _left_out(left_out, complete)


def _completed(score: Score, assumed: Mapping[str, str]) -> Score:
    """Return a score with the assumed values of the fields that it does not record."""
    missing = {field: value for field, value in assumed.items() if score.fields[field] is None}
    return replace(score, fields={**score.fields, **missing}, assumed=missing)


def _with_digests(scores: Sequence[Score]) -> list[Score]:
    """Return the scores; to equal names of ground truths whose digests differ, the start of the digest is added."""
    digests: dict[tuple[str | None, ...], set[str]] = defaultdict(set)
    keys = [tuple(value for field, value in score.fields.items() if field not in OF_METRIC) for score in scores]
    for key, score in zip(keys, scores, strict=True):
        digests[key] |= {score.ground_truth_sha256} if score.ground_truth_sha256 else set()
    return [
        replace(score, fields={**score.fields, "ground_truth": f"{name} ({score.ground_truth_sha256[:_DIGEST]})"})
        if (name := score.fields["ground_truth"]) and score.ground_truth_sha256 and len(digests[key]) > 1
        else score
        for key, score in zip(keys, scores, strict=True)
    ]


def _named_by_method(scores: Sequence[Score]) -> list[Score]:
    """Return the scores with unique names of methods.

    Files about one method with different code lengths or metrics remain one method. If two files have the same score of
    the same method, or one name is used for two rankings, the name of the file is added to distinguish them.
    """
    files: dict[tuple[Any, ...], str] = {}
    rankings: dict[str, str] = {}
    ambiguous = set()
    for score in scores:
        file = files.setdefault((score.method, score.n_bits, score.metric, score.protocol), score.file)
        if file != score.file or rankings.setdefault(score.method, score.ranking) != score.ranking:
            ambiguous.add(score.method)
    return [
        replace(score, method=f"{score.method} ({score.file})") if score.method in ambiguous else score
        for score in scores
    ]


def _nearest(score: Score, scores: Iterable[Score]) -> Score | None:
    """Return the score of another file that differs from this one in the fewest fields, and lacks the fewest."""
    others = [
        other
        for other in scores
        if other.file != score.file and (other.metric, other.n_bits) == (score.metric, score.n_bits)
    ]
    return min(others, key=lambda other: _distance(score, other), default=None)


def _distance(score: Score, other: Score | None) -> tuple[int, int]:
    """Return the numbers of fields that differ and that one of the scores lacks; without another score, the most."""
    if other is None:
        return len(PROTOCOL), 0
    n_missing = sum(None in values for values in zip(score.protocol, other.protocol, strict=True))
    return len(_differing(score, other)), n_missing


def _differing(one: Score, other: Score) -> list[str]:
    """Return the fields that are recorded in both and differ, with their values."""
    pairs = zip(PROTOCOL, one.protocol, other.protocol, strict=True)
    return [f"{name} ({a}; {b})" for name, a, b in pairs if a and b and a != b]


def _reasons(score: Score, other: Score | None) -> list[str]:
    """Return, in a clause for each, why a score is not compared with the nearest one of another file."""
    if other is None:
        reasons = [] if _unknown(score) else [f"no other file has the metric and code length of {score.file}"]
    else:
        differing = _differing(score, other)
        reasons = [f"{score.file} and {other.file} differ in {listed(differing)}"] if differing else []
    missing = {each.file: _unknown(each) for each in (score, other) if each}
    return reasons + [f"{file} does not record {listed(fields)}" for file, fields in missing.items() if fields]


def _unknown(score: Score) -> list[str]:
    return [field for field, value in score.fields.items() if value is None]


def _nothing(scores: Sequence[Score]) -> str:
    """Return a one-line message on why the two scores nearest to each other can't be compared, and what to do."""
    kinds = _kinds(scores)
    score, other = min(((score, _nearest(score, kinds)) for score in kinds), key=lambda pair: _distance(*pair))
    line = f"nothing to compare: {'; '.join(_reasons(score, other))}."
    unknown = {*_unknown(score), *(_unknown(other) if other else ())}
    if not unknown or (other and _differing(score, other)):
        return line
    fields = " ".join(f"{field}=VALUE" for field in PROTOCOL if field in unknown)
    return (
        f"{line} Record these fields (`protocol evaluate --dataset NAME --split NAME --ground-truth NAME`; "
        f"`snakemake metrics` makes a summary.csv again), or assume their values: --assume {fields}."
    )


def _kinds(scores: Iterable[Score]) -> list[Score]:
    """Return one of the scores of each file with the same metric, code length and protocol."""
    return list({(score.file, score.metric, score.n_bits, score.protocol): score for score in scores}.values())


def _left_out(left_out: Sequence[Score], scores: Sequence[Score]) -> dict[str, list[str]]:
    """Return, for each file, the scores that were left out, grouped by reason."""
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    kinds = _kinds(scores)
    for score in left_out:
        by_reason[score.file, "; ".join(_reasons(score, _nearest(score, kinds)))].append(score.metric)
    reasons: dict[str, list[str]] = defaultdict(list)
    for (file, reason), metrics in by_reason.items():
        names = abridged(dict.fromkeys(metrics), _FEW)
        reasons[file].append(f"{counted(len(metrics), 'score')} ({names}): {reason}")
    return dict(reasons)
