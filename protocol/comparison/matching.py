"""Selects the scores that may be in one table: their identifying fields are known and equal, or assumed to be equal."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from protocol.checks import ProtocolError, counted, one_of
from protocol.comparison.reading import Score, named_by_method
from protocol.report.figure import listed
from protocol.scores.identity import PROTOCOL

NOT_RECORDED = "not recorded"
"""The value of a field that no file records and that is assumed to agree."""
OF_METRIC = ("empty", "ties")
"""The fields that depend on the metric; scores of one file agree in all others."""
_Protocol = tuple[str | None, ...]
_FEW = 3
_DIGEST = 8
Assumed = dict[str, str]
"""The assumed values of a score by field."""


@dataclass(frozen=True, eq=False)
class Matched:
    """The scores that may be compared, and those that were left out.

    Parameters
    ----------
    compared : list of (Score, Assumed)
        Every score for which another file has one under the same protocol; assumed values are filled in.
    left_out : dict of str to list of str
        For each file, descriptions of the scores that were left out, with the reasons.
    """

    compared: list[tuple[Score, Assumed]]
    left_out: dict[str, list[str]]


def assumptions(given: str | Iterable[str]) -> dict[str, str | None]:
    """Return the assumed fields with their values; None means the value that the other files record.

    Examples
    --------
    >>> assumptions(["dataset", "split=standard"])
    {'dataset': None, 'split': 'standard'}
    """
    values: dict[str, str | None] = {}
    for text in [given] if isinstance(given, str) else given:
        field, equals, value = text.partition("=")
        one_of(field, PROTOCOL, "assume")
        if equals and not value.strip():
            raise ProtocolError(f"assume {field}: expected a value after '=', got none.")
        if equals and values.get(field) not in (None, value.strip()):
            raise ProtocolError(f"assume {field}: expected one value, got {values[field]} and {value.strip()}.")
        values[field] = value.strip() if equals else values.get(field)
    return values


def match(sources: Sequence[Sequence[Score]], assumed: Mapping[str, str | None]) -> Matched:
    """Return the scores that at least two sources have under the same known or assumed protocol.

    A field that a score does not record takes the assumed value, or the single value recorded by the scores of the same
    metric and code length that agree in all other fields. If none of them records it, it is assumed to be equal.

    Raises
    ------
    ProtocolError
        If an assumed field could have several values, or no scores can be compared.
    """
    scores = [score for source in sources for score in source]
    groups: dict[tuple[str, int], list[Score]] = defaultdict(list)
    for score in scores:
        groups[score.metric, score.n_bits].append(score)
    filled: dict[int, Assumed] = {}
    for group in groups.values():
        kinds = {score.protocol: score for score in group}
        values = {kind: _filled(kind, kinds, assumed) for kind in kinds}
        filled |= {id(score): values[score.protocol] for score in group}
    _check_one_value(scores, filled)
    complete = _told_apart(
        [
            replace(
                score,
                protocol=tuple(filled[id(score)].get(f, v) for f, v in zip(PROTOCOL, score.protocol, strict=True)),
            )
            for score in scores
        ]
    )
    files: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for score in complete:
        if None not in score.protocol:
            files[score.metric, score.n_bits, score.protocol].add(score.file)
    compared, left = [], []
    for before, score in zip(scores, complete, strict=True):
        if len(files.get((score.metric, score.n_bits, score.protocol), ())) > 1:
            compared.append((score, filled[id(before)]))
        else:
            left.append(score)
    if not compared:
        raise ProtocolError(_nothing(complete))
    named = named_by_method([score for score, _ in compared])
    with_names = [(score, of_score) for score, (_, of_score) in zip(named, compared, strict=True)]
    return Matched(with_names, _left_out(left, complete))


def _told_apart(scores: Sequence[Score]) -> list[Score]:
    """Return the scores; to equal names of ground truths whose digests differ, the start of the digest is added."""

    def place(score: Score) -> _Protocol:
        return tuple(value for field, value in zip(PROTOCOL, score.protocol, strict=True) if field not in OF_METRIC)

    digests: dict[_Protocol, set[str]] = defaultdict(set)
    for score in scores:
        digests[place(score)] |= {score.ground_truth_sha256} if score.ground_truth_sha256 else set()
    at, distinguished = PROTOCOL.index("ground_truth"), []
    for score in scores:
        known, name = digests[place(score)], score.protocol[at]
        if len(known) > 1 and score.ground_truth_sha256 and name:
            length = next(n for n in itertools.count(_DIGEST) if len({digest[:n] for digest in known}) == len(known))
            name = f"{name} ({score.ground_truth_sha256[:length]})"
        distinguished.append(replace(score, protocol=(*score.protocol[:at], name, *score.protocol[at + 1 :])))
    return distinguished


def _filled(
    kind: tuple[str | None, ...], kinds: Mapping[tuple[str | None, ...], Score], assumed: Mapping[str, str | None]
) -> Assumed:
    """Return the assumed values of the fields that a score of this kind does not record."""
    values: Assumed = {}
    for at, field in enumerate(PROTOCOL):
        if kind[at] is not None or field not in assumed:
            continue
        given = assumed[field]
        known = {given} if given else {other[at] for other in kinds if other[at] and _may_agree(kind, other, assumed)}
        if len(known) > 1:
            score = kinds[kind]
            raise ProtocolError(
                f"assume {field}: expected one value for {score.file} ({score.metric}, {score.n_bits} bits), got "
                f"{listed(sorted(map(str, known)))}. Give --assume {field}=VALUE."
            )
        values[field] = known.pop() or NOT_RECORDED if known else NOT_RECORDED
    return values


def _check_one_value(scores: Sequence[Score], filled: Mapping[int, Assumed]) -> None:
    """Raise ProtocolError if different values were assumed for scores of one file that record the same protocol.

    This can happen because different files may supply the value for different code lengths or metrics.
    """
    first_values: dict[tuple[object, ...], str] = {}
    for score in scores:
        recorded = tuple(v for field, v in zip(PROTOCOL, score.protocol, strict=True) if field not in OF_METRIC)
        for field, value in filled[id(score)].items():
            if field in OF_METRIC or value == NOT_RECORDED:
                continue
            first = first_values.setdefault((score.file, recorded, field), value)
            if first != value:
                raise ProtocolError(
                    f"assume {field}: expected one value for {score.file}, got {listed(sorted((first, value)))}, from "
                    f"different files for different code lengths or metrics. Give --assume {field}=VALUE."
                )


def _may_agree(one: tuple[str | None, ...], other: tuple[str | None, ...], assumed: Mapping[str, str | None]) -> bool:
    """Return whether two scores agree in all fields that are not assumed, and in all values that are known or given."""
    for field, a, b in zip(PROTOCOL, one, other, strict=True):
        if (a is None or b is None) and field not in assumed:
            return False
        a, b = a or assumed.get(field), b or assumed.get(field)
        if a is not None and b is not None and a != b:
            return False
    return True


class _Others:
    """Finds, for a score, the most similar score of another file with the same metric and code length."""

    def __init__(self, scores: Sequence[Score]) -> None:
        self._lengths: dict[str, set[str]] = defaultdict(set)
        self._kinds: dict[tuple[str, int], dict[tuple[str, _Protocol], None]] = defaultdict(dict)
        for score in scores:
            self._lengths[score.metric].add(score.file)
            self._kinds[score.metric, score.n_bits][score.file, score.protocol] = None

    def nearest(self, score: Score) -> tuple[tuple[int, int], str, _Protocol] | None:
        """Return the numbers of differing and unknown fields, the other file and its protocol; None without one."""
        candidates = [
            ((len(_differing(score.protocol, other)), len(_unknown(score.protocol, other))), file, other)
            for file, other in self._kinds[score.metric, score.n_bits]
            if file != score.file
        ]
        return min(candidates, key=lambda one: one[0]) if candidates else None

    def missing(self, score: Score) -> str:
        """Return which of "metric" and "code length" no other file has."""
        return "code length" if self._lengths[score.metric] - {score.file} else "metric"


def _differing(one: _Protocol, other: _Protocol) -> list[tuple[str, str, str]]:
    """Return the fields that are recorded in both and differ; fields that are assumed to agree do not differ."""
    pairs = zip(PROTOCOL, one, other, strict=True)
    return [(field, a, b) for field, a, b in pairs if a and b and NOT_RECORDED not in (a, b) and a != b]


def _unknown(one: _Protocol, other: _Protocol) -> list[str]:
    return [field for field, a, b in zip(PROTOCOL, one, other, strict=True) if a is None or b is None]


def _unrecorded(file: str, one: _Protocol, other_file: str, other: _Protocol) -> list[str]:
    """Return a clause for each of the two files that does not record some field."""
    by_file = {file: one, other_file: other}
    missing = {
        name: [f for f, value in zip(PROTOCOL, values, strict=True) if value is None]
        for name, values in by_file.items()
    }
    return [f"{name} does not record {listed(fields)}" for name, fields in missing.items() if fields]


def _nothing(scores: Sequence[Score]) -> str:
    """Return a one-line message with the reason for each file why nothing can be compared, and what to do."""
    others = _Others(scores)
    reasons: dict[frozenset[str], str] = {}
    remedy: dict[str, None] = {}
    for file in dict.fromkeys(score.file for score in scores):
        of_file = [score for score in scores if score.file == file]
        nearest_others = [(*nearest, score) for score in of_file if (nearest := others.nearest(score))]
        if not nearest_others:
            shared = (
                "metric" if all(others.missing(score) == "metric" for score in of_file) else "metric and code length"
            )
            reasons[frozenset((file,))] = f"{file} shares no {shared} with another file"
            continue
        _, other, protocol, score = min(nearest_others, key=lambda one: one[0])
        differing = _differing(score.protocol, protocol)
        parts = _unrecorded(file, score.protocol, other, protocol)
        if differing:
            fields = listed([f"{field} ({a}; {b})" for field, a, b in differing])
            parts.insert(0, f"{file} and {other} differ in {fields}")
        else:
            remedy |= dict.fromkeys(_unknown(score.protocol, protocol))
        reasons.setdefault(frozenset((file, other)), "; ".join(parts))
    line = f"nothing to compare: {'. '.join(reasons.values())}."
    if not remedy:
        return line
    fields = " ".join(field for field in PROTOCOL if field in remedy)
    return (
        f"{line} Record these fields (`protocol evaluate --dataset NAME --split NAME --ground-truth NAME`; "
        f"`snakemake metrics` makes a summary.csv again), or assume that they agree: --assume {fields}."
    )


def _left_out(left: Sequence[Score], scores: Sequence[Score]) -> dict[str, list[str]]:
    """Return, for each file, the scores that were left out, grouped by reason."""
    others = _Others(scores)
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for score in left:
        by_reason[score.file, _reason(score, others)].append(score.metric)
    reasons: dict[str, list[str]] = {}
    for (file, reason), metrics in by_reason.items():
        names = list(dict.fromkeys(metrics))
        more = f" and {counted(len(names) - _FEW, 'more metric')}" if len(names) > _FEW else ""
        reasons.setdefault(file, []).append(
            f"{counted(len(metrics), 'score')} ({', '.join(names[:_FEW])}{more}): {reason}"
        )
    return reasons


def _reason(score: Score, others: _Others) -> str:
    """Return the reason why a score is not compared."""
    nearest = others.nearest(score)
    if nearest is None:
        return f"no other file has this {others.missing(score)}"
    _, other, protocol = nearest
    differing = [f"{field} is {a} ({other}: {b})" for field, a, b in _differing(score.protocol, protocol)]
    return "; ".join([*differing, *_unrecorded(score.file, score.protocol, other, protocol)])
