"""A record, the JSON of `protocol evaluate`, checked by computing its values again; and the function `verify`."""

import csv
import itertools
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from protocol import registry
from protocol.checks import ProtocolError, suggesting
from protocol.comparison.reading import explained, read_json
from protocol.evaluation import Codes, Evaluation, Judgments, Labels, Nearest, Outputs, Relevant, evaluate
from protocol.evaluation.buckets import searched
from protocol.evaluation.ground_truth import Truth, only_truth
from protocol.evaluation.printed import json_text
from protocol.evaluation.progress import Progress
from protocol.evaluation.result import check_lists
from protocol.provenance import VERSION, storage
from protocol.truth import DISTANCES
from protocol.verification.tables import FAILS, HOLDS, NOTE, UNCHECKED, Check, Verification, verify_folder

DIGITS = 12
"""The number of significant digits in which a recorded value must agree; sums on another CPU differ beyond these."""
_NAMES = ("name", "dataset", "split", "ground_truth", "supervision")
_CALLED = {"codes_sha256": "codes", "labels_sha256": "labels", "ground_truth_sha256": "ground truth"}
_DIGEST = re.compile("[0-9a-f]{64}")
_LONGEST = 100
_ABSENT = object()


@suggesting
def verify(
    record: str | Path,
    query_codes: Any = None,
    database_codes: Any = None,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    truth: Truth | None = None,
    threads: int = 1,
    progress: Progress = None,
) -> Verification:
    """Check a record by recomputing its values from the codes, or check the tables of an experiment.

    Parameters
    ----------
    record : str or Path
        The JSON of ``protocol evaluate --json`` or `Evaluation.write_json`; or a folder with the tables of an
        experiment (``results/NAME``) or with stored tables, which takes no inputs.
    query_codes : array_like, str, Path or Codes, optional
        The codes of the queries. If None, the file that the record names, relative to the record. Codes without an
        encoding have the recorded one.
    database_codes : array_like, str, Path or Codes, optional
        The codes of the database, with the same default.
    query_labels : array_like, str or Path, optional
        The labels of the queries, as for `protocol.evaluate`.
    database_labels : array_like, str or Path, optional
        The labels of the database, as for `protocol.evaluate`.
    truth : Labels, Relevant, Judgments or Nearest, optional
        The ground truth in place of labels; the numbers and the distance of `Nearest` are the recorded ones.
    threads : int, default=1
        Threads for the search of the nearest items and for counting.
    progress : callable, optional
        Called as ``progress(done, total, stage)``, as by `protocol.evaluate`.

    Returns
    -------
    Verification
        Its string has a line for each check, and `Verification.holds` is whether none of them failed.

    Raises
    ------
    ProtocolError
        If the record is missing or is not a record, or if a folder is given together with inputs of a record. Inputs
        that can't be read are failed checks.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, labels = Path(folder, "mine.json"), {"query_labels": [7], "database_labels": [7, 8]}
    ...     evaluate([[0, 1]], [[0, 1], [1, 1]], **labels, metrics="mAP").write_json(path)
    ...     same = verify(path, [[0, 1]], [[0, 1], [1, 1]], **labels)
    ...     other = verify(path, [[0, 1]], [[0, 1], [1, 0]], **labels)
    >>> same.holds, other.holds, other.failures[0].subject
    (True, False, 'database codes')
    """
    path = Path(record)
    if path.is_dir():
        if any(given is not None for given in (query_codes, database_codes, query_labels, database_labels, truth)):
            raise ProtocolError(f"{path}: codes and a ground truth need a JSON file, not a folder.")
        return verify_folder(path, progress)
    if path.suffix == ".csv" and path.is_file():
        raise ProtocolError(f"{path}: a table; give a record (JSON), or the folder of an experiment: {path.parent}.")
    checks, stored = list[Check](), _Record(path, read_json(path))
    try:
        with explained(path):
            codes = [stored.codes("query_codes", query_codes), stored.codes("database_codes", database_codes)]
            source = stored.truth(query_labels, database_labels, truth)
            evaluation, computed = stored.computed(codes, source, threads, progress)
            for part in (stored.compared(computed), stored.files(evaluation), stored.split(), stored.others(computed)):
                checks += part
            checks += (Check(NOTE, name, text) for name, text in evaluation.code_utilisation.sentences().items())
    except (ProtocolError, OSError) as error:
        checks.append(Check(FAILS, "recomputation", str(error)))
    return Verification(str(path), tuple(checks))


def files_of(record: str | Path) -> list[str]:
    """Return the files that `verify` reads in addition to its arguments: those that a record or a folder has."""
    path = Path(record)
    if path.is_dir() or path.suffix == ".csv":
        return [*map(str, path.glob("*.csv"))]
    stored = _Record(path, read_json(path))
    return [file for role in stored.content.get("inputs") or () if (file := stored.file(role))]


@dataclass(frozen=True)
class _Record:
    """A record, and the checks of its parts."""

    path: Path
    content: dict[str, Any]

    def input(self, role: str) -> dict[str, Any]:
        """Return the file of an input and the encoding of codes, if the record names it."""
        recorded = (self.content.get("inputs") or {}).get(role) or {}
        return dict(recorded) if isinstance(recorded, dict) else {"file": recorded}

    def file(self, role: str) -> str | None:
        """Return the path of an input that the record names, relative to the record, or None."""
        if (name := self.input(role).get("file")) is None:
            return None
        path = str(self.path.parent / name)
        short = os.path.normpath(path)  # another file if a link precedes ".."
        return short if os.path.realpath(short) == os.path.realpath(path) else path

    def given(self, role: str, values: Any) -> Any:
        """Return the values of an input, or else the file that the record names."""
        return self.file(role) if values is None else values

    def codes(self, role: str, values: Any) -> Codes | Outputs:
        """Return the codes of one side, or else of the file that the record names, in the recorded encoding."""
        if isinstance(values, Codes):
            return replace(values, n_bits=values.n_bits or self.content["n_bits"])
        encoding, of_file = {name: self.content[name] for name in ("n_bits", "binarize")}, self.input(role)
        of_file.pop("file", None)
        encoding = encoding | of_file if values is None else of_file | encoding
        values = self.given(role, values)
        if values is None:
            raise ProtocolError(f"{role.replace('_', ' ')} are missing: the record does not name their file.")
        ranking = self.content["ranking"]
        if role == "query_codes" and ranking != "hamming":
            return values if isinstance(values, Outputs) else Outputs(values, ranking)
        return Codes(values) if ranking in DISTANCES else Codes(values, **encoding)

    def truth(self, query_labels: Any, database_labels: Any, truth: Any) -> Truth:
        """Return the ground truth of the arguments, or else of the files that the record names."""
        nearest = self.content.get("nearest")
        if truth is None and query_labels is None and database_labels is None:
            ids = self.file("query_ids"), self.file("database_ids")
            if relevance := self.file("relevance"):
                truth = Judgments(relevance, *ids) if all(ids) else Relevant(relevance)
            elif any(ids):
                truth = Labels(self.file("query_labels"), self.file("database_labels"), *ids)
            elif nearest:
                truth = Nearest(self.file("query_vectors"), self.file("database_vectors"))
        if isinstance(truth, Nearest) and nearest:
            truth = replace(truth, k=nearest["relevant"], distance=nearest["distance"])  # other K are of the metrics
        if truth is None:
            query_labels = self.given("query_labels", query_labels)
            database_labels = self.given("database_labels", database_labels)
        return only_truth(query_labels, database_labels, truth)

    def computed(self, codes: Any, truth: Any, threads: int, progress: Progress) -> tuple[Evaluation, dict[str, Any]]:
        """Return the evaluation that the record describes, and its content as JSON has it."""
        recorded = self.content
        evaluation = evaluate(
            *codes,
            truth=truth,
            metrics=list(recorded["metrics"]),
            convention=recorded["convention"],
            leave_one_out=recorded.get("leave_one_out", False),
            threads=threads,
            progress=progress,
        )
        expected = evaluation.content()
        if "spread" in recorded:
            expected |= evaluation.spread(threads=threads).content()
        if "without_queries" in recorded:
            expected |= evaluation.without(np.array(recorded["without_queries"]["excluded"], dtype=np.int64)).content()
        if "bucket_search" in recorded:
            tables, relevance = list(recorded["bucket_search"]), evaluation.truth.relevance
            expected |= searched(evaluation.codes, relevance, tables, evaluation.convention).content()
        return evaluation, json.loads(json_text(expected))

    def compared(self, computed: Mapping[str, Any]) -> Iterator[Check]:
        """Yield the fields that differ from the computed ones, those of the inputs first, and the equal ones."""
        same = []
        for key, value in sorted(computed.items(), key=lambda field: field[0] not in _CALLED):
            if key in (*_NAMES, "version"):
                continue
            different = dict(_differences(self.content.get(key, _ABSENT), value))
            yield from (Check(FAILS, _subject(key, *keys), text) for keys, text in different.items())
            if key == "metrics":
                held = {name: mean for name, mean in value.items() if not {(), (name,)} & different.keys()}
                yield from (Check(HOLDS, name, json.dumps(mean), 1) for name, mean in held.items())
            elif not different:
                same.append(_CALLED.get(key, key))
        yield Check(HOLDS, "as recorded", ", ".join(same) or "nothing")

    def files(self, evaluation: Evaluation) -> Iterator[Check]:
        """Yield the checks of the CSV file to which the record refers, with the first cell that differs."""
        if not (reference := self.content.get("per_query")):
            return
        file = self.path.parent / reference["file"]
        checks = [_same_file("per_query", file, reference)]
        with tempfile.TemporaryDirectory() as folder:
            evaluation.write_per_query(computed := Path(folder, "computed.csv"))
            found = _differences(_rows(file), _rows(computed)) if file.is_file() else ()
            for keys, text in itertools.islice(found, 1):
                cells = text.replace('"', "")  # a cell is text, most often a number
                checks.append(Check(FAILS, "per_query", f"{file.name}: {', '.join(keys)}: {cells}"))
        yield from [check for check in checks if check.outcome == FAILS] or checks

    def split(self) -> Iterator[Check]:
        """Yield the checks of the lists' files and of the sizes that the split protocol declares."""
        lists = self.content.get("lists") or {}
        for part, one in lists.items():
            check = _same_file(f"list of {part}", file := self.path.parent / one["file"], one)
            try:
                check_lists({part: file} if check.outcome == HOLDS else {}, self.content)
            except ProtocolError as error:
                check = Check(FAILS, check.subject, str(error))
            yield check
        name = self.content.get("split")
        if name in registry.names("split") and not (declared := registry.get("split", name)).open:
            sizes = declared.sizes({}, n_items=declared.n_items, n_classes=declared.n_classes)
            expected = [sizes["query"], sizes["database"] - self.content.get("leave_one_out", False)]
            recorded = [self.content["n_queries"], self.content["n_database"]]
            text = "{:,} and {:,} recorded, {:,} and {:,} declared by {}".format(*recorded, *expected, name)
            yield Check(HOLDS if recorded == expected else FAILS, "n_queries and n_database", text)
        yield Check(UNCHECKED, "split", "not audited; `protocol audit` audits its lists")

    def others(self, computed: Mapping[str, Any]) -> Iterator[Check]:
        """Yield the fields that can't be computed, and another version."""
        if names := [name for name in _NAMES if self.content.get(name) is not None]:
            yield Check(UNCHECKED, ", ".join(names), "names that only the record states")
        if others := [key for key in self.content if key not in (*computed, "inputs", "lists", "per_query")]:
            yield Check(UNCHECKED, ", ".join(others), "not recomputed")
        if (version := self.content.get("version")) != VERSION:
            yield Check(NOTE, "version", f"{version} recorded, {VERSION} installed")


def _subject(key: str, *keys: str) -> str:
    """Return the name of a field in messages; a digest is called by what it identifies."""
    if key not in _CALLED:
        return ": ".join(keys if key == "metrics" and keys else (key, *keys))
    return " ".join((*keys, _CALLED[key]))


def _differences(recorded: Any, computed: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the places in which two values of JSON differ, and both values in words."""
    if isinstance(recorded, list) and isinstance(computed, list) and len(recorded) == len(computed):
        recorded, computed = ({str(at): one for at, one in enumerate(values)} for values in (recorded, computed))
    if isinstance(recorded, dict) and isinstance(computed, dict):
        for key in recorded | computed:
            yield from _differences(recorded.get(key, _ABSENT), computed.get(key, _ABSENT), (*keys, key))
    elif not _equal(recorded, computed):
        yield keys, f"{_in_words(recorded, computed)} recorded, {_in_words(computed, recorded)} computed"


def _equal(recorded: Any, computed: Any) -> bool:
    """Return whether two values are equal, numbers to `DIGITS` significant digits."""
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in (recorded, computed)):
        return math.isclose(recorded, computed, rel_tol=0.8 * 10.0**-DIGITS, abs_tol=0)
    return type(recorded) is type(computed) and recorded == computed


def _in_words(value: Any, other: Any) -> str:
    """Return a value in words: of a digest, only the start if the other one has another start."""
    if value is _ABSENT:
        return "nothing"
    if _DIGEST.fullmatch(str(value)):
        return f"SHA-256 {value[:12] if str(other)[:12] != value[:12] else value}"
    return f"{json.dumps(value):.{_LONGEST}}"


def _same_file(subject: str, file: Path, reference: Mapping[str, Any]) -> Check:
    """Return the check of a recorded file's digest."""
    if not file.is_file():
        return Check(FAILS, subject, f"{file} is missing")
    if storage.file_sha256(file) == reference["sha256"]:
        return Check(HOLDS, subject, file.name)
    return Check(FAILS, subject, f"{file.name} is another file than the recorded one: its SHA-256 differs")


def _rows(file: Path) -> dict[str, dict[str, Any]]:
    """Return the cells of a CSV file by line and column."""
    lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    return {f"line {number}": row for number, row in enumerate(csv.DictReader(lines, restkey="(none)"), 2)}
