"""The public function `audit`, which the command also calls, and its result."""

import dataclasses
import errno
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing import checks
from protocol.auditing.checks.codes import audit_codes, audit_relevance
from protocol.auditing.checks.difference import audit_against
from protocol.auditing.checks.training_log import audit_training_log, read_logs, reported_score
from protocol.auditing.evidence import Copies, Evidence
from protocol.auditing.findings import SEVERITIES, Finding, records, text
from protocol.auditing.items import Dataset, known_dataset, lists_from
from protocol.auditing.runs import Run, read_runs, run_of
from protocol.checks import ProtocolError, listed, one_of
from protocol.inputs.arrays import is_file, named
from protocol.splits import LISTS, PARTITIONS


@dataclass(frozen=True, repr=False)
class Audit:
    """The findings on one or several splits, and on training logs.

    Parameters
    ----------
    findings : mapping of str to sequence of Finding
        By split and by training log. The name of a split is its file, its files (joined by blanks), or the names of the
        arguments that were arrays.
    about : mapping of str to sequence of str
        By split, sentences on its sizes and the split that it resembles; by training log, on its evaluations.
    not_checked : mapping of str to sequence of str
        Likewise, the checks that were not possible, each with what it needs.
    affected : mapping of str to ndarray of int64
        By split, if judged pairs are known, the positions, from 0, of the queries with a judged (near-)duplicate in
        the database or the training set, for `exclude_queries` of `protocol.evaluate`.
    runs : sequence of Run
        The splits.
    """

    findings: Mapping[str, Sequence[Finding]]
    about: Mapping[str, Sequence[str]]
    not_checked: Mapping[str, Sequence[str]]
    affected: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    runs: Sequence[Run] = field(default=(), compare=False)

    @property
    def n_errors(self) -> int:
        """The number of findings that make results wrong, or incomparable with published ones."""
        return self._count("error")

    @property
    def n_warnings(self) -> int:
        """The number of findings that are inherent in the protocol or the dataset, or a matter of convention."""
        return self._count("warning")

    def fails(self, fail_on: str = "error") -> bool:
        """Return whether there is a finding of this severity, one of `SEVERITIES`, or worse."""
        one_of(fail_on, SEVERITIES, "fail_on")
        return any(self._count(severity) for severity in SEVERITIES[: SEVERITIES.index(fail_on) + 1])

    def _count(self, severity: str) -> int:
        return sum(finding.severity == severity for findings in self.findings.values() for finding in findings)

    def to_text(self, *, why: bool = False) -> str:
        """Return the findings in the format of the command.

        Parameters
        ----------
        why : bool, default=False
            Whether to list the checks that were not possible, with what each of them needs.
        """
        return text(self.findings, self.about, self.not_checked, why=why)

    def to_json(self) -> str:
        """Return the findings as a JSON list of objects."""
        return json.dumps(records(self.findings), indent=2, ensure_ascii=False)

    __repr__ = to_text


def audit(
    *splits: Any,
    labels: Any = None,
    ids: Any = None,
    evidence: Evidence | None = None,
    training_log: Any = None,
    pattern: str | None = None,
    reported: float | str | None = None,
    protocol: str | None = None,
    against: Any = None,
    **lists: Any,
) -> Audit:
    """Find problems in a split that make results wrong, or incomparable with published ones.

    A split is given either as a complete split or as a list for each partition. Each argument is a file or an array.
    Training logs may be audited with or without a split.

    Parameters
    ----------
    *splits : path, or mapping of str to array_like
        Complete splits: ``splits.h5`` of the pipeline, ``.npz`` (row numbers by partition), ``.csv`` (lines
        ``partition,id``), or row numbers or ids by partition (``query``, ``database``, ``train``,
        ``validation_query``, ``validation_database``). Several splits are treated as runs of one protocol and
        are also compared with each other.
    labels : path or array_like, shape (n_items,) or (n_items, n_classes), optional
        Class labels in the order of the row numbers: integers, or a 0/1 matrix.
    ids : path or array_like of str, shape (n_items,), optional
        The ids of the dataset in the order of the row numbers; a file has one id per line.
    evidence : Evidence, optional
        Additional information about the items: features, judged pairs, groups.
    training_log : path or sequence of path, optional
        Scores by epoch, as ``.csv`` or ``.jsonl``, or as any text with a `pattern`. See
        `protocol.auditing.checks.training_log`.
    pattern : str, optional
        A regular expression for the lines of training logs that have a test score, with the named groups ``value``
        and optionally ``bits`` and ``epoch``.
    reported : float or str, optional
        The score that a paper reports for this training.
    protocol : str, optional
        The intended split protocol, see ``protocol.names("split")``. By default, the one that a file of the pipeline
        records, if any; without a protocol, sizes and the balance of classes are not checked.
    against : path or mapping, optional
        The complete split with which each split is compared partition by partition.
    **lists : path or array_like, shape (n,)
        The list of each partition, by its name: `query` and `database`, which are required, `train`,
        `validation_query` and `validation_database`. Row numbers, or ids (str). A file is text (also ``.gz``) with a
        line ``id label label ...``, ``.csv``, row numbers as ``F.npy``, ``F.npz:key``, ``F.h5:dataset``, or ids as
        ``F.npy``, ``F.npz:key``.

    Returns
    -------
    Audit
        The findings; its string is the output of ``protocol audit``.

    Raises
    ------
    ProtocolError
        If an input can't be used.

    Examples
    --------
    Item 7 is a query that is also in the database.

    >>> audited = audit(query=[7, 8], database=[0, 1, 2, 7], labels=[0, 1] * 5)
    >>> audited.n_errors, audited.n_warnings
    (1, 1)
    >>> for finding in audited.findings["query database"]:
    ...     print(finding.severity, finding.name, finding.count, finding.examples)
    error query-in-database 1 ('7',)
    warning unused-items 5 ('3', '4', '5', '6', '9')
    """
    evidence = evidence or Evidence()
    files = {"labels": labels, "ids": ids, "against": against, **vars(evidence), **lists}
    _check_paths([*files.items(), *itertools.product(["split"], splits)])
    logs = _logs(training_log, pattern, reported)
    if logs and not splits and all(value is None for value in (protocol, *files.values())):
        return _checked([], logs)
    dataset = known_dataset(ids, labels)
    runs = _runs(splits, lists, dataset, protocol)
    if evidence.query_codes is not None and len(runs) > 1:
        raise ProtocolError(f"query_codes and database_codes need a single split, not {len(runs):,} runs.")
    other = _other(against, dataset)
    n_listed, copies = max(run.n_listed for run in runs), dict[Path | None, Copies]()
    for number, run in enumerate(runs):
        if run.items not in copies or run.split.dataset.has_listed_ids:  # otherwise, the dataset is the same
            copies[run.items] = evidence.copies(run.items, run.split.dataset, n_listed)
        known = evidence.of_items(run.split, n_listed)
        runs[number] = dataclasses.replace(run, copies=copies[run.items], against=other, **known)
    return _checked(runs, logs)


def _runs(splits: Sequence[Any], lists: Mapping[str, Any], dataset: Dataset, protocol: str | None) -> list[Run]:
    """Return the complete splits, or the split of one list for each partition."""
    for part in lists:
        one_of(part, PARTITIONS, "audit: list of a partition")
    lists = {part: lists[part] for part in LISTS if lists.get(part) is not None}
    if lists and splits:
        raise ProtocolError("audit: give complete splits, or lists of the query and database items, not both.")
    if not (lists or splits):
        inputs = "complete splits, lists of the query and database items, or a training log"
        raise ProtocolError(f"audit: nothing to audit. Give {inputs}.")
    if splits:
        return read_runs(splits, dataset, protocol=protocol)
    if missing := {"query", "database"} - lists.keys():
        raise ProtocolError(f"{listed(lists)} need{'s' * (len(lists) == 1)} {max(missing)} as well.")
    return [run_of(" ".join(named(one, part) for part, one in lists.items()), lists_from(lists), dataset, protocol)]


def _other(against: Any, dataset: Dataset) -> Run | None:
    """Return the split to compare with, if there is one."""
    if against is None:
        return None
    if not (is_file(against) or isinstance(against, Mapping)):
        got = type(against).__name__
        raise ProtocolError(f"against: expected a file or a mapping of partition names to lists, got {got}.")
    (run,) = read_runs([against], dataset)
    return run if is_file(against) else dataclasses.replace(run, file="the other split")


_Logs = Mapping[str, tuple[Sequence[Finding], Sequence[str], Sequence[str]]]
"""By training log: the findings, sentences about it, and the checks that were not possible."""


def _checked(runs: Sequence[Run], logs: _Logs) -> Audit:
    """Return the audit of splits and of training logs."""
    findings = checks.audit_splits(runs)
    about, not_checked = dict[str, Sequence[str]](), dict[str, Sequence[str]]()
    for run in runs:
        same = [one for one in runs if one.name == run.name]
        (on_codes, of_codes), (different, compared) = audit_codes(run), audit_against(run)
        findings[run.file] += [*audit_relevance(run.split), *on_codes, *different]
        about[run.file] = [*checks.about(run), *compared]
        not_checked[run.file] = checks.not_checked(run, same, has_log=bool(logs), of_codes=of_codes)
    for file, (of_log, sentences, missing) in logs.items():
        findings[file], about[file], not_checked[file] = list(of_log), sentences, missing
    affected = {run.file: run.judged.queries(run.split) for run in runs if run.judged is not None}
    return Audit(findings, about, not_checked, affected, runs)


def _logs(files: Any, pattern: str | None, reported: Any) -> _Logs:
    """Return the findings on training logs, and what is said about them."""
    for name, value in {"reported": reported, "pattern": pattern}.items():
        if files is None and value is not None:
            raise ProtocolError(f"{name} needs training_log as well.")
    if files is None:
        return {}
    score = "" if reported is None else reported_score(reported)
    return {file: audit_training_log(log, score) for file, log in read_logs(files, pattern).items()}


def _check_paths(values: Sequence[tuple[str, Any]]) -> None:
    """Raise ProtocolError if a path among the arguments is invalid; `values` has their roles."""
    for role, path in values:
        try:
            if is_file(path):
                os.stat(path)
        except (OSError, ValueError) as error:  # ValueError: a null character
            if getattr(error, "errno", errno.ENAMETOOLONG) == errno.ENAMETOOLONG:
                problem = f"{str(path)[:80]!r} is not a usable path ({error.args[-1]})"
                raise ProtocolError(f"{role}: {problem}.") from error
