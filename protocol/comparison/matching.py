"""Selects the scores that may be in one table: their identifying fields are known and equal, or assumed to be equal."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from protocol.checks import ProtocolError, counted, one_of
from protocol.comparison.reading import Score, named_by_method
from protocol.report.figure import listed
from protocol.scores.metadata import PROTOCOL

OF_METRIC = ("undefined", "ties")
"""The fields that depend on the metric; scores of one file agree in all others."""
_Protocol = tuple[str | None, ...]
_FEW = 3
_DIGEST = 12  # letters of the SHA-256 of a ground truth
Assumed = dict[str, str]
"""The assumed values of a score by field."""


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
    scores: Sequence[Score], assumed: Mapping[str, str]
) -> tuple[list[tuple[Score, Assumed]], dict[str, list[str]]]:
    """Return the scores that at least two sources have under the same known or assumed protocol.

    A field that a score does not record takes the assumed value, if there is one.

    Returns
    -------
    compared : list of (Score, Assumed)
        Every score for which another file has one under the same protocol; assumed values are filled in.
    left_out : dict of str to list of str
        For each file, descriptions of the scores that were left out, with the reasons.

    Raises
    ------
    ProtocolError
        If no scores can be compared.
    """
    filled = [{field: value for field, value in assumed.items() if score.fields[field] is None} for score in scores]
    complete = _with_digests([_with_values(*each) for each in zip(scores, filled, strict=True)])
    files: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for score in complete:
        files[score.metric, score.n_bits, score.protocol].add(score.file)
    compared, left, values = [], [], []
    for score, own in zip(complete, filled, strict=True):
        if None not in score.protocol and len(files[score.metric, score.n_bits, score.protocol]) > 1:
            compared.append(score)
            values.append(own)
        else:
            left.append(score)
    if not compared:
        raise ProtocolError(_nothing(complete))
    return list(zip(named_by_method(compared), values, strict=True)), _left_out(left, complete)


def _with_values(score: Score, values: Mapping[str, str | None]) -> Score:
    """Return a score with other values of some fields."""
    return replace(score, protocol=tuple((score.fields | dict(values)).values()))


def _with_digests(scores: Sequence[Score]) -> list[Score]:
    """Return the scores; to equal names of ground truths whose digests differ, the start of the digest is added."""
    digests: dict[tuple[str | None, ...], set[str]] = defaultdict(set)
    places = [tuple(value for field, value in score.fields.items() if field not in OF_METRIC) for score in scores]
    for place, score in zip(places, scores, strict=True):
        digests[place] |= {score.ground_truth_sha256} if score.ground_truth_sha256 else set()
    return [
        _with_values(score, {"ground_truth": f"{name} ({score.ground_truth_sha256[:_DIGEST]})"})
        if (name := score.fields["ground_truth"]) and score.ground_truth_sha256 and len(digests[place]) > 1
        else score
        for place, score in zip(places, scores, strict=True)
    ]


def _nearest(score: Score, scores: Iterable[Score]) -> Score | None:
    """Return the score of another file that differs from this one in the fewest fields, and lacks the fewest."""
    others = [own for own in scores if own.file != score.file]
    others = [own for own in others if (own.metric, own.n_bits) == (score.metric, score.n_bits)]
    return min(others, key=lambda own: _distance(score, own), default=None)


def _distance(one: Score, other: Score) -> tuple[int, int]:
    return len(_differing(one, other)), sum(None in pair for pair in zip(one.protocol, other.protocol, strict=True))


def _differing(one: Score, other: Score) -> list[str]:
    """Return the fields that are recorded in both and differ, with their values."""
    pairs = zip(PROTOCOL, one.protocol, other.protocol, strict=True)
    return [f"{name} ({a}; {b})" for name, a, b in pairs if a and b and a != b]


def _reasons(score: Score, other: Score | None) -> list[str]:
    """Return, in a clause for each, why a score is not compared with the nearest one of another file."""
    if other is None:
        return [f"no other file has the metric and code length of {score.file}"]
    differing = _differing(score, other)
    reasons = [f"{score.file} and {other.file} differ in {listed(differing)}"] if differing else []
    missing = {own.file: _unknown(own) for own in (score, other)}
    return reasons + [f"{file} does not record {listed(fields)}" for file, fields in missing.items() if fields]


def _unknown(score: Score) -> list[str]:
    return [field for field, value in score.fields.items() if value is None]


def _nothing(scores: Sequence[Score]) -> str:
    """Return a one-line message with the reason for each file why nothing can be compared, and what to do."""
    sentences: dict[frozenset[str], list[str]] = {}
    remedy: set[str] = set()
    for file in dict.fromkeys(score.file for score in scores):
        pairs = [(score, _nearest(score, scores)) for score in _kinds(scores) if score.file == file]
        score, other = min(pairs, key=lambda pair: _distance(pair[0], pair[1]) if pair[1] else (len(PROTOCOL), 0))
        sentences.setdefault(frozenset((file, other.file if other else file)), _reasons(score, other))
        remedy |= {*_unknown(score), *_unknown(other)} if other and not _differing(score, other) else set()
    clauses = dict.fromkeys(clause for own in sentences.values() for clause in own)
    line = f"nothing to compare: {'; '.join(clauses)}."
    if not remedy:
        return line
    fields = " ".join(f"{field}=VALUE" for field in PROTOCOL if field in remedy)
    return (
        f"{line} Record these fields (`protocol evaluate --dataset NAME --split NAME --ground-truth NAME`; "
        f"`snakemake metrics` makes a summary.csv again), or assume their values: --assume {fields}."
    )


def _kinds(scores: Iterable[Score]) -> list[Score]:
    """Return one of the scores of each file with the same metric, code length and protocol."""
    return list({(score.file, score.metric, score.n_bits, score.protocol): score for score in scores}.values())


def _left_out(left: Sequence[Score], scores: Sequence[Score]) -> dict[str, list[str]]:
    """Return, for each file, the scores that were left out, grouped by reason."""
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    kinds = _kinds(scores)
    for score in left:
        by_reason[score.file, "; ".join(_reasons(score, _nearest(score, kinds)))].append(score.metric)
    reasons: dict[str, list[str]] = defaultdict(list)
    for (file, reason), metrics in by_reason.items():
        names = list(dict.fromkeys(metrics))
        more = f" and {counted(len(names) - _FEW, 'more metric')}" if len(names) > _FEW else ""
        reasons[file].append(f"{counted(len(metrics), 'score')} ({', '.join(names[:_FEW])}{more}): {reason}")
    return dict(reasons)
