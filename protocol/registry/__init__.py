"""The registries of plug-ins, one for each kind, with the records and options that declare the plug-ins.

A plug-in is one file in the package of its kind, or in a sub-package, with one decorator; there is no list to edit.
The user's own plug-ins are files in a folder of their own, see `protocol.registry.folders`. A file of the user that
can't be imported is an error, with its name and line.

The name of a metric may contain placeholders: ``mAP@K[all]`` is requested as ``mAP@1000[all]``, ``precision@rR`` as
``precision@r2``, ``F_beta@rR`` as ``F0.5@r2``; `get` then binds ``cutoff=1000``, ``radius=2``, ``beta=0.5``.
"""

import difflib
import functools
import importlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

from protocol.checks import ProtocolError, listed, one_of
from protocol.registry import folders
from protocol.registry.options import Configurable, Count, NotNegative, Positive, at_least, choice
from protocol.registry.records import (
    RECORDS,
    DatasetRecord,
    FeatureRecord,
    GroundTruthRecord,
    HasherRecord,
    MetricRecord,
    NetworkRecord,
    QuantiserRecord,
    Record,
    SplitRecord,
)

# The placeholders in registered names, with a pattern of the requested number; the group's name is the keyword.
_NUMBER = {"@K": "@(?P<cutoff>[1-9][0-9]*)", "@rR": "@r(?P<radius>[0-9]+)", "F_beta": "F(?P<beta>[0-9]+(?:[.][0-9]+)?)"}
R = TypeVar("R", bound=Record, covariant=True)


class Registry(Generic[R]):
    """The plug-ins of one kind, which are found when they are first requested."""

    def __init__(self, record: type[R]) -> None:
        self.kind, self.package, self._decorator = record.kind, record.package, record.__name__
        self._scanned = False

    @property
    def records(self) -> dict[str, Any]:
        """The records that have been registered so far, by name."""
        return RECORDS[self.kind]

    def entries(self) -> Iterator[R]:
        """Yield the records, sorted by name."""
        self._scan()
        yield from (self.records[name] for name in sorted(self.records))

    def _scan(self) -> None:
        """Import every public module of the package and of its public sub-packages, and the user's plug-ins."""
        if not self._scanned:
            self._import("*")
            self._scanned = True
        folders.import_files()

    def _import(self, name: str) -> None:
        """Import the public modules of this name, in the package and in its public sub-packages."""
        package = importlib.import_module(f"protocol.{self.package}")
        (folder,) = map(Path, package.__path__)
        for path in sorted(folder.rglob(f"{name}.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if all(part.isidentifier() and not part.startswith("_") for part in parts):  # no other folders
                importlib.import_module(".".join([package.__name__, *parts]))

    def names(self) -> list[str]:
        """Return the names, sorted."""
        return [record.name for record in self.entries()]

    def find(self, name: str) -> tuple[R, dict[str, float]]:
        """Return a record and the numbers in the requested name; raises the errors of `get`.

        The file of a plug-in usually has its name. All others stay unread then, unless the user has plug-ins, none of
        which may have the name of another one.
        """
        if not self._scanned and name.isidentifier():  # then it may be that of a file
            self._import(name)
        if name not in self.records or folders.folders():
            self.check(name)
        return self.records[name], {}

    def check(self, name: str, also: Iterable[str] = ()) -> None:
        """Raise ProtocolError if no plug-in is called `name`; the names in `also` are allowed."""
        known = {*self.names(), *also}
        if name not in known:
            self._check_record(name)
        one_of(name, known, self.kind.replace("_", " "), listing=f"protocol list {self.kind}s")

    def _check_record(self, name: str) -> None:
        """Raise ProtocolError if one of the user's files defines an unknown plug-in, but registers nothing."""
        if path := folders.without_record(name):
            advice = "Call declare(...) in it" if self.kind == "split" else f"Put @{self._decorator}(...) before it"
            problem = f"{folders.shown(path)} defines it without a record. {advice}"
            raise ProtocolError(f"Unknown {self.kind.replace('_', ' ')} {name!r}: {problem}.")

    def entry(self, name: str) -> R:
        """Return the record of the plug-in called `name`. Raises the errors of `get`."""
        return self.find(name)[0]


class _MetricRegistry(Registry[MetricRecord]):
    """The metrics, whose registered names have placeholders for the numbers in requested names."""

    def find(self, name: str) -> tuple[MetricRecord, dict[str, float]]:
        """Return the record whose name, with numbers in place of K, R and beta, is the requested one."""
        self._scan()
        registered, numbers = _match(name, tuple(self.records))
        if registered:
            return self.records[registered], dict(numbers)
        self._check_record(name)
        raise self._unknown(name)

    def _unknown(self, name: str) -> ProtocolError:
        """Return the error for an unknown metric; the suggested names have the numbers that were requested."""
        if len(names := re.findall(r"(?:\[[^]]*\]?|[^][, ])+", name)) > 1:
            return ProtocolError(f"Unknown metric {name!r}. Pass separate names: {listed(map(repr, names))}.")
        if re.search(r"@(-|0+$|0+\[)", name):
            return ProtocolError(f"Unknown metric {name!r}. K must be at least 1.")
        meant, is_one_spelling = self._meant(name)
        texts = [_suggestion(name, record, described=is_one_spelling and len(meant) > 1) for record in meant]
        hint = f" Did you mean {' or '.join(texts)}?" * bool(texts)
        own = f" If it is your own, name its folder: {folders.VARIABLE}=FOLDER." * (not hint and not folders.folders())
        listing = f"`protocol list metrics` lists all {len(self.records)}."
        return ProtocolError(f"Unknown metric {name!r}.{hint} {listing}{own}")

    def _meant(self, name: str) -> tuple[list[MetricRecord], bool]:
        """Return the metrics that an unknown name may mean, and whether they are all spelt in the same way."""
        known, request = defaultdict[str, list[MetricRecord]](list), _plain_spelling(name)
        for record in self.records.values():
            for spelling in {_with_numbers_of(name, each).casefold() for each in (record.name, *record.synonyms)}:
                known[spelling].append(record)
        variants = [key for key in known if key.startswith((f"{request}[", f"{request}@")) and "," not in key]
        radius = re.sub(r"@([0-2])$", r"@r\1", request)  # precision@2 may be that of a cutoff or of a radius
        near = sorted({request, radius} & known.keys()) or variants or difflib.get_close_matches(request, known, n=1)
        meant = [one for key in near[:3] for one in sorted(known[key], key=lambda one: one.name)]
        return meant, request in known or len(near) == 1


def _suggestion(request: str, record: MetricRecord, *, described: bool) -> str:
    """Return the name of a metric with the numbers of a request, and what it is if the request has several meanings."""
    name, summary = repr(_with_numbers_of(request, record.name)), record.summary.rstrip(".")
    return f"{name} ({summary.replace(', as the expected value over ties', '')})" if described else name


def _plain_spelling(name: str) -> str:
    """Return the name of a metric in lower case, with the number as after ``@``: ``P_10`` and ``MAP@H<=2`` have others.

    Examples
    --------
    >>> [_plain_spelling(name) for name in ("P_10", "MAP@H≤2", "map@K = 100")]
    ['p@10', 'map@r2', 'map@100']
    """
    name = re.sub(r"@[hr] *(<=|≤|=) *(?=\d)", "@r", name.casefold()).replace("[index]", "[database-order]")
    return re.sub(r"_(?=\d+$)|@k *= *", "@", name)


def _with_numbers_of(request: str, name: str) -> str:
    """Return a name with the numbers of a requested name, or those of an example, in place of K, R and beta."""
    number, beta = re.search("(?:@.*?|_)([0-9]+)", request), re.match("[fF]([0-9]+(?:[.][0-9]+)?)@", request)
    numbers = {"@K": f"@{int(number[1] if number else 0) or 1000}", "@rR": f"@r{number[1] if number else 2}"}
    numbers["F_beta"] = f"F{beta[1] if beta else 2}"
    return re.sub("|".join(numbers), lambda mark: numbers[mark[0]], name)


@functools.cache
def _match(name: str, registered: tuple[str, ...]) -> tuple[str, dict[str, float]]:
    """Return the registered name that `name` requests or is, and the numbers in it; an empty name if there is none."""
    for one in sorted(registered):  # F1@rR before F_beta@rR
        if match := _pattern(one).fullmatch(name):
            texts = match.groupdict().items()
            return one, {keyword: int(text) if text.isdigit() else float(text) for keyword, text in texts}
    return name if name in registered else "", {}


@functools.cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return the regular expression that matches requests for a registered name, with the numbers as named groups."""
    pattern = re.escape(name)
    for mark, number in _NUMBER.items():
        pattern = pattern.replace(mark, number)
    return re.compile(pattern)


DATASETS, FEATURES, GROUND_TRUTHS = Registry(DatasetRecord), Registry(FeatureRecord), Registry(GroundTruthRecord)
SPLITS, HASHERS, METRICS = Registry(SplitRecord), Registry(HasherRecord), _MetricRegistry(MetricRecord)
QUANTISERS = Registry(QuantiserRecord)
_ALL: tuple[Registry[Record], ...] = (DATASETS, FEATURES, GROUND_TRUTHS, SPLITS, HASHERS, QUANTISERS, METRICS)
REGISTRIES = {registry.kind: registry for registry in _ALL}
"""The registry of each kind of plug-in."""
_SINGULAR = {f"{kind}s": kind for kind in REGISTRIES}


def _of(kind: str) -> Registry[Record]:
    """Return the registry of a kind, which may be in the plural."""
    return REGISTRIES[one_of(_SINGULAR.get(kind, kind), REGISTRIES, "kind")]


def entries(kind: str) -> Iterator[Record]:
    """Yield the records of a kind's plug-ins, sorted by name."""
    return _of(kind).entries()


def entry(kind: str, name: str) -> Record:
    """Return the record of the plug-in called `name`. Raises the errors of `get`."""
    return _of(kind).entry(name)


def user_plugins() -> list[Record]:
    """Return the records of the user's own plug-ins."""
    records = (record for registry in REGISTRIES.values() for record in registry.entries())
    return [record for record in records if is_users(record.module)]


def is_users(module: str) -> bool:
    """Return whether a module is one of the user's own plug-ins."""
    return module.startswith(f"{folders.PLUGINS.__name__}.")


def names(kind: str) -> list[str]:
    """Return the names of a kind's plug-ins, sorted.

    Parameters
    ----------
    kind : {"dataset", "feature", "ground_truth", "hasher", "metric", "quantiser", "split"}

    Raises
    ------
    ProtocolError
        If there is no such kind.

    Examples
    --------
    >>> names("ground_truth")
    ['class_label', 'epsilon_ball', 'graded_distance', 'nearest_neighbours']
    """
    return _of(kind).names()


def get(kind: str, name: str) -> Any:
    """Return a plug-in: the class of a hasher, the function of a metric, ...

    Parameters
    ----------
    kind : str
        As for `names`.
    name : str
        One of ``names(kind)``. The name of a metric has numbers in place of K, R and beta; they are bound to its
        keyword arguments.

    Raises
    ------
    ProtocolError
        If there is no such kind or name (the message suggests the closest one), or the name has a placeholder where a
        number belongs.

    Examples
    --------
    >>> get("hasher", "lsh")(n_bits=8, seed=0)
    LSH(n_bits=8, seed=0)
    >>> get("metric", "mAP@1000[all]").keywords
    {'cutoff': 1000}
    """
    record, numbers = _of(kind).find(name)
    if any(mark in name for mark in _NUMBER):
        raise ProtocolError(f"{kind} {name!r}: write a number in place of K, R or beta, as in mAP@100[all] or F0.5@r2.")
    return functools.partial(record.plugin, **numbers) if numbers else record.plugin


def printed_name(kind: str, plugin: str, name: str | None = None) -> str:
    """Return the name of a plug-in as papers print it.

    Parameters
    ----------
    kind, plugin : str
        As for `get`. The brackets in a metric's name are omitted: a caption or a footnote states their meaning.
    name : str, optional
        The name under which a configuration uses the plug-in. If it begins with the plug-in's, the rest of it follows
        the printed name; otherwise it is returned unchanged.

    Raises
    ------
    ProtocolError
        As `get`.

    Examples
    --------
    >>> printed_name("hasher", "pca_rr"), printed_name("metric", "mAP@1000[all]"), printed_name("metric", "P@5")
    ('PCA-RR', 'mAP@1000', 'Precision@5')
    >>> printed_name("hasher", "talr_ap", "talr_ap_40"), printed_name("hasher", "itq", "mine")
    ('TALR-AP 40', 'mine')
    """
    record, numbers = _of(kind).find(plugin)
    printed = record.printed.format(**numbers) or (plugin.partition("[")[0] if record.kind == "metric" else plugin)
    if name is None or name == plugin:
        return str(printed)
    return f"{printed} {name.removeprefix(plugin).strip('_').replace('_', ' ')}" if name.startswith(plugin) else name
