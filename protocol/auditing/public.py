"""The public function `audit`, which the command also calls, and its result."""

import errno
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing import writing
from protocol.auditing.all_checks import about, audit_splits
from protocol.auditing.copies import Copied, equal_content, first_equal, within_distance
from protocol.auditing.declared import sizes_from
from protocol.auditing.difference import Difference, ProtocolDifference, difference_from
from protocol.auditing.findings import SEVERITIES, Finding
from protocol.auditing.fixing import Fixed, write_fixed
from protocol.auditing.groups import about_groups, audit_groups, groups_from
from protocol.auditing.inputs import features_from, known_dataset
from protocol.auditing.known_pairs import about_known_pairs, affected_queries, known_pairs_for
from protocol.auditing.label_issues import (
    AGREEMENT,
    about_label_issues,
    audit_label_issues,
    doubtful_places,
    label_issues_from,
)
from protocol.auditing.pairs import audit_pairs, pairs_from
from protocol.auditing.reading import Run, read_lists, read_runs
from protocol.auditing.relevance import audit_relevance
from protocol.auditing.split import Dataset
from protocol.auditing.training_log import Reported, about_log, audit_training_log, read_logs
from protocol.checks import ProtocolError, need, number, one_of
from protocol.inputs.conversion import is_file

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Audit:
    """The findings on one or several splits, and on training logs.

    Parameters
    ----------
    findings : mapping of str to sequence of Finding
        By split and by training log. The name of a split is its file, its files (joined by blanks), or the names of the
        arguments that were arrays. A split without findings is clean.
    about : mapping of str to sequence of str
        By split, sentences on its sizes, the split that it resembles, and the checks that were not possible.
    differences : mapping of str to Difference or ProtocolDifference
        By split, its differences from the split or protocol with which it was compared (`against`).
    affected : mapping of str to ndarray of int64
        By split, if judged pairs or label issues are known, the positions, from 0, of the queries with a judged
        (near-)duplicate in the database or the training set, or with a doubtful label, for `exclude_queries` of
        `protocol.evaluate`.
    runs : sequence of Run
        The splits.
    check : callable, optional
        Repeats the checks on other splits of the same dataset; see `write_fixed`.
    """

    findings: Mapping[str, Sequence[Finding]]
    about: Mapping[str, Sequence[str]]
    differences: Mapping[str, Difference | ProtocolDifference] = field(default_factory=dict)
    affected: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    runs: Sequence[Run] = field(default=(), compare=False)
    check: Callable[[Sequence[Run]], "Audit"] | None = field(default=None, compare=False)

    @property
    def n_errors(self) -> int:
        """The number of findings that make results wrong, or incomparable with published ones."""
        return self._count("error")

    @property
    def n_warnings(self) -> int:
        """The number of findings that are inherent in the protocol or the dataset, or a matter of convention."""
        return self._count("warning")

    @property
    def n_informing(self) -> int:
        """The number of findings that only describe the split, because no protocol is declared."""
        return self._count("information")

    def fails(self, fail_on: str = "error") -> bool:
        """Return whether there is a finding of this severity (``error``, ``warning``, ``information``) or worse."""
        one_of(fail_on, SEVERITIES, "fail_on")
        return any(self._count(severity) for severity in SEVERITIES[: SEVERITIES.index(fail_on) + 1])

    def _count(self, severity: str) -> int:
        return sum(finding.severity == severity for made in self.findings.values() for finding in made)

    def to_text(self, *, colour: bool = False) -> str:
        """Return the findings in the format of the command, with or without terminal colours."""
        differences = [one.to_text() for one in self.differences.values()]
        return "\n\n".join([*differences, writing.text(self.findings, self.about, colour=colour)])

    def to_markdown(self) -> str:
        """Return the findings as GitHub Markdown, with a table for each split."""
        differences = [one.to_markdown() for one in self.differences.values()]
        return "\n\n".join([writing.markdown(self.findings, self.about), *differences])

    def to_json(self) -> str:
        """Return the findings as a JSON list of objects."""
        return writing.as_json(self.findings)

    def to_frame(self) -> "pd.DataFrame":
        """Return the findings as a data frame with one row each; the columns are the keys of the JSON objects."""
        return need("pandas", "report").DataFrame(writing.records(self.findings), columns=list(writing.KEYS))

    def write_fixed(self, folder: str | Path, *, also: Sequence[str] = ()) -> Fixed:
        """Write the splits without misplaced items, and audit the written files.

        Parameters
        ----------
        folder : str or Path
            New or empty. For each audited file, a file in the same format is written, and ``fixes.json`` lists the
            removed items and the reasons.
        also : sequence of str
            Warnings to fix, such as ``train-in-database``, in addition to errors and near-duplicates.

        Returns
        -------
        Fixed
            Its `audit` has the remaining findings.

        Raises
        ------
        ProtocolError
            If the folder is not empty or can't be written, or no query or database item would be left.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fixed = audit(query=[7, 8], database=[0, 1, 2, 7]).write_fixed(folder)
        >>> fixed.audit.n_errors, fixed.n_removed
        (0, 1)
        """
        return write_fixed(self, folder, also=also)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return writing.html(self.findings, self.about)


def audit(
    *splits: Any,
    query: Any = None,
    database: Any = None,
    train: Any = None,
    validation_query: Any = None,
    validation_database: Any = None,
    labels: Any = None,
    ids: Any = None,
    features: Any = None,
    distance: float | None = None,
    pairs: Any = None,
    known_pairs: Any = None,
    groups: Any = None,
    label_issues: Any = None,
    label_agreement: float | None = None,
    training_log: Any = None,
    reported: float | str | None = None,
    protocol: str | None = None,
    sizes: Mapping[str, int] | None = None,
    against: Any = None,
) -> Audit:
    """Find problems in a split that make results wrong, or incomparable with published ones.

    A split is given either as a complete split or as a list for each partition. Each argument is a file or an array.
    Training logs may be audited with or without a split.

    Parameters
    ----------
    *splits : path, result of `protocol.load_split`, or mapping of str to array_like
        Complete splits: ``splits.h5`` of the pipeline, ``.npz`` (row numbers by partition), ``.csv`` (lines
        ``partition,id``), or row numbers or ids by partition (``query``, ``database``, ``train``,
        ``validation_query``, ``validation_database``). Several splits are treated as runs of one protocol and
        are also compared with each other.
    query, database, train, validation_query, validation_database : path or array_like, shape (n,), optional
        The list of each partition: row numbers, or ids (str). A file is text (also ``.gz``) with a line
        ``id label label ...``, ``.csv``, row numbers as ``F.npy``, ``F.npz:key``, ``F.h5:dataset``,
        or ids as ``F.npy``, ``F.npz:key``. `query` and `database` are required.
    labels : path or array_like, shape (n_items,) or (n_items, n_classes), optional
        Class labels in the order of the row numbers: integers, or a 0/1 matrix.
    ids : path or array_like of str, shape (n_items,), optional
        The ids of the dataset in the order of the row numbers; a file has one id per line.
    features : path or array_like, shape (n_items, d), optional
        Features in the order of the row numbers; items with equal features count as copies of each other.
    distance : float, optional
        The maximum Euclidean distance in the features between copies; by default 0.
    pairs : path or array_like, shape (n_pairs, 2), optional
        The ids or row numbers of the two modalities of each item, which must be in the same partitions.
    known_pairs : str, path, or array_like of int, shape (n_pairs, 3), optional
        Manually judged pairs of (near-)duplicates: ``cifar10`` or ``cifar100`` for the shipped ones, a CSV file with
        the columns ``query,database,judgement`` (ids or row numbers; 0 exact copy, 1 near-duplicate, 2 very similar) or
        with those of ciFAIR, or an array of row numbers and judgements. For splits of the pipeline on these datasets,
        the shipped pairs are the default. Without ids, row numbers are assumed to count CIFAR's training images, then
        its test images.
    groups : path, array_like of shape (n_items,), mapping of id to group, ``"auto"`` or ``"re:PATTERN"``, optional
        The group of each item (a video, patient, scene or product), in the order of the row numbers or by id; a file
        has lines ``id,group`` (``.csv``) or one group per line. ``"auto"`` derives groups from file names. See
        `protocol.auditing.groups`.
    label_issues : path or array_like, optional
        Doubts about labels: the number of annotators who gave each class (n, n_classes), or a table of suggested
        labels. See `protocol.auditing.label_issues`.
    label_agreement : float, optional
        The share of annotators below which a label is doubtful; by default 0.5.
    training_log : path or sequence of path, optional
        Scores by epoch: ``.csv``, ``.json`` or printed text; ``F:column`` names the column of the test scores. See
        `protocol.auditing.log_formats`.
    reported : float or str, optional
        The score that a paper reports for this training.
    protocol : str, optional
        The intended split protocol, see ``protocol.names("split")``. By default, the one that a file of the pipeline
        records, if any; without a protocol, sizes and classes are not checked.
    sizes : mapping of str to int, optional
        The expected sizes of partitions, such as ``{"query": 1000, "train": 5000}``, which replace those of the
        protocol.
    against : str, path, result of `protocol.load_split` or mapping, optional
        What each split is compared with: another complete split, or lists as ``"query=F,database=F"``, item by item; or
        the name of a declared protocol.

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

    >>> found = audit(query=[7, 8], database=[0, 1, 2, 7], labels=[0, 1] * 5)
    >>> found.n_errors, found.n_warnings
    (1, 1)
    >>> for finding in found.findings["query database"]:
    ...     print(finding.severity, finding.name, finding.count, finding.examples)
    error query-in-database 1 ('7',)
    warning unused-items 5 ('3', '4', '5', '6', '9')
    """
    lists = {
        "query": query,
        "database": database,
        "train": train,
        "validation_query": validation_query,
        "validation_database": validation_database,
    }
    if protocol is not None and not isinstance(protocol, str):
        raise ProtocolError(f"protocol: expected the name of a split protocol, got {type(protocol).__name__}.")
    named = {"labels": labels, "ids": ids, "features": features, "pairs": pairs, "known_pairs": known_pairs, **lists}
    named |= {"groups": groups, "label_issues": label_issues}
    for role, given in [*named.items(), *(("split", split) for split in splits)]:
        _check_path(given, role)
    for entry in str(against).split(",") if is_file(against) else ():
        _check_path(entry.rpartition("=")[2], "against")
    logs = _logs(training_log, reported)
    if label_agreement is not None and label_issues is None:
        raise ProtocolError(f"label_agreement: expected label issues (label_issues), got only {label_agreement!r}.")
    if logs and not splits and all(given is None for given in named.values()):
        of_splits = {"protocol": protocol, "sizes": sizes, "against": against, "distance": distance}
        for name, value in of_splits.items():
            if value is not None:
                raise ProtocolError(f"{name}: expected a split, got only a training log.")
        return Audit(
            {file: made for file, (made, _) in logs.items()},
            {file: sentences for file, (_, sentences) in logs.items()},
        )
    expected, agreement = sizes_from(sizes), AGREEMENT if label_agreement is None else label_agreement
    dataset = known_dataset(ids, labels)
    runs = _runs(splits, {part: items for part, items in lists.items() if items is not None}, dataset, protocol)
    copies = _copies(features, distance, runs[0])
    known = {**named, "sizes": sizes, "training_log": training_log, "distance": distance or None}
    given = {name for name, value in known.items() if value is not None}
    n_listed = max(map(_n_listed, runs))

    def check(runs: Sequence[Run]) -> Audit:
        judged_by_file = {run.file: known_pairs_for(known_pairs, run.split.dataset, n_listed) for run in runs}
        findings = audit_splits(runs, copies, judged_by_file, expected)
        n_runs = Counter(run.name for run in runs)
        sentences_by_file, affected, differences = {}, {}, {}
        for run in runs:
            judged = judged_by_file[run.file]
            given_here = given if judged is None else given | {"known_pairs"}
            sentences_by_file[run.file] = about(run, n_runs=n_runs[run.name], given=given_here, sizes=expected)
            findings[run.file] += audit_relevance(run.split)
            if pairs is not None:
                findings[run.file] += audit_pairs(run.split, pairs_from(pairs, run.split.dataset))
            if groups is not None:
                item_groups = groups_from(groups, run.split.dataset, n_listed)
                findings[run.file] += audit_groups(run.split, item_groups)
                sentences_by_file[run.file].append(about_groups(run.split, item_groups))
            if judged is not None:
                affected[run.file] = affected_queries(run.split, judged)
                sentences_by_file[run.file].append(about_known_pairs(run.split, judged))
            if label_issues is not None:
                issues = label_issues_from(label_issues, run.split.dataset, n_listed, agreement=agreement)
                findings[run.file] += audit_label_issues(run.split, issues)
                sentences_by_file[run.file].append(about_label_issues(run.split, issues))
                affected[run.file] = np.union1d(
                    affected.get(run.file, np.empty(0, dtype=np.int64)), doubtful_places(run.split, issues)
                )
            if against is not None:
                differences[run.file] = difference_from(run.split, run.file, against, dataset)
                findings[run.file] += differences[run.file].findings()
        findings |= {file: list(made) for file, (made, _) in logs.items()}
        sentences_by_file |= {file: list(sentences) for file, (_, sentences) in logs.items()}
        return Audit(
            {file: tuple(made) for file, made in findings.items()},
            {file: tuple(sentences) for file, sentences in sentences_by_file.items()},
            differences,
            affected,
            tuple(runs),
            check,
        )

    return check(runs)


def _logs(files: Any, reported: Any) -> dict[str, tuple[tuple[Finding, ...], tuple[str, ...]]]:
    """Return the findings on training logs, and sentences about the logs, by file."""
    if files is None:
        if reported is not None:
            raise ProtocolError(
                f"reported: expected a training log that contains it (training_log), got only {reported}."
            )
        return {}
    score = None if reported is None else Reported(reported)
    logs = read_logs(files).items()
    return {file: (tuple(audit_training_log(log, score)), tuple(about_log(log, score))) for file, log in logs}


def _n_listed(run: Run) -> int:
    """Return the largest item number of a split plus one."""
    return max(int(part.max()) + 1 for part in run.split.parts.values() if len(part))


def _check_path(given: Any, role: str) -> None:
    """Raise ProtocolError if a path is invalid."""
    if not is_file(given):
        return
    try:
        os.stat(given)
    except (OSError, ValueError) as error:  # ValueError: a null character
        if not isinstance(error, OSError) or error.errno == errno.ENAMETOOLONG:
            raise ProtocolError(
                f"{role}: expected the path of a file, got {str(given)[:80]!r} ({error.args[-1]})."
            ) from error


def _runs(splits: Sequence[Any], lists: Mapping[str, Any], dataset: Dataset, protocol: str | None) -> list[Run]:
    if bool(lists) == bool(splits):
        got = "splits and lists" if lists else "none of them"
        raise ProtocolError(
            f"audit: expected complete splits, lists of the query and database items, or a training log, got {got}."
        )
    for part in ("query", "database"):
        if lists and part not in lists:
            raise ProtocolError(
                f"{part}: expected the list of the {part} items in addition to {', '.join(lists)}, got none."
            )
    if lists:
        return [read_lists(lists, dataset, protocol=protocol)]
    return read_runs(splits, dataset, protocol=protocol)


def _copies(features: Any, distance: float | None, run: Run) -> dict[str, Copied]:
    """Return the search for copies by the given features."""
    if distance is not None:
        number(distance, "distance")
    if features is None:
        if distance is not None:
            raise ProtocolError(
                f"distance: expected features in which it is measured (features), got only {distance:g}."
            )
        return {}
    X = features_from(features, run.split.dataset, _n_listed(run))
    if distance:
        return {f"features within {distance:g}": within_distance(X, distance)}
    return {"equal features": equal_content(first_equal(X, str(features) if is_file(features) else "features"))}
