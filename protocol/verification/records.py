"""Check a record, the JSON of `protocol evaluate`, by computing all of it again from the codes."""

import csv
import hashlib
import itertools
import json
import math
import re
import tempfile
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from protocol import __version__, registry
from protocol.checks import ProtocolError, integer
from protocol.comparison.reading import FILES, explained, read_json
from protocol.evaluation import Codes, Evaluation, Judgments, Nearest, Outputs, Relevant, bucket_search, evaluate
from protocol.evaluation.ground_truth import Truth, only_truth
from protocol.evaluation.printed import json_text
from protocol.evaluation.progress import Progress
from protocol.verification.experiments import verify_folder
from protocol.verification.result import FAILS, HOLDS, NOTE, UNCHECKED, Check, Verification, audit_checks

DIGITS = 15
"""The number of significant digits in which a recorded value must agree with the computed one."""
_ROUNDED = 12  # differences beyond this digit may come from another processor
_NAMES = ("name", "dataset", "split", "ground_truth")
_CALLED = {"codes_sha256": "codes", "labels_sha256": "labels", "ground_truth_sha256": "ground truth"}
_DIGEST = re.compile("[0-9a-f]{64}")
_LONGEST = 100
_ABSENT = object()


def verify(
    record: str | Path,
    query_codes: Any = None,
    database_codes: Any = None,
    *,
    query_labels: Any = None,
    database_labels: Any = None,
    truth: Relevant | Judgments | Nearest | None = None,
    lists: Mapping[str, str | Path] | None = None,
    digits: int = DIGITS,
    threads: int = 1,
    progress: Progress = None,
) -> Verification:
    """Check a record by recomputing its values from the codes, or check the tables of an experiment.

    Parameters
    ----------
    record : str or Path
        The JSON of ``protocol evaluate --json`` or `Evaluation.write_json`; or a folder with the tables of an
        experiment (``results/NAME``) or with stored tables, in which case all other parameters but `progress` are
        ignored.
    query_codes : array_like, str, Path or Codes, optional
        The codes of the queries. If None, the file that the record names, relative to the record. Codes without an
        encoding have the recorded one.
    database_codes : array_like, str, Path or Codes, optional
        The codes of the database, with the same default.
    query_labels : array_like, str or Path, optional
        The labels of the queries, as for `protocol.evaluate`.
    database_labels : array_like, str or Path, optional
        The labels of the database, as for `protocol.evaluate`.
    truth : Relevant or Nearest, optional
        The ground truth in place of labels; the numbers and the distance of `Nearest` are the recorded ones.
    lists : mapping of str to str or Path, optional
        The lists of the split by partition, or its file as ``split``, which are audited; by default those that the
        record names.
    digits : int, default=15
        The number of significant digits to which values must agree.
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
    >>> same.holds, other.holds, other.failures[0].place
    (True, False, 'database codes')
    """
    integer(digits, "digits", maximum=DIGITS)
    path = Path(record)
    try:
        is_folder = path.is_dir()
    except OSError as error:
        raise ProtocolError(f"record: {record!s:.80}... is not a usable path ({error.strerror}).") from error
    if is_folder:
        inputs = (query_codes, database_codes, query_labels, database_labels, truth, lists or None)
        if digits != DIGITS or any(one is not None for one in inputs):
            raise ProtocolError(f"{path}: codes, a ground truth, lists and digits need a JSON file, not a folder.")
        return verify_folder(path, progress)
    of_record, given = _Record(path, read_json(path)), (query_codes, database_codes)
    checks = list[Check]()
    try:
        with explained(path):
            codes = list(map(of_record.codes, ("query_codes", "database_codes"), given))
            source = of_record.truth(query_labels, database_labels, truth)
            evaluation, expected = of_record.computed(codes, source, threads, progress)
            checks += of_record.compared(expected, evaluation.inputs, digits)
            checks += of_record.files(evaluation)
            checks += of_record.split(lists)
            checks += of_record.others(expected)
            checks += (Check(NOTE, name, text) for name, text in evaluation.code_utilisation.sentences().items())
    except (ProtocolError, OSError) as error:
        checks.append(Check(FAILS, "recomputation", str(error)))
    return Verification(str(path), tuple(checks))


@dataclass(frozen=True)
class _Record:
    """A record, and the checks of its parts."""

    path: Path
    content: dict[str, Any]

    @property
    def inputs(self) -> Mapping[str, Any]:
        """The files of the inputs, relative to the record; those of codes have their encoding."""
        return self.content.get("inputs") or {}

    def file(self, role: str, given: Any = None) -> Any:
        """Return an input: the given one, or else the file that the record names, or None."""
        recorded = self.inputs.get(role)
        name = recorded["file"] if isinstance(recorded, dict) else recorded
        return str(self.path.parent / name) if given is None and name is not None else given

    def codes(self, role: str, given: Any) -> Codes | Outputs:
        """Return the codes of one side in the recorded encoding, unless they have their own."""
        values = self.file(role, given)
        if values is None:
            raise ProtocolError(f"{role.replace('_', ' ')} are missing: the record does not name their file.")
        if isinstance(values, Codes):
            return replace(values, n_bits=values.n_bits or self.content["n_bits"])
        if isinstance(values, Outputs):
            return values
        if role == "query_codes" and self.content["ranking"] == "asymmetric":
            return Outputs(values)
        of_file = {name: one for name, one in self.inputs.get(role, {}).items() if name != "file"}
        of_record = {name: self.content[name] for name in ("n_bits", "binarize")}
        return Codes(values, **(of_record | of_file if given is None else of_file | of_record))

    def truth(self, query_labels: Any, database_labels: Any, truth: Any) -> Truth:
        """Return the ground truth: the inputs that were given, or else the files that the record names."""
        nearest = self.content.get("nearest")
        if truth is None and query_labels is None and database_labels is None:
            if lists := self.file("relevance"):
                ids = self.file("query_ids"), self.file("database_ids")
                truth = Judgments(lists, *ids) if all(ids) else Relevant(lists)
            elif nearest:
                truth = Nearest(self.file("query_vectors"), self.file("database_vectors"))
        if isinstance(truth, Nearest) and nearest:
            k, distance, relevant = (nearest[name] for name in ("numbers", "distance", "relevant"))
            truth = replace(truth, k=k, distance=distance, relevant=relevant)
        if truth is not None:
            return only_truth(query_labels, database_labels, truth)
        labels = self.file("query_labels", query_labels), self.file("database_labels", database_labels)
        return only_truth(*labels, None)

    def computed(
        self, codes: list[Any], truth: Any, threads: int, progress: Progress
    ) -> tuple[Evaluation, dict[str, Any]]:
        """Return the evaluation that the record describes, and its content as JSON has it."""
        recorded = self.content
        evaluation = evaluate(
            *codes,
            truth=truth,
            metrics=list(recorded["metrics"]),
            convention=recorded["convention"],
            spread="spread" in recorded,
            leave_one_out=recorded.get("leave_one_out", False),
            threads=threads,
            progress=progress,
        )
        expected = evaluation.content()
        if "without_queries" in recorded:
            expected |= evaluation.without(np.array(recorded["without_queries"]["excluded"], dtype=np.int64)).content()
        if "bucket_search" in recorded:
            query, database = (Codes(side, evaluation.n_bits) for side in evaluation.codes[:2])
            tables, relevant = list(recorded["bucket_search"]), Relevant(evaluation.truth.relevance)
            searched = bucket_search(query, database, tables, truth=relevant, convention=evaluation.convention)
            expected |= searched.content()
        return evaluation, json.loads(json_text(expected))

    def compared(self, expected: Mapping[str, Any], inputs: Mapping[str, Any], digits: int) -> Iterator[Check]:
        """Yield the fields that differ from the computed ones, those of the inputs first, and the equal ones."""
        same = []
        for key, value in sorted(expected.items(), key=lambda field: field[0] not in _CALLED):
            if key in (*_NAMES, "version"):
                continue
            different = dict(_differences(self.content.get(key, _ABSENT), value, digits))
            yield from (Check(FAILS, _place(inputs, key, *place), text) for place, text in different.items())
            if key == "metrics":
                held = {name: mean for name, mean in value.items() if not {(), (name,)} & different.keys()}
                yield from (Check(HOLDS, name, json.dumps(mean), 1) for name, mean in held.items())
            elif not different:
                same.append(_CALLED.get(key, key))
        yield Check(HOLDS, "as recorded", ", ".join(same) or "nothing")

    def files(self, evaluation: Evaluation) -> Iterator[Check]:
        """Yield the checks of the CSV files to which the record refers, each with the first line that differs."""
        for key in FILES:
            if reference := self.content.get(key):
                file = self.path.parent / reference["file"]
                yield _same_file(key, file, reference)
                if file.is_file():
                    with tempfile.TemporaryDirectory() as folder:
                        computed = Path(folder, "computed.csv")
                        getattr(evaluation, f"write_{key}")(computed)
                        if difference := _first_difference(file, computed):
                            yield Check(FAILS, key, difference)

    def split(self, given: Mapping[str, str | Path] | None) -> Iterator[Check]:
        """Yield the checks of the lists of the split, or else of its declared sizes."""
        from protocol.auditing import audit

        recorded = self.content.get("lists") or {}
        files = {part: self.path.parent / one["file"] for part, one in recorded.items()} | dict(given or {})
        same = [_same_file(f"list of {part}", Path(files[part]), one) for part, one in recorded.items()]
        yield from same
        name = self.content.get("split")
        protocol = name if name in registry.names("split") else None
        if not files or not all(Path(file).is_file() for file in files.values()):
            yield from self._sizes(_declared_sizes(protocol), f"declared by {protocol}")
            yield Check(UNCHECKED, "audit", "needs the lists of the split")
            return
        whole = [files.pop("split")] if "split" in files else []
        audited = audit(*whole, protocol=protocol, **files)
        yield from self._sizes({part: len(rows) for part, rows in audited.runs[0].split.entries.items()}, "listed")
        yield from audit_checks(audited)

    def _sizes(self, sizes: Mapping[str, int], where: str) -> Iterator[Check]:
        for part, field in (("query", "n_queries"), ("database", "n_database")):
            if part in sizes:
                own = part == "database" and self.content.get("leave_one_out", False)
                outcome = HOLDS if sizes[part] - own == self.content[field] else FAILS
                yield Check(outcome, field, f"{self.content[field]:,} recorded, {sizes[part] - own:,} {where}")

    def others(self, expected: Mapping[str, Any]) -> Iterator[Check]:
        """Yield the fields that can't be computed, and another version."""
        if names := [name for name in _NAMES if self.content.get(name) is not None]:
            yield Check(UNCHECKED, ", ".join(names), "names, which nothing but the record states")
        if others := [key for key in self.content if key not in (*expected, "inputs", "lists", *FILES)]:
            yield Check(UNCHECKED, ", ".join(others), "not recomputed")
        if (version := self.content.get("version")) != __version__:
            yield Check(NOTE, "version", f"{version} recorded, {__version__} installed")


def _declared_sizes(protocol: str | None) -> dict[str, int]:
    """Return the sizes of a split protocol; {} without one, or if it leaves sizes open."""
    declared = None if protocol is None else registry.get("split", protocol)
    if declared is None or declared.open:
        return {}
    return declared.sizes({}, n_items=declared.n_items, n_classes=declared.n_classes)


def _place(inputs: Mapping[str, Any], key: str, *place: str) -> str:
    """Return the name of a field in messages; a digest is called by what it identifies, and the file of that."""
    if key not in _CALLED:
        return ": ".join(place if key == "metrics" and place else (key, *place))
    name = " ".join((*place, _CALLED[key]))
    file = inputs.get(name.replace(" ", "_"))
    file = file["file"] if isinstance(file, dict) else file
    return name if file is None else f"{name} ({file})"


def _differences(
    recorded: Any, computed: Any, digits: int, place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the places in which two values of JSON differ, and both values in words."""
    if isinstance(recorded, list) and isinstance(computed, list) and len(recorded) == len(computed):
        recorded, computed = ({str(at): one for at, one in enumerate(values)} for values in (recorded, computed))
    if isinstance(recorded, dict) and isinstance(computed, dict):
        for key in recorded | computed:
            both = recorded.get(key, _ABSENT), computed.get(key, _ABSENT)
            yield from _differences(*both, digits, (*place, key))
    elif not _equal(recorded, computed, digits):
        rounding = "" if not _equal(recorded, computed, _ROUNDED) else f"; the same to {_ROUNDED} digits, see --digits"
        yield place, f"{_shown(recorded, computed)} recorded, {_shown(computed, recorded)} computed{rounding}"


def _equal(recorded: Any, computed: Any, digits: int) -> bool:
    """Return whether two values are equal, numbers to a number of significant digits."""
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in (recorded, computed)):
        return math.isclose(recorded, computed, rel_tol=0.8 * 10.0**-digits, abs_tol=0)
    return type(recorded) is type(computed) and recorded == computed


def _shown(value: Any, other: Any) -> str:
    """Return a value in words: of a digest, only the start if the other one has another start."""
    if value is _ABSENT:
        return "nothing"
    if _DIGEST.fullmatch(str(value)):
        return f"SHA-256 {value[:12] if str(other)[:12] != value[:12] else value}"
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _same_file(place: str, file: Path, reference: Mapping[str, Any]) -> Check:
    """Return the check of a recorded file's digest; a byte-order mark, which other programs add, is no difference."""
    if not file.is_file():
        return Check(FAILS, place, f"{file} is missing")
    if hashlib.sha256(content := file.read_bytes()).hexdigest() == reference["sha256"]:
        return Check(HOLDS, place, file.name)
    if hashlib.sha256(content.removeprefix(BOM_UTF8)).hexdigest() == reference["sha256"]:
        return Check(HOLDS, place, f"{file.name}, with a byte-order mark")
    return Check(FAILS, place, f"{file.name} is another file than the recorded one: its SHA-256 differs")


def _first_difference(file: Path, computed: Path) -> str:
    """Return the first cell of a CSV file that differs from the computed one, by column; empty if there is none."""
    tables = [
        csv.reader(path.read_text(encoding="utf-8-sig", errors="replace").splitlines()) for path in (file, computed)
    ]
    header, expected = (next(table, []) for table in tables)
    if sorted(header) != sorted(expected):
        return f"{file.name}: line 1: columns {', '.join(header)} recorded, {', '.join(expected)} computed"
    for line, (one, other) in enumerate(itertools.zip_longest(*tables, fillvalue=[]), 2):
        cells, correct = dict(zip(header, one, strict=False)), dict(zip(expected, other, strict=False))
        for column in expected:
            value, due = cells.get(column, ""), correct.get(column, "")
            if value != due:
                row = correct.get(expected[0]) or cells.get(expected[0])
                where = f"{file.name}: line {line} ({expected[0]} {row}), {column}"
                return f"{where}: {value or 'nothing'} recorded, {due or 'nothing'} computed"
    return ""
