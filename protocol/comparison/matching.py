"""Which scores may stand in one table: those whose identifying fields are known and equal, or are assumed to be."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from protocol.checks import ProtocolError, one_of
from protocol.comparison.reading import Score, named_by_method
from protocol.identity import PROTOCOL
from protocol.report.figure import counted, listed

NOT_RECORDED = "not recorded"
"""The value of a field that no file records and that is assumed to be equal."""
_FEW = 3
Assumed = dict[str, str]
"""The assumed values of a score by field."""


@dataclass(frozen=True, eq=False)
class Matched:
    """Scores that may be compared, and the others.

    Parameters
    ----------
    compared : list of (Score, Assumed)
        Every score that another file has under the same protocol; assumed values are filled in.
    left_out : dict of str to list of str
        By file, in words, the scores that were left out and why.
    """

    compared: list[tuple[Score, Assumed]]
    left_out: dict[str, list[str]]


def assumptions(given: str | Iterable[str]) -> dict[str, str | None]:
    """Return the assumed fields with their values; None where the value is what the other files record.

    Examples
    --------
    >>> assumptions(["dataset", "split=standard"])
    {'dataset': None, 'split': 'standard'}
    """
    found: dict[str, str | None] = {}
    for text in [given] if isinstance(given, str) else given:
        field, equals, value = text.partition("=")
        one_of(field, PROTOCOL, "assume")
        if equals and not value.strip():
            raise ProtocolError(f"assume {field}: expected a value after '=', got none.")
        if equals and found.get(field) not in (None, value.strip()):
            raise ProtocolError(f"assume {field}: expected one value, got {found[field]} and {value.strip()}.")
        found[field] = value.strip() if equals else found.get(field)
    return found


def match(sources: Sequence[Sequence[Score]], assumed: Mapping[str, str | None]) -> Matched:
    """Return the scores that at least two sources have under one protocol, which is known or assumed.

    A field that a score does not record takes the assumed value, or the one value that the otherwise agreeing scores of
    the same metric and code length record. Where none of them records it, it is assumed to be equal.

    Raises
    ------
    ProtocolError
        If an assumed field could have several values, or nothing can be compared.
    """
    scores = [score for source in sources for score in source]
    cells: dict[tuple[str, int], list[Score]] = defaultdict(list)
    for score in scores:
        cells[score.metric, score.n_bits].append(score)
    filled: dict[int, Assumed] = {}
    for cell in cells.values():
        kinds = {score.protocol: score for score in cell}
        values = {kind: _filled(kind, kinds, assumed) for kind in kinds}
        filled |= {id(score): values[score.protocol] for score in cell}
    complete = [
        replace(
            score, protocol=tuple(filled[id(score)].get(f, v) for f, v in zip(PROTOCOL, score.protocol, strict=True))
        )
        for score in scores
    ]
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
    with_names = [(score, own) for score, (_, own) in zip(named, compared, strict=True)]
    return Matched(with_names, _left_out(left, complete))


def _filled(
    kind: tuple[str | None, ...], kinds: Mapping[tuple[str | None, ...], Score], assumed: Mapping[str, str | None]
) -> Assumed:
    """Return the assumed values of the fields that a score of this kind does not record."""
    own: Assumed = {}
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
        own[field] = known.pop() or NOT_RECORDED if known else NOT_RECORDED
    return own


def _may_agree(one: tuple[str | None, ...], other: tuple[str | None, ...], assumed: Mapping[str, str | None]) -> bool:
    """Return whether two scores agree in every field that is not assumed, and differ in no known or given value."""
    for field, a, b in zip(PROTOCOL, one, other, strict=True):
        if (a is None or b is None) and field not in assumed:
            return False
        a, b = a or assumed.get(field), b or assumed.get(field)
        if a is not None and b is not None and a != b:
            return False
    return True


_FIELDS = (*PROTOCOL, "metric", "n_bits")


def _fields(score: Score) -> tuple[str | None, ...]:
    return (*score.protocol, score.metric, str(score.n_bits))


class _Nearest:
    """Finds, for a score, the most similar one of another file."""

    def __init__(self, scores: Sequence[Score]) -> None:
        kinds = dict.fromkeys((score.file, _fields(score)) for score in scores)
        self._kinds = list(kinds)
        self._numbers: list[dict[str | None, int]] = [{None: -1} for _ in _FIELDS]
        self._codes = np.array([self._coded(fields) for _, fields in self._kinds])
        self._files = np.array([file for file, _ in self._kinds])

    def _coded(self, fields: tuple[str | None, ...]) -> list[int]:
        return [self._numbers[at].setdefault(value, len(self._numbers[at])) for at, value in enumerate(fields)]

    def of(self, file: str, fields: tuple[str | None, ...]) -> tuple[int, str, tuple[str | None, ...]]:
        """Return the number of differences and unknown fields as one rank, the other file, and its fields."""
        own = np.array(self._coded(fields))
        unknown = (self._codes == -1) | (own == -1)
        differs = (self._codes != own) & ~unknown
        rank = differs.sum(axis=1) * len(_FIELDS) + unknown.sum(axis=1) + (self._files == file) * 10**6
        best = int(rank.argmin())
        return int(rank[best]), *self._kinds[best]


def _reason(file: str, fields: tuple[str | None, ...], other: str, others: tuple[str | None, ...]) -> tuple[str, str]:
    """Return in words the fields in which two scores differ, and those that either of them does not record."""
    pairs = list(zip(_FIELDS, fields, others, strict=True))
    different = [(field, a, b) for field, a, b in pairs if None not in (a, b) and a != b]
    differ = ""
    if [field for field, *_ in different if field in PROTOCOL]:
        differ = listed([f"{field} ({file}: {a}; {other}: {b})" for field, a, b in different])
    elif different:
        differ = listed([field for field, *_ in different])
    unknown = []
    for name, missing in (
        (file, [f for f, a, _ in pairs if a is None]),
        (other, [f for f, _, b in pairs if b is None]),
    ):
        if missing:
            unknown.append(f"{name} does not record {listed(missing)}")
    return differ, "; ".join(unknown)


def _nothing(scores: Sequence[Score]) -> str:
    """Return the one line that says per file why nothing can be compared, and what to do."""
    files = list(dict.fromkeys(score.file for score in scores))
    if len(files) < 2:
        return f"nothing to compare: only {listed(files or ['no file'])} has these metrics."
    nearest = _Nearest(scores)
    told: dict[frozenset[str], str] = {}
    remedy: set[str] = set()
    for file in files:
        kinds = dict.fromkeys(_fields(score) for score in scores if score.file == file)
        _, other, fields, others = min(
            ((rank, other, fields, others) for fields in kinds for rank, other, others in [nearest.of(file, fields)]),
            key=lambda found: found[0],
        )
        differ, unknown = _reason(file, fields, other, others)
        parts = [f"{file} and {other} differ in {differ}"] if differ else []
        told.setdefault(frozenset((file, other)), "; ".join([*parts, *([unknown] if unknown else [])]))
        if not differ:
            remedy |= {field for field, a, b in zip(_FIELDS, fields, others, strict=True) if None in (a, b)}
    ordered = [field for field in PROTOCOL if field in remedy]
    advice = (
        " Record the fields (--dataset, --split and --ground-truth of `protocol evaluate`; an experiment's summary.csv "
        f"is made again by `snakemake metrics`), or assume that they agree: --assume {' '.join(ordered)}."
        if ordered
        else ""
    )
    return f"nothing to compare: {'. '.join(told.values())}.{advice}"


def _left_out(left: Sequence[Score], scores: Sequence[Score]) -> dict[str, list[str]]:
    """Return by file what was left out, grouped by the reason."""
    nearest = _Nearest(scores)
    told: dict[str, list[str]] = {}
    reasons: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    numbers: dict[tuple[str, str], int] = defaultdict(int)
    known: dict[tuple[str, tuple[str | None, ...]], str] = {}
    for score in left:
        key = (score.file, _fields(score))
        if key not in known:
            _, other, others = nearest.of(*key)
            differ, unknown = _reason(*key, other, others)
            elsewhere = (
                f"no other file has this {differ}" if differ in ("metric", "n_bits", "metric and n_bits") else ""
            )
            why = elsewhere.replace("n_bits", "code length") or (f"differs in {differ}" if differ else "")
            known[key] = "; ".join(filter(None, (why, unknown)))
        reasons[score.file, known[key]][score.metric] = None
        numbers[score.file, known[key]] += 1
    for (file, why), metrics in reasons.items():
        names = list(metrics)
        more = f" and {len(names) - _FEW} more metrics" if len(names) > _FEW else ""
        what = f"{counted(numbers[file, why], 'score')} ({', '.join(names[:_FEW])}{more})"
        told.setdefault(file, []).append(f"{what}: {why}")
    return told
