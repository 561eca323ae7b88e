"""The leaderboard: all methods of each protocol and code length, with their places, for which `RULE` is the rule."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, abridged, counted, listed, need
from protocol.comparison.differences import mean_difference, pair
from protocol.comparison.matching import assumptions, match
from protocol.comparison.reading import OF_METRIC, RUN, TEXTS, Score, Source, Values, Why, read_sources
from protocol.comparison.rendering import heading, interval_of, notes
from protocol.evaluation.printed import Shown, json_text
from protocol.provenance.storage import write_text
from protocol.report.figure import ABSENT, rendered
from protocol.scores.statistics import CONFIDENCE, LEVEL, Mean, corrected, why_untested
from protocol.scores.tables import DIGITS, DataFrame, Table, read_text
from protocol.truth import DISTANCES

RANKED = "mAP"
"""The metric that determines the places."""
METRICS = (RANKED, "mAP[worst]", "mAP[best]", "mAP@1000[retrieved]", "mAP@1000[all]", "mAP@1000[min]", "precision@r2")
TIMES = ("training_seconds", "encoding_seconds")
_TIMED = ("feature", "split", "hasher", "n_bits")
"""The columns of times.csv that identify a method."""
_TEXTS = TEXTS["places"]
RULE = _TEXTS["rule"].format(RANKED, LEVEL)
_FEWEST_RUNS, _MANY_RUNS = 3, 10
_MOST_NAMED = 3  # methods in a sentence
_NAMING = ("dataset", "ground_truth", "relevance", "excluded_queries", "n_queries", "n_database")
_NESTED = ("heading", "runs", "recorded", "lines")


@dataclass(frozen=True)
class Places:
    """The places of some methods, which are in the order of their means, best first.

    Parameters
    ----------
    places : tuple of int or None
        The place of each method; None if it was not tested.
    reasons : tuple of str
        Why a method has no place; "" if it has one.
    n_adjacent, n_separable : int
        The number of neighbours in the order that were tested, and of those that differ significantly.
    n_within : int
        The number of pairs that differ significantly and share a place.
    """

    places: tuple[int | None, ...]
    reasons: tuple[str, ...]
    n_adjacent: int
    n_separable: int
    n_within: int


def places_of(scores: Sequence[Score]) -> Places:
    """Return the places of methods in the order of their means, best first, under one protocol with one code length.

    The best method opens place 1; `RULE` applies to the others. All pairs of methods are tested, as in `compare`.
    """
    pairs = itertools.combinations(range(len(scores)), 2)
    tests = {(one, other): _test(scores[one], scores[other]) for one, other in pairs}
    differences = corrected({both: test for both, test in tests.items() if isinstance(test, Mean)})
    differs = {both: difference.is_significant for both, difference in differences.items()}
    places, reasons, place, opener = list[int | None](), list[str](), 0, -1
    for at in range(len(scores)):
        is_tested = any(at in both for both in differs) and (opener < 0 or (opener, at) in differs)
        if is_tested and differs.get((opener, at), True):
            place, opener = place + 1, at
        whys = (test for both, test in tests.items() if at in both and isinstance(test, Why))
        places.append(place if is_tested else None)
        reasons.append("" if is_tested else next(whys, "no other method with this protocol and code length"))
    adjacent = [differs[both] for both in itertools.pairwise(range(len(scores))) if both in differs]
    n_within = sum(differs[one, other] for one, other in differs if places[one] == places[other] is not None)
    return Places(tuple(places), tuple(reasons), len(adjacent), sum(adjacent), n_within)


def _test(one: Score, other: Score) -> Mean | Why:
    """Return the mean difference of two scores, or the reason why they can't be tested."""
    if one.ranking in DISTANCES or other.ranking in DISTANCES:
        return "vectors themselves, which are no codes"
    paired = pair(one.values, other.values)
    n_runs = [of.numbers.size for of in (one.values, other.values) if isinstance(of, Values) and of.unit == RUN]
    if min(n_runs, default=_FEWEST_RUNS) < _FEWEST_RUNS:
        return counted(min(n_runs), "run")
    if isinstance(paired, Why):
        return paired
    if paired.unit == RUN and paired.one.size < _FEWEST_RUNS:
        return f"{paired.one.size} runs in common"
    mean = mean_difference(paired, one.shared)
    return why_untested(one.shared) if math.isnan(mean.error) else mean


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Shown):
    """The result of `leaderboard`. It is printed as sentences on its places.

    Parameters
    ----------
    rows : tuple of dict
        The methods by protocol, code length and mean: the columns of `to_frame`, and the record of each.
    places : tuple of Places
        Those of each protocol and code length.
    left_out : dict of str to list of str
        As in `Comparison`.
    dropped : tuple of str
        The metrics of the sources that a leaderboard does not show.
    refused : tuple of str, default=()
        Why records were refused, which the page shows.
    """

    rows: tuple[Mapping[str, Any], ...]
    places: tuple[Places, ...]
    left_out: Mapping[str, Sequence[str]]
    dropped: tuple[str, ...]
    refused: tuple[str, ...] = ()

    def to_frame(self) -> DataFrame:
        """Return a row for each protocol, code length and method, without the records."""
        rows = [{name: value for name, value in row.items() if name not in _NESTED} for row in self.rows]
        return need("pandas", "report").DataFrame(rows).astype({"place": "Int64"})

    def write(self, page: str | Path) -> None:
        """Write the page, and next to it the rows as CSV and JSON, with the same name; the JSON has the records."""
        path, table = Path(page), self.to_frame().to_csv(index=False, float_format=DIGITS, lineterminator="\n")
        texts = {path.suffix: self.to_html(beside=path.stem), ".csv": table, ".json": f"{json_text(self.rows)}\n"}
        for suffix, text in texts.items():
            write_text(path.with_suffix(suffix), text)

    def to_html(self, *, beside: str = "") -> str:
        """Return a page that opens offline: the places, the scores, and a record behind every number.

        `beside` is the name, without suffix, of the CSV and JSON files to which it links.
        """
        from protocol.report.page import rendered as page_from

        groups = [list(rows) for _, rows in itertools.groupby(self.rows, lambda row: (row["section"], row["n_bits"]))]
        datasets = [*dict.fromkeys(row["dataset"] for row in self.rows)]
        values = {"board": self, "beside": beside, "datasets": datasets, "counted": counted, "absent": ABSENT}
        values |= {"metrics": METRICS, "times": TIMES, "confidence": f"{CONFIDENCE:.0%}"}
        return page_from("leaderboard.html.j2", groups=list(zip(groups, self.places, strict=True)), **values)

    def parts(self) -> list[str | Table]:
        """Return the sentences on the places, and what was left out."""
        return ["\n".join([*self.sentences, *notes((), self.left_out, ())])]

    @property
    def sentences(self) -> list[str]:
        """Sentences on the number of places, their rule, the differences between protocols, and what is not tested."""
        n_places = {row["n_places"] for row in self.rows if row["n_places"]}
        dropped = [_TEXTS["dropped"].format(RANKED, abridged(self.dropped))] * bool(self.dropped)
        missing = [*self._not_tested(), *self._missing_lengths(), *dropped]
        if not n_places:
            return [_TEXTS["none"], *missing]
        within = sum(of.n_within for of in self.places)
        n_methods = len({row["method"] for row in self.rows if row["place"]})
        about = {"places": self.places, "n_methods": n_methods, "n_places": n_places, "ranked": RANKED}
        rule = f"{RULE} (here, {counted(within, 'pair')} {'does' if within == 1 else 'do'})."
        return [rendered(_TEXTS["number"], **about), rule, *self._first(), *self._few_runs(), *missing]

    def _first(self) -> list[str]:
        """Return a sentence on the methods that share place 1 of several with the longest codes, if there are any."""
        longest, protocols = max(row["n_bits"] for row in self.rows), defaultdict[str, list[str]](list)
        for section, name in self.names.items():
            best = (section, longest, 1)
            ranked = [row for row in self.rows if (row["section"], row["n_bits"], row["place"]) == best]
            if of := [row["method"] for row in ranked if row["n_places"] > 1]:
                protocols[listed(of) if len(of) <= _MOST_NAMED else counted(len(of), "method")].append(name)
        texts = "; ".join(f"{methods} under {listed(of)}" for methods, of in protocols.items())
        return [_TEXTS["first"].format(longest, texts)] * bool(texts)

    def _few_runs(self) -> list[str]:
        """Return sentences on the protocols with a single place, and on those with few runs."""
        n_runs = {row["section"]: row["n_runs"] or 0 for row in self.rows if row["place"]}
        several = {row["section"] for row in self.rows if row["n_places"] != 1}
        few = {section for section, n in n_runs.items() if _FEWEST_RUNS <= n < _MANY_RUNS}
        kinds = {"single": n_runs.keys() - several, "few": few}
        names = {s: self.names[s] + f" ({counted(n, 'run')})" * bool(n) for s, n in n_runs.items()}
        named = {kind: listed(names[section] for section in names if section in of) for kind, of in kinds.items() if of}
        return [_TEXTS[kind].format(of) for kind, of in named.items()]

    def _not_tested(self) -> list[str]:
        """Return a sentence for each reason why methods have no place."""
        reasons: dict[str, list[str]] = defaultdict(list)
        for row in (row for row in self.rows if row["place"] is None):
            about = f"{row['method']} ({row['n_bits']} bits under {self.names[row['section']]})"
            reasons[row["not_tested"].rstrip(".")].append(about)
        return [_TEXTS["untested"].format(abridged(of, _MOST_NAMED), reason) for reason, of in reasons.items()]

    def _missing_lengths(self) -> list[str]:
        """Return a sentence for each protocol and code length that some methods of the protocol lack."""
        methods, lengths = defaultdict[str, dict[str, None]](dict), defaultdict[tuple[str, int], set[str]](set)
        for row in self.rows:
            methods[row["section"]][row["method"]] = None
            lengths[row["section"], row["n_bits"]].add(row["method"])
        lacking = {key: [m for m in methods[key[0]] if m not in present] for key, present in lengths.items()}
        named = {(n, self.names[section]): abridged(of, _MOST_NAMED) for (section, n), of in lacking.items() if of}
        return [_TEXTS["missing"].format(*about, of) for about, of in named.items()]

    @property
    def names(self) -> dict[str, str]:
        """A name for each protocol: its split, and the other fields in which protocols with this split differ."""
        rows, names = {row["section"]: row for row in self.rows}, dict[str, str]()
        for section, row in rows.items():
            alike = [other for other in rows.values() if other["split"] == row["split"]]
            added = [f"{field} = {row[field]}" for field in _NAMING if len({other[field] for other in alike}) > 1]
            names[section] = str(row["split"]) + f" ({', '.join(added)})" * bool(added)
        return names

    @property
    def changes(self) -> list[Table]:
        """For each code length, the places of the methods under all protocols, if there are several."""
        tables, names = [], self.names
        for n_bits in sorted({row["n_bits"] for row in self.rows}) if len(names) > 1 else ():
            of = (row for row in self.rows if row["n_bits"] == n_bits)
            places = {(row["method"], row["section"]): str(row["place"] or ABSENT) for row in of}
            methods = dict.fromkeys(method for method, _ in places)
            cells = [[method, *(places.get((method, name), ABSENT) for name in names)] for method in methods]
            caption = f"{n_bits} bits: the places under each protocol."
            tables.append(Table(f"changes-{n_bits}", caption, ["method", *names.values()], cells))
        return tables


def leaderboard(*sources: Source, assume: str | Iterable[str] = ()) -> Leaderboard:
    """Return the places of methods under each protocol with each code length.

    Parameters
    ----------
    *sources : str, Path or Evaluation
        At least one source of scores, as for `compare`. CPU times are read from a ``times.csv`` next to a summary.
    assume : sequence of str, default=()
        As for `compare`.

    Returns
    -------
    Leaderboard
        Records with the same codes under one protocol are one method, that of the first record.

    Raises
    ------
    ProtocolError
        If a source can't be read, or if no score has mAP and a known protocol.
    """
    every = list(itertools.chain(*read_sources(sources).values()))
    scores, copies = _without_copies(score for score in every if score.metric in METRICS)
    if not any(score.metric == RANKED and not math.isnan(score.mean) for score in scores):
        raise ProtocolError(f"leaderboard: no source has a score of the metric {RANKED}, which determines the places.")
    known, left_out = match(scores, assumptions(assume), least=1)
    labels, times, numbers = short_names(known), _times(known), dict[Any, int]()
    groups: dict[Any, dict[str, dict[str, Score]]] = defaultdict(lambda: defaultdict(dict))
    for score in known:
        groups[numbers.setdefault(score.section, len(numbers) + 1), score.n_bits][score.method][score.metric] = score
    rows, places = list[dict[str, Any]](), list[Places]()
    for (number, _), methods in sorted(groups.items(), key=lambda group: group[0]):
        ranked = [of[RANKED] for of in methods.values() if RANKED in of and not math.isnan(of[RANKED].mean)]
        ranked.sort(key=lambda score: (score.ranking in DISTANCES, -score.mean))  # vectors have no place
        of_group = places_of(ranked)
        n_places = max(filter(None, of_group.places), default=0)
        for score, place, reason in zip(ranked, of_group.places, of_group.reasons, strict=True):
            about = {"section": f"protocol-{number}", "place": place, "n_places": n_places}
            about |= {"not_tested": reason, "method": labels[score.method], **_row(score, methods[score.method])}
            timed = (score.recorded.get("path"), *(str(score.recorded.get(name)) for name in _TIMED))
            rows.append(about | dict(zip(TIMES, times.get(timed, [math.nan] * len(TIMES)), strict=True)))
        places += [of_group] * bool(ranked)
    dropped = dict.fromkeys(score.metric for score in every if score.metric not in METRICS)
    return Leaderboard(tuple(rows), tuple(places), left_out | copies, tuple(dropped))


def _without_copies(scores: Iterable[Score]) -> tuple[list[Score], dict[str, list[str]]]:
    """Return the scores without those of the same codes in a later file, and why each such file is left out."""
    kept, first, copies = list[Score](), dict[Any, str](), dict[str, list[str]]()
    for score in scores:
        if digests := score.recorded.get("codes_sha256"):
            key = score.kind, score.ranking, score.ground_truth_sha256, json_text(digests)
            if (file := first.setdefault(key, score.file)) != score.file:
                copies[score.file] = [f"its codes are those of {file}, which are counted once"]
                continue
        kept.append(score)
    return kept, copies


def short_names(scores: Iterable[Score]) -> dict[str, str]:
    """Return the name of each method: that of its hasher or record if no other method has it, or else the full name."""
    short = {score.method: str(score.recorded.get("hasher") or score.recorded.get("name") or "") for score in scores}
    names = list(short.values())
    return {method: name if name and names.count(name) == 1 else method for method, name in short.items()}


def _row(score: Score, by_metric: Mapping[str, Score]) -> dict[str, Any]:
    """Return the columns about a method, and the record behind them."""
    low, high = interval_of(score)
    runs: dict[str, dict[str, Any]] = {}
    for metric, one in by_metric.items():
        if isinstance(one.values, Values) and one.values.unit == RUN:
            for item, number in zip(one.values.items, one.values.numbers, strict=True):
                run, _, digest = str(item).partition(" ")
                runs.setdefault(run, {"run": int(run), "items": digest})[metric] = float(number)
    path = score.recorded.get("path", score.file)
    kept = ("feature", "options", "convention", "version", "ranking", "undefined", "ties")
    return {
        "heading": heading(score.fields),
        **{field: value for field, value in score.fields.items() if field not in OF_METRIC},
        "n_bits": score.n_bits,
        "supervision": str(score.recorded.get("supervision") or "not recorded"),
        "trained_on": _trained_on(score.recorded),
        "n_runs": score.n_runs,
        RANKED: score.mean,
        "low": low,
        "high": high,
        **{metric: by_metric[metric].mean if metric in by_metric else math.nan for metric in METRICS[1:]},
        "file": str(path),
        "check": f"protocol verify {Path(path).parent if 'line' in score.recorded else path}",
        "lines": {metric: one.recorded["line"] for metric, one in by_metric.items() if "line" in one.recorded},
        "recorded": {name: value for name in kept if isinstance(value := score.recorded.get(name), str) and value},
        "runs": sorted(runs.values(), key=lambda run: run["run"]),
    }


def _trained_on(recorded: Mapping[str, Any]) -> str:
    """Return the training set that a split declares or a record names."""
    if train := (recorded.get("lists") or {}).get("train"):
        return str(train["file"])
    name = recorded.get("split")
    if "hasher" not in recorded or name not in registry.names("split"):
        return "not recorded"
    split = registry.get("split", name)
    if split.open:
        classes = split.partitions["train"].classes
        return "training set" if classes == "all" else f"training set ({classes} classes)"
    sizes = split.sizes({}, n_items=split.n_items, n_classes=split.n_classes)
    return f"training set ({sizes['train']:,})"


def _times(scores: Iterable[Score]) -> dict[Any, list[float]]:
    """Return the mean CPU times over the runs whose times are known, by the path of a summary and `_TIMED`.

    They are read from the times.csv next to each summary. A mean is NaN if no run's time is known.
    """
    times: dict[Any, list[float]] = {}
    for summary in {score.recorded["path"] for score in scores if "line" in score.recorded}:
        path = summary.with_name("times.csv")
        if path.is_file():
            table = need("pandas", "report").DataFrame(read_text(path), columns=[*_TIMED, *TIMES], dtype=str)
            try:
                numbers = table.replace("", "nan").astype(dict.fromkeys(TIMES, float))
            except ValueError as error:
                raise ProtocolError(f"{path}: can't be read as a table of CPU times ({error}).") from error
            means = numbers.groupby([*_TIMED])[[*TIMES]].mean()
            times |= {(summary, *method): seconds for method, *seconds in means.itertuples(name=None)}
    return times
