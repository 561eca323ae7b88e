"""Selects the scores that may be in one table: their identifying fields are known and equal, or assumed to be equal."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from protocol.checks import ProtocolError, counted, one_of
from protocol.comparison.reading import Score, named_by_method
from protocol.report.figure import listed
from protocol.scores.metadata import PROTOCOL

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


def assumptions(assumed: str | Iterable[str]) -> dict[str, str | None]:
    """Return the assumed fields with their values; None means the value that the other files record.

    Examples
    --------
    >>> assumptions(["dataset", "split=standard"])
    {'dataset': None, 'split': 'standard'}
    """
    values: dict[str, str | None] = {}
    for text in [assumed] if isinstance(assumed, str) else assumed:
        field, equals, value = text.partition("=")
        one_of(field, PROTOCOL, "assume")
        if equals and not value.strip():
            raise ProtocolError(f"assume: {field} has no value after '='.")
        if equals and values.get(field) not in (None, value.strip()):
            raise ProtocolError(f"assume: {field} has two values, {values[field]} and {value.strip()}.")
        values[field] = value.strip() if equals else values.get(field)
    return values


def match(scores: Sequence[Score], assumed: Mapping[str, str | None]) -> Matched:
    """Return the scores that at least two sources have under the same known or assumed protocol.

    A field that a score does not record takes the assumed value, or the single value recorded by the scores of the same
    metric and code length that agree in all other fields. If none of them records it, it is assumed to be equal.

    Raises
    ------
    ProtocolError
        If an assumed field could have several values, or no scores can be compared.
    """
    filled = _assumed_values(scores, assumed)
    complete = _with_digests([_with_values(*each) for each in zip(scores, filled, strict=True)])
    files: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for score in complete:
        files[score.metric, score.n_bits, score.protocol].add(score.file)
    is_compared = [
        None not in score.protocol and len(files[score.metric, score.n_bits, score.protocol]) > 1 for score in complete
    ]
    if not any(is_compared):
        raise ProtocolError(_nothing(complete))
    named = named_by_method(list(itertools.compress(complete, is_compared)))
    left_out = [score for score, compared in zip(complete, is_compared, strict=True) if not compared]
    return Matched(
        list(zip(named, itertools.compress(filled, is_compared), strict=True)), _left_out(left_out, complete)
    )


def _assumed_values(scores: Sequence[Score], assumed: Mapping[str, str | None]) -> list[Assumed]:
    """Return the values that are assumed for each score.

    Raises
    ------
    ProtocolError
        If different values would be assumed for one score, or for scores of one file that record the same protocol.
        The latter can happen because different files may supply the value for different code lengths or metrics.
    """
    groups: dict[tuple[str, int], dict[_Protocol, Score]] = defaultdict(dict)
    for score in scores:
        groups[score.metric, score.n_bits][score.protocol] = score
    of_kind = {(key, kind): _filled(kind, kinds, assumed) for key, kinds in groups.items() for kind in kinds}
    filled = [of_kind[(score.metric, score.n_bits), score.protocol] for score in scores]
    first_values: dict[tuple[object, ...], str] = {}
    for score, values in zip(scores, filled, strict=True):
        for field in [field for field in values if field not in OF_METRIC and values[field] != NOT_RECORDED]:
            first = first_values.setdefault((score.file, _without_metric(score), field), values[field])
            if first != values[field]:
                raise ProtocolError(
                    f"assume: other files record several values of {field} for {score.file}, "
                    f"{listed(sorted((first, values[field])))}, for different code lengths or metrics. Choose one: "
                    f"{field}=VALUE."
                )
    return filled


def _without_metric(score: Score) -> _Protocol:
    """Return the recorded values that do not depend on the metric."""
    return tuple(value for field, value in zip(PROTOCOL, score.protocol, strict=True) if field not in OF_METRIC)


def _with_values(score: Score, values: Mapping[str, str | None]) -> Score:
    """Return a score with other values of some fields."""
    return replace(score, protocol=tuple((score.fields | dict(values)).values()))


def _with_digests(scores: Sequence[Score]) -> list[Score]:
    """Return the scores; to equal names of ground truths whose digests differ, the start of the digest is added."""
    digests: dict[_Protocol, set[str]] = defaultdict(set)
    for score in scores:
        digests[_without_metric(score)] |= {score.ground_truth_sha256} if score.ground_truth_sha256 else set()
    distinguished = []
    for score in scores:
        known, name = digests[_without_metric(score)], score.fields["ground_truth"]
        if len(known) > 1 and score.ground_truth_sha256 and name:
            length = next(n for n in itertools.count(_DIGEST) if len({digest[:n] for digest in known}) == len(known))
            score = _with_values(score, {"ground_truth": f"{name} ({score.ground_truth_sha256[:length]})"})
        distinguished.append(score)
    return distinguished


def _filled(kind: _Protocol, kinds: Mapping[_Protocol, Score], assumed: Mapping[str, str | None]) -> Assumed:
    """Return the assumed values of the fields that a score of this kind does not record."""
    values: Assumed = {}
    for at, field in enumerate(PROTOCOL):
        if kind[at] is not None or field not in assumed:
            continue
        value = assumed[field]
        known = {value} if value else {other[at] for other in kinds if other[at] and _may_agree(kind, other, assumed)}
        if len(known) > 1:
            score = kinds[kind]
            raise ProtocolError(
                f"assume: other files record several values of {field} for {score.file} ({score.metric}, "
                f"{score.n_bits} bits): {listed(sorted(map(str, known)))}. Choose one: {field}=VALUE."
            )
        values[field] = known.pop() or NOT_RECORDED if known else NOT_RECORDED
    return values


def _may_agree(one: _Protocol, other: _Protocol, assumed: Mapping[str, str | None]) -> bool:
    """Return whether two scores agree in all fields that are not assumed, and in all values that are known or given."""
    for field, a, b in zip(PROTOCOL, one, other, strict=True):
        if field not in assumed and None in (a, b):
            return False
        if len({a or assumed.get(field), b or assumed.get(field)} - {None}) > 1:
            return False
    return True


_Kinds = Mapping[tuple[str, int], Mapping[tuple[str, _Protocol], None]]
"""By metric and code length, the files and protocols of the scores."""


def _kinds(scores: Sequence[Score]) -> _Kinds:
    kinds: dict[tuple[str, int], dict[tuple[str, _Protocol], None]] = defaultdict(dict)
    for score in scores:
        kinds[score.metric, score.n_bits][score.file, score.protocol] = None
    return kinds


def _nearest(scores: Sequence[Score], kinds: _Kinds) -> tuple[Score, str, _Protocol] | None:
    """Return the score with the fewest differing and unknown fields, the other file and its protocol, if any."""
    candidates = [
        (score, file, other)
        for score in scores
        for file, other in kinds[score.metric, score.n_bits]
        if file != score.file
    ]
    return min(
        candidates,
        key=lambda one: (len(_differing(one[0].protocol, one[2])), len(_unknown(one[0].protocol, one[2]))),
        default=None,
    )


def _missing(score: Score, kinds: _Kinds) -> str:
    """Return which of "metric" and "code length" no other file has."""
    files = {file for (metric, _), of_kind in kinds.items() if metric == score.metric for file, _ in of_kind}
    return "code length" if files - {score.file} else "metric"


def _differing(one: _Protocol, other: _Protocol) -> list[tuple[str, str, str]]:
    """Return the fields that are recorded in both and differ; fields that are assumed to agree do not differ."""
    pairs = zip(PROTOCOL, one, other, strict=True)
    return [(field, a, b) for field, a, b in pairs if a and b and NOT_RECORDED not in (a, b) and a != b]


def _unknown(one: _Protocol, other: _Protocol) -> list[str]:
    return [field for field, a, b in zip(PROTOCOL, one, other, strict=True) if a is None or b is None]


def _unrecorded(file: str, one: _Protocol, other_file: str, other: _Protocol) -> list[str]:
    """Return a clause for each of the two files that does not record some field."""
    missing = {name: _unknown(values, values) for name, values in ((file, one), (other_file, other))}
    return [f"{name} does not record {listed(fields)}" for name, fields in missing.items() if fields]


def _nothing(scores: Sequence[Score]) -> str:
    """Return a one-line message with the reason for each file why nothing can be compared, and what to do.

    A clause that is true for several files is in the message once.
    """
    kinds = _kinds(scores)
    sentences: dict[frozenset[str], list[str]] = {}
    remedy: set[str] = set()
    for file in dict.fromkeys(score.file for score in scores):
        of_file = [score for score in scores if score.file == file]
        nearest = _nearest(of_file, kinds)
        if nearest:
            score, other, protocol = nearest
            sentences.setdefault(frozenset((file, other)), _difference(score, other, protocol))
            remedy |= set() if _differing(score.protocol, protocol) else {*_unknown(score.protocol, protocol)}
        else:
            is_metric = all(_missing(score, kinds) == "metric" for score in of_file)
            shared = "metric" if is_metric else "metric and code length"
            sentences[frozenset((file,))] = [f"{file} shares no {shared} with another file"]
    said: set[str] = set()
    reasons = []
    for clauses in sentences.values():
        reasons.append("; ".join(clause for clause in clauses if clause not in said))
        said.update(clauses)
    line = f"nothing to compare: {'. '.join(filter(None, reasons))}."
    if not remedy:
        return line
    fields = " ".join(field for field in PROTOCOL if field in remedy)
    return (
        f"{line} Record these fields (`protocol evaluate --dataset NAME --split NAME --ground-truth NAME`; "
        f"`snakemake metrics` makes a summary.csv again), or assume that they agree: --assume {fields}."
    )


def _difference(score: Score, other: str, protocol: _Protocol) -> list[str]:
    """Return, in a clause for each, how the protocol of a score differs from one in another file."""
    differing = [f"{field} ({a}; {b})" for field, a, b in _differing(score.protocol, protocol)]
    first = [f"{score.file} and {other} differ in {listed(differing)}"] if differing else []
    return [*first, *_unrecorded(score.file, score.protocol, other, protocol)]


def _left_out(left: Sequence[Score], scores: Sequence[Score]) -> dict[str, list[str]]:
    """Return, for each file, the scores that were left out, grouped by reason."""
    kinds = _kinds(scores)
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for score in left:
        reason = f"no other file has this {_missing(score, kinds)}"
        if nearest := _nearest([score], kinds):
            _, other, protocol = nearest
            differing = [f"{field} is {a} ({other}: {b})" for field, a, b in _differing(score.protocol, protocol)]
            reason = "; ".join([*differing, *_unrecorded(score.file, score.protocol, other, protocol)])
        by_reason[score.file, reason].append(score.metric)
    reasons: dict[str, list[str]] = defaultdict(list)
    for (file, reason), metrics in by_reason.items():
        names = list(dict.fromkeys(metrics))
        more = f" and {counted(len(names) - _FEW, 'more metric')}" if len(names) > _FEW else ""
        reasons[file].append(f"{counted(len(metrics), 'score')} ({', '.join(names[:_FEW])}{more}): {reason}")
    return dict(reasons)
