"""Selects the scores that may be in one table: their identifying fields are known and equal, or assumed to be equal."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError, abridged, counted, listed, one_of
from protocol.comparison.reading import TEXTS, Score
from protocol.scores.metadata import OF_LABELS, PROTOCOL
from protocol.truth import DISTANCES

_FEW = 3
_CHOSEN = ("dataset", "ground_truth", "split")
"""The fields whose values users name."""
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


def match(scores: Sequence[Score], assumed: Mapping[str, str], least: int) -> tuple[list[Score], dict[str, list[str]]]:
    """Return the scores that at least `least` sources have under the same known or assumed protocol.

    A field that a score does not record takes the assumed value, if there is one. Scores of the vectors themselves, the
    reference for codes, are compared at every code length.

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
    complete = []
    for score in chain.from_iterable(_at_lengths(score, scores) for score in scores):
        missing = {field: value for field, value in assumed.items() if score.fields[field] is None}
        complete.append(replace(score, fields={**score.fields, **missing}, assumed=missing))
    complete = _with_digests(complete)
    by_kind: dict[tuple[object, ...], dict[str, Score]] = defaultdict(dict)
    for score in complete:
        by_kind[score.kind].setdefault(score.file, score)
    kinds = [score for of_kind in by_kind.values() for score in of_kind.values()]
    compared, left_out = list[Score](), list[Score]()
    for score in complete:
        is_compared = not _unknown(score) and len(by_kind[score.kind]) >= least
        (compared if is_compared else left_out).append(score)
    if not compared:
        raise ProtocolError(_nothing(kinds))
    return _named_by_method(compared), _left_out(left_out, kinds)


def _at_lengths(score: Score, scores: Sequence[Score]) -> list[Score]:
    """Return a score of vectors at each code length at which others have the metric; any other score alone."""
    lengths = sorted({one.n_bits for one in scores if one.metric == score.metric and one.ranking not in DISTANCES})
    return [replace(score, n_bits=n_bits) for n_bits in lengths if score.ranking in DISTANCES] or [score]


def _with_digests(scores: Sequence[Score]) -> list[Score]:
    """Return the scores; to equal names of ground truths whose digests differ, the start of the digest is added."""
    digests: dict[tuple[str | None, ...], set[str]] = defaultdict(set)
    for score in scores:
        digests[score.section] |= {*filter(None, [score.ground_truth_sha256])}
    renamed = []
    for score in scores:
        name, digest = score.fields["ground_truth"], score.ground_truth_sha256
        called = name and digest and len(digests[score.section]) > 1 and f"{name} ({digest[:_DIGEST]})"
        renamed.append(replace(score, fields={**score.fields, "ground_truth": called or name}))
    return renamed


def _named_by_method(scores: Sequence[Score]) -> list[Score]:
    """Return the scores with unique names of methods.

    Files about one method with different code lengths or metrics remain one method. If two files have the same score of
    the same method, or one name is used for two rankings, the name of the file is added to distinguish them.
    """
    files: dict[tuple[Any, ...], str] = {}
    rankings: dict[str, str] = {}
    ambiguous = set()
    for score in scores:
        file = files.setdefault((score.method, *score.kind), score.file)
        if file != score.file or rankings.setdefault(score.method, score.ranking) != score.ranking:
            ambiguous.add(score.method)
    return [replace(one, method=one.method + f" ({one.file})" * (one.method in ambiguous)) for one in scores]


def _nearest(score: Score, kinds: Iterable[Score]) -> Score | None:
    """Return the score of another file that differs from this one in the fewest fields, and lacks the fewest."""
    alike = (other for other in kinds if (other.metric, other.n_bits) == (score.metric, score.n_bits))
    others = [other for other in alike if other.file != score.file]
    return min(others, key=lambda other: _distance(score, other), default=None)


def _distance(score: Score, other: Score | None) -> tuple[int, int]:
    """Return the numbers of fields that differ and that one of the scores lacks; without another score, the most."""
    if other is None:
        return len(PROTOCOL), 0
    return len(_differing(score, other)), len({*_unknown(score), *_unknown(other)})


def _differing(one: Score, other: Score) -> list[str]:
    """Return the fields that are recorded in both and differ."""
    values = {name: (one.fields[name], other.fields[name]) for name in PROTOCOL}
    return [name for name, both in values.items() if None not in both and both[0] != both[1]]


def _unknown(score: Score) -> list[str]:
    return [field for field, value in score.fields.items() if value is None]


def _reasons(score: Score, other: Score | None, kinds: Iterable[Score]) -> str:
    """Return why a score is not compared with the nearest one of another file."""
    both, reasons = [score] if other is None else [score, other], list[str]()
    if other is None and not _unknown(score):
        reasons.append(f"no other file has the metric and code length of {score.file}")
    if other is not None and (differing := _differing(score, other)):
        values = listed(_values(field, both, kinds) for field in differing)
        reasons.append(f"{score.file} and {other.file} differ in {values}")
    missing = {one.file: _unknown(one) for one in both}
    reasons += [f"{file} does not record {listed(fields)}" for file, fields in missing.items() if fields]
    return "; ".join(reasons)


def _values(field: str, both: Sequence[Score], kinds: Iterable[Score]) -> str:
    """Return the values of a field in two scores, or all values in their two files if these have none in common."""
    of_files = [[kind.fields[field] for kind in kinds if kind.file == one.file] for one in both]
    values = [dict.fromkeys(filter(None, every)) for every in of_files]
    if values[0].keys() & values[1].keys():
        values = [dict.fromkeys(filter(None, [one.fields[field]])) for one in both]
    names = [name.partition(" (")[:2] for one in values for name in one]  # a digest follows those that differ by it
    is_order = field == "ground_truth" and len({*names}) == 1 and all(names[0])
    order = "of queries or items, which must be that of the other file"
    hint = f": other labels, or the same in another order {order}" * is_order
    if field == "relevance" and {name for name, *_ in names} == {*OF_LABELS}:
        hint = ": if every item has one label, evaluate both with class labels, matrix.argmax(axis=1)"
    return f"{field} ({'; '.join(map(abridged, values))}{hint})"


def _nothing(kinds: Sequence[Score]) -> str:
    """Return a one-line message on why the two scores nearest to each other can't be compared, and what to do."""
    score, other = min(((score, _nearest(score, kinds)) for score in kinds), key=lambda pair: _distance(*pair))
    line = f"nothing to compare: {_reasons(score, other, kinds)}."
    unknown = {*_unknown(score), *(_unknown(other) if other else ())}
    if not unknown or (other and _differing(score, other)):
        return line + _names_of(score, other)
    fields = [f"{field}=VALUE" for field in PROTOCOL if field in unknown]
    if not isinstance(score.recorded["path"], Path):  # the result of `evaluate`
        return f"{line} {TEXTS['to_name'].format(', '.join(fields))}"
    return f"{line} {TEXTS['to_record'].format(fields)}"


def _names_of(score: Score, other: Score | None) -> str:
    """Return the options that name a record as an experiment does, if they differ in names that users choose; or ""."""
    by_kind = {"line" in one.recorded: one for one in (score, other) if one is not None}
    record, row = by_kind.get(False), by_kind.get(True)
    if record is None or row is None or {*_differing(record, row)} - ({*_CHOSEN} - record.assumed.keys()):
        return ""
    differing = [name for name in _CHOSEN if record.fields[name] != row.fields[name]]
    if differing == ["ground_truth"] and f"{record.fields[differing[0]]}".startswith(f"{row.fields[differing[0]]} ("):
        return ""  # the name is the same, and digests of others with it differ
    named = (f"--{name.replace('_', '-')} {shlex.quote(row.fields[name] or 'NAME')}" for name in differing)
    return f" If these are the same, make {record.file} with `protocol evaluate {' '.join(named)}`."


def _left_out(left_out: Sequence[Score], kinds: Sequence[Score]) -> dict[str, list[str]]:
    """Return, for each file, the scores that were left out, grouped by reason."""
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for score in left_out:
        by_reason[score.file, _reasons(score, _nearest(score, kinds), kinds)].append(score.metric)
    reasons: dict[str, list[str]] = defaultdict(list)
    for (file, reason), metrics in by_reason.items():
        reasons[file].append(f"{counted(len(metrics), 'score')} ({abridged(dict.fromkeys(metrics), _FEW)}): {reason}")
    return dict(reasons)
