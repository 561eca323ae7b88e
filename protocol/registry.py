"""The registries of plug-ins, one for each kind, and the typed records that register the plug-ins they decorate.

A plug-in is one file in the package of its kind, or in a sub-package, with one decorator; there is no list to edit.
The user's own plug-ins are files in a folder of their own, see `protocol.plugin_folders`. A file of the user that can't
be imported is an error, with its name and line.

The name of a metric may contain placeholders: ``mAP@K[all]`` is requested as ``mAP@1000[all]``, ``precision@rR`` as
``precision@r2``, ``F_beta@rR`` as ``F0.5@r2``; `get` then binds ``cutoff=1000``, ``radius=2``, ``beta=0.5``.
"""

import difflib
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from protocol import plugin_folders, plugins
from protocol.checks import ProtocolError, one_of

Plugin = TypeVar("Plugin")
_PACKAGE = Path(__file__).parent
# The placeholders in registered names, with a pattern of the requested number; the group's name is the keyword.
_NUMBERS = {
    "@K": "@(?P<cutoff>[1-9][0-9]*)",
    "@rR": "@r(?P<radius>[0-9]+)",
    "F_beta": "F(?P<beta>[0-9]+(?:[.][0-9]+)?)",
}
_F_BETA = re.compile("[fF](?!1(?![0-9.]))([0-9]+(?:[.][0-9]+)?)")  # F1 is excluded, because it is a separate metric


@dataclass(frozen=True, eq=False)
class Record:
    """The declaration of a plug-in, and the decorator that registers it.

    Parameters
    ----------
    name : str
        The name that config files, commands and results use.
    source : str
        The paper and equation, or the web page, that defines the plug-in.
    summary : str, default=""
        One line; the default is the first line of the plug-in's docstring.
    printed : str, default=""
        The name as papers print it, such as ``PCA-RR``; the default is `name`. In the name of a metric, braces mark
        the numbers: ``Precision@{cutoff}``, ``F{beta:g} within radius {radius}``.
    module : str, default=""
        The plug-in's module, ``__name__``; required unless the plug-in is a class or a function, which know theirs.

    Attributes
    ----------
    kind : str
        The kind, such as ``"hasher"``; `package` is the package of this kind, such as ``"hashers"``.
    plugin : object
        The decorated class, function or object; None until the record decorates one.

    Raises
    ------
    ProtocolError
        On decoration, if the module is unknown, or another module has registered the same kind and name.
    """

    kind: ClassVar[str]
    package: ClassVar[str]

    name: str
    _: KW_ONLY
    source: str
    summary: str = ""
    printed: str = ""
    module: str = ""
    plugin: Any = field(default=None, init=False)

    def __call__(self, plugin: Plugin) -> Plugin:
        """Register a plug-in, and return it unchanged."""
        record, records = self.describing(plugin), REGISTRIES[self.kind].records
        files = [_file_of(one.module) for one in (records.get(self.name), record) if one is not None]
        if len(set(files)) > 1:
            raise ProtocolError(
                f"{self.kind} {self.name!r}: two plug-ins have this name, in {' and in '.join(files)}. "
                "Give yours another name."
            )
        records[self.name] = record
        return plugin

    def describing(self, plugin: Any) -> Self:
        """Return a copy of the record that belongs to a plug-in; nothing is registered."""
        module = self.module or (plugin.__module__ if inspect.isclass(plugin) or inspect.isfunction(plugin) else "")
        if not module:
            raise ProtocolError(
                f"{self.kind} {self.name!r}: a plug-in that is neither a class nor a function needs module=__name__ in "
                "its record."
            )
        summary = self.summary or (inspect.getdoc(plugin) or "").split("\n")[0]
        described = replace(self, summary=summary, module=module)
        object.__setattr__(described, "plugin", plugin)
        return described


@dataclass(frozen=True, eq=False)
class DatasetRecord(Record):
    """The declaration of a dataset.

    Parameters
    ----------
    files : tuple of protocol.datasets.File
        The files to fetch; () if there are none.
    statistics : mapping, or callable of the loader's options that returns one
        Known facts against which loaded data are checked: ``n``, ``classes``, ``image_shape``, ...
    user_files : tuple of str
        The options that name files of the user.
    user_folders : tuple of str
        The options that name folders of the user.
    required : tuple of str
        The options, among both of these, that must be given.
    streamed : bool, default=False
        Whether the loader returns rows that are read on demand, so that a dataset may be larger than memory.
    """

    kind: ClassVar[str] = "dataset"
    package: ClassVar[str] = "datasets"

    files: tuple[Any, ...] = field(kw_only=True)
    statistics: Mapping[str, Any] | Callable[..., Mapping[str, Any]] = field(kw_only=True)
    user_files: tuple[str, ...] = field(default=(), kw_only=True)
    user_folders: tuple[str, ...] = field(default=(), kw_only=True)
    required: tuple[str, ...] = field(default=(), kw_only=True)
    streamed: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureRecord(Record):
    """The declaration of a feature, including how it deviates from its source."""

    kind: ClassVar[str] = "feature"
    package: ClassVar[str] = "features"

    deviations: str


@dataclass(frozen=True, eq=False, kw_only=True)
class GroundTruthRecord(Record):
    """The declaration of a ground truth, that is, of a definition of relevance.

    Parameters
    ----------
    deviations : str, default=""
        How it deviates from its source.
    across_modalities : bool, default=False
        Whether queries and database items may be of different modalities.
    needs_labels : bool, default=False
        Whether the items must have class labels.
    check : callable or None, default=None
        ``check(n_train=..., n_database=..., **options)`` raises ProtocolError if the options are impossible with that
        number of training rows and database items; an unknown number is None. The ground truth itself calls it.
    """

    kind: ClassVar[str] = "ground_truth"
    package: ClassVar[str] = "truth"

    deviations: str = ""
    across_modalities: bool = False
    needs_labels: bool = False
    check: Callable[..., None] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitRecord(Record):
    """The declaration of a split protocol; the summary is required, because a protocol object has no docstring."""

    kind: ClassVar[str] = "split"
    package: ClassVar[str] = "splits"

    summary: str = field()


@dataclass(frozen=True, eq=False, kw_only=True)
class HasherRecord(Record):
    """The declaration of a hasher.

    Parameters
    ----------
    deviations : str
        How it deviates from its source.
    bits_within_features : bool
        Whether the code length is limited by the number of features.
    random : bool
        Whether the learned hash function depends on the seed.
    extra : str or None, default=None
        The extra in ``pyproject.toml`` that it requires.
    """

    kind: ClassVar[str] = "hasher"
    package: ClassVar[str] = "hashers"

    deviations: str
    bits_within_features: bool
    random: bool
    extra: str | None = None

    def __call__(self, plugin: Plugin) -> Plugin:
        """Register a hasher whose constructor, methods and learned arrays are declared correctly."""
        hasher: Any = plugin
        try:
            hasher().check_options()
            learned = hasher.learned
        except (ProtocolError, TypeError, AttributeError) as error:  # no hasher, an abstract method, a wrong default
            raise ProtocolError(f"hasher {self.name!r}: not a complete protocol.hashers.Hasher: {error}") from error
        if not learned:
            raise ProtocolError(f"hasher {self.name!r}: `learned` must name the arrays that _fit sets.")
        return super().__call__(plugin)


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantiserRecord(Record):
    """The declaration of a quantiser.

    Parameters
    ----------
    size : str
        Bytes of a vector of dimension d, as a formula of d and the options.
    queries : str
        The form of the queries that are compared with the stored items, such as ``real-valued``.
    deviations : str, default=""
        How it deviates from its source.
    extra : str or None, default=None
        The extra in ``pyproject.toml`` that it requires.
    """

    kind: ClassVar[str] = "quantiser"
    package: ClassVar[str] = "quantisers"

    size: str
    queries: str
    deviations: str = ""
    extra: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricRecord(Record):
    """The declaration of a metric.

    Parameters
    ----------
    range : tuple of two float
        The smallest and the largest possible value.
    better : {"higher", "lower"}
    empty : str
        When a value is undefined (0/0), and how it then counts.
    ties : str
        How items at equal distance are treated.
    denominator : str
        The number by which the value is divided.
    beyond : str, default=""
        The meaning of a cutoff or radius beyond the data; required if the name contains one.
    relevant : {"", "the nearest", "the K nearest"}, default=""
        The items that the ground truth must define as relevant, by their distance from the query; any if empty.
    defined_on : {"ranking", "radius", "buckets"}, default="ranking"
        What the value depends on: the order of the database, which exists for any ranking; the number of items within
        each Hamming radius; or the buckets of the database. Only metrics of the first kind can be computed for a
        ranking by other scores.
    deviations : str, default=""
        How it deviates from its source.
    synonyms : tuple of str, default=()
        Other names in use, with K and R as in the name itself. They only appear in suggestions after an unknown name.
    needs : {"", "bucket_sizes", "largest_bucket", "index_precisions", "index_top"}, default=""
        The array of the counts that it reads besides the histograms. None of these arrays can be added up over parts
        of a database.
    """

    kind: ClassVar[str] = "metric"
    package: ClassVar[str] = "metrics"

    range: tuple[float, float]
    better: Literal["higher", "lower"]
    undefined: str
    ties: str
    denominator: str
    beyond: str = ""
    relevant: Literal["", "the nearest", "the K nearest"] = ""
    defined_on: Literal["ranking", "radius", "buckets"] = "ranking"
    deviations: str = ""
    synonyms: tuple[str, ...] = ()
    needs: Literal["", "bucket_sizes", "largest_bucket", "index_precisions", "index_top"] = ""


R = TypeVar("R", bound=Record, covariant=True)


class Registry(Generic[R]):
    """The plug-ins of one kind, which are found when they are first requested.

    Attributes
    ----------
    records : dict of str to Record
        The records that have been registered so far, by name.
    """

    def __init__(self, record: type[R]) -> None:
        self.record, self.kind, self.package = record, record.kind, record.package
        self.records: dict[str, Any] = {}
        self._scanned = False

    def entries(self) -> Iterator[R]:
        """Yield the records, sorted by name."""
        self._scan()
        yield from (self.records[name] for name in sorted(self.records))

    def _scan(self) -> None:
        if not self._scanned:
            import_below(importlib.import_module(f"protocol.{self.package}"))
            self._scanned = True
        import_own()

    def _import_named(self, name: str) -> None:
        """Import the file that has the name of a plug-in, if there is one; most plug-ins are found without a scan."""
        if name.isidentifier() and not self._scanned:
            for path in sorted((_PACKAGE / self.package).rglob(f"{name}.py")):
                parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
                if not any(part.startswith("_") for part in parts):
                    importlib.import_module(".".join(parts))
        import_own()

    def names(self) -> list[str]:
        """Return the names, sorted."""
        return [record.name for record in self.entries()]

    def find(self, name: str) -> tuple[R, dict[str, float]]:
        """Return a record and the numbers in the requested name; raises the errors of `get`."""
        if name not in self.records:
            self._import_named(name)
        record = self.records.get(name)
        if record is None or _is_own(record):  # a plug-in of the package may have the name too
            self.check(name)
        return self.records[name], {}

    def check(self, name: str, also: Iterable[str] = ()) -> None:
        """Raise ProtocolError if no plug-in is called `name`; the names in `also` are allowed."""
        known = {*self.names(), *also}
        one_of(name, known, self.kind.replace("_", " "), listing=f"protocol list {self.kind}s")

    def entry(self, name: str) -> R:
        """Return the record of the plug-in called `name`. Raises the errors of `get`."""
        return self.find(name)[0]


def import_below(package: ModuleType) -> None:
    """Import every public module of a package and of its public sub-packages."""
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        if not module.name.startswith("_"):
            imported = importlib.import_module(f"{package.__name__}.{module.name}")
            if module.ispkg:
                import_below(imported)


def import_own() -> None:
    """Import the files with the user's plug-ins. Raises ProtocolError, with the file and line of an error in one."""
    for path in plugin_folders.files():
        module = f"{plugins.__name__}.{path.stem}"
        if getattr(sys.modules.get(module), "__file__", None) == str(path):
            continue
        if (other := plugin_folders.path_of(module)) != path:
            raise ProtocolError(f"{_shown(path)}: another file has this name, {other}. Rename one of them.")
        importlib.invalidate_caches()
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
            line = error.lineno if isinstance(error, SyntaxError) else (lines or [1])[-1]
            problem = error if isinstance(error, ProtocolError) else f"{type(error).__name__}: {error}"
            raise ProtocolError(f"{_shown(path)}: line {line}: {' '.join(str(problem).split())}") from error


def own() -> list[Record]:
    """Return the records of the user's own plug-ins that have been registered."""
    records = (record for kind in REGISTRIES.values() for record in kind.entries())
    return list(filter(_is_own, records))


def _is_own(record: Record) -> bool:
    return record.module.startswith(f"{plugins.__name__}.")


def _shown(path: Path) -> str:
    """Return a path as messages show it: relative to the project or to the working directory, if it is in there."""
    folder = _PACKAGE.parent if path.is_relative_to(_PACKAGE) else Path.cwd()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def _file_of(module: str) -> str:
    """Return the file of a module, or the module's name if it has none."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return _shown(Path(file)) if file else module


class _MetricRegistry(Registry[MetricRecord]):
    """The metrics, whose registered names have placeholders for the numbers in requested names."""

    def find(self, name: str) -> tuple[MetricRecord, dict[str, float]]:
        """Return the record whose name, with numbers in place of K, R and beta, is the requested one."""
        self._scan()
        for registered in sorted(self.records):  # F1@rR before F_beta@rR
            if match := _pattern(registered).fullmatch(name):
                texts = match.groupdict().items()
                numbers = {keyword: int(text) if text.isdigit() else float(text) for keyword, text in texts}
                return self.records[registered], numbers
        if name in self.records:  # a name with placeholders
            return self.records[name], {}
        raise self._unknown(name)

    def _unknown(self, name: str) -> ProtocolError:
        """Return the error for an unknown metric; the suggested names have the number that was requested."""
        known, request = self._with_numbers(name), _comparable(name)
        variants = [metric for key in known if key.startswith(f"{request}[") for metric in known[key]]
        near = variants if variants and request not in known else _near(request, known)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        count = len(self.records)
        return ProtocolError(f"Unknown metric {name!r}.{hint} `protocol list metrics` lists all {count}.")

    def _with_numbers(self, name: str) -> dict[str, list[str]]:
        """Return the metrics by comparable names, with the numbers of a requested name, or those of an example."""
        head, _, tail = name.partition("@")
        number, start = re.search("[0-9]+", tail), _F_BETA.match(head)
        cutoff = number[0] if number and int(number[0]) else "1000"
        radius, beta = number[0] if number else "2", start[1] if start else "2"
        known: dict[str, list[str]] = {}
        for registered, record in self.records.items():
            filled = registered.replace("@K", f"@{cutoff}").replace("@rR", f"@r{radius}").replace("F_beta", f"F{beta}")
            for other in (registered, *record.synonyms):
                known.setdefault(_comparable(other), []).append(filled)
        return known


@functools.cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return the regular expression that matches requests for a registered name, with the numbers as named groups."""
    pattern = re.escape(name)
    for mark, number in _NUMBERS.items():
        pattern = pattern.replace(mark, number)
    return re.compile(pattern)


def _comparable(name: str) -> str:
    """Return a name in lower case, with # for the cutoff or radius, which may be missing or written as ``K=5``.

    An R alone remains, because it is the number of relevant items, as in ``mAP@R``.
    """
    head, mark, tail = name.partition("@")
    head, tail = _F_BETA.sub("F_beta", head), tail.casefold()
    if not re.match(r"r(?=\[|$)", tail):
        tail = re.sub(r"^(r?)(?:k *= *|r *= *|top-?)?(?:[0-9]+|k(?![a-z0-9])|r(?![a-z0-9]))?", r"\1#", tail)
    return f"{head}{mark}{tail if mark else ''}".casefold()


def _near(request: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the metrics of which a comparable name has the cutoff as a radius, lacks the number, or is misspelt."""
    for keys in (
        [request, request.replace("@#", "@r#"), re.sub(r"@r(?=\[|$)", "@r#", request)],
        [f"{request}@#", f"{request}@r#"],
        difflib.get_close_matches(request, known, n=1),
    ):
        if near := [metric for key in keys for metric in known.get(key, ())]:
            return list(dict.fromkeys(near))
    return []


DATASETS, FEATURES, GROUND_TRUTHS = Registry(DatasetRecord), Registry(FeatureRecord), Registry(GroundTruthRecord)
SPLITS, HASHERS, METRICS = Registry(SplitRecord), Registry(HasherRecord), _MetricRegistry(MetricRecord)
QUANTISERS = Registry(QuantiserRecord)
REGISTRIES: dict[str, Registry[Record]] = {
    registry.kind: registry for registry in (DATASETS, FEATURES, GROUND_TRUTHS, SPLITS, HASHERS, QUANTISERS, METRICS)
}
"""The registry of each kind of plug-in."""
PACKAGES = MappingProxyType({kind: registry.package for kind, registry in REGISTRIES.items()})
"""The package of each kind of plug-in."""


def _of(kind: str) -> Registry[Record]:
    return REGISTRIES[one_of(kind, PACKAGES, "kind")]


def entries(kind: str) -> Iterator[Record]:
    """Yield the records of a kind's plug-ins, sorted by name."""
    return _of(kind).entries()


def entry(kind: str, name: str) -> Record:
    """Return the record of the plug-in called `name`. Raises the errors of `get`."""
    return _of(kind).entry(name)


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
    if any(mark in name for mark in _NUMBERS):
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
    if record.printed:
        printed = record.printed.format(**numbers)
    else:
        printed = plugin.partition("[")[0] if record.kind == "metric" else plugin
    if name is None or name == plugin:
        return str(printed)
    return f"{printed} {name.removeprefix(plugin).strip('_').replace('_', ' ')}" if name.startswith(plugin) else name


def code_digest(*starts: str | Path, **plugins: str | Iterable[str]) -> str:
    """Return a digest of scripts, modules and plug-ins, and of all code of this package that they import.

    Parameters
    ----------
    *starts : str or Path
        Scripts and modules, as for `protocol.provenance.sources.digest`.
    **plugins
        For each kind, one name or several; the names of metrics may have numbers or placeholders.

    Raises
    ------
    ProtocolError
        If a module, a kind or a name is unknown. A misspelt name therefore fails before any job starts.

    Examples
    --------
    >>> code_digest("protocol.codes", hasher="lsh", metric=["mAP", "P@5"]) != code_digest("protocol.codes", hasher="sh")
    True
    """
    from protocol.provenance import sources

    pairs = [(kind, name) for kind, given in plugins.items() for name in ([given] if isinstance(given, str) else given)]
    return sources.digest(*starts, *(entry(kind, name).module for kind, name in pairs))
