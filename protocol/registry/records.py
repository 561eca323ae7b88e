"""The records that declare plug-ins, one type for each kind; each is also the decorator that registers a plug-in."""

import functools
import inspect
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from protocol.checks import ProtocolError, suggesting
from protocol.registry.folders import shown

Plugin = TypeVar("Plugin")
RECORDS: dict[str, dict[str, Any]] = defaultdict(dict)
"""The records that have been registered so far, by kind and name."""
_TABLES = "records.toml"


@dataclass(frozen=True, eq=False)
class Record:
    """The declaration of a plug-in, and the decorator that registers it.

    Parameters
    ----------
    name : str, default=""
        The name that config files, commands and results use; the default is that of the plug-in's file.
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

    name: str = ""
    _: KW_ONLY
    source: str
    summary: str = ""
    printed: str = ""
    module: str = ""
    plugin: Any = field(default=None, init=False)

    def __init_subclass__(cls, *, kind: str, package: str = "") -> None:
        cls.kind, cls.package = kind, package or f"{kind}s"

    def __call__(self, plugin: Plugin) -> Plugin:
        """Register a plug-in, and return it unchanged."""
        record = self.describing(plugin)
        first, file = (_file_of(one.module) for one in (RECORDS[self.kind].setdefault(record.name, record), record))
        if first != file:
            problem = f"two plug-ins have this name, in {first} and in {file}. Give yours another name."
            raise ProtocolError(f"{self.kind} {record.name!r}: {problem}")
        RECORDS[self.kind][record.name] = record
        return plugin

    @classmethod
    def declared(cls, plugin: Plugin, **functions: Any) -> Plugin:
        """Register a plug-in of this package whose record is a table in ``records.toml``, and functions.

        The file is in the package of the kind, and the table has the name of the plug-in's file. It is part of the
        digests of code of this plug-in alone.

        Raises
        ------
        ProtocolError
            If there is no such table.
        """
        name = plugin.__module__.rpartition(".")[2]
        if name not in (declared := tables(cls.package)):
            raise ProtocolError(f"{cls.kind} {name!r}: protocol/{cls.package}/{_TABLES} has no table {name!r}.")
        return cls(**declared[name], **functions)(plugin)

    @classmethod
    def declared_with(cls, **functions: Any) -> Callable[[Plugin], Plugin]:
        """Return the decorator `declared` for a plug-in whose record has functions."""
        return functools.partial(cls.declared, **functions)

    @property
    def table(self) -> dict[str, Any]:
        """The table in ``records.toml``; {} if there is none."""
        return tables(self.package).get(self.name, {})

    def describing(self, plugin: Any) -> Self:
        """Return a copy of the record that belongs to a plug-in; nothing is registered."""
        module = self.module or (plugin.__module__ if inspect.isclass(plugin) or inspect.isfunction(plugin) else "")
        if not module:
            problem = "a plug-in that is neither a class nor a function needs module=__name__ in its record."
            raise ProtocolError(f"{self.kind} {self.name!r}: {problem}")
        summary = self.summary or (inspect.getdoc(plugin) or "").split("\n")[0]
        described = replace(self, name=self.name or module.rpartition(".")[2], summary=summary, module=module)
        object.__setattr__(described, "plugin", plugin)
        return described


@dataclass(frozen=True)
class File:
    """A file to download.

    Parameters
    ----------
    name : str
        The official file name, and the key of the file in the loader's `paths`.
    urls : tuple of str, default=()
        Addresses (http, https or ftp), in the order in which they are tried; () for a file that may not be
        redistributed and must be put into the mirror by hand.
    sha256 : str or None, default=None
        Official checksum, 64 hexadecimal digits; None if there is none.
    size : int or None, default=None
        Size in bytes; None if it is not known.
    by_hand : str, default=""
        How to get the file by hand, if opening one of `urls` is not enough.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    size: int | None = None
    by_hand: str = ""


@dataclass(frozen=True, eq=False)
class DatasetRecord(Record, kind="dataset"):
    """The declaration of a dataset.

    Parameters
    ----------
    files : tuple of protocol.datasets.File, or of mappings with its fields, default=()
        The files to fetch.
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

    files: tuple[Any, ...] = field(default=(), kw_only=True)
    statistics: Mapping[str, Any] | Callable[..., Mapping[str, Any]] = field(kw_only=True)
    user_files: tuple[str, ...] = field(default=(), kw_only=True)
    user_folders: tuple[str, ...] = field(default=(), kw_only=True)
    required: tuple[str, ...] = field(default=(), kw_only=True)
    streamed: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        files = tuple(File(**file) if isinstance(file, Mapping) else file for file in self.files)
        object.__setattr__(self, "files", files)

    def __call__(self, plugin: Plugin) -> Plugin:
        """Register a loader, and return it with a check of its call: ProtocolError if a file or option is missing."""
        load: Any = suggesting(plugin)  # type: ignore[arg-type]
        called = self.describing(plugin).name

        @functools.wraps(load)
        def checked(paths: Mapping[str, Any] | None = None, **options: Any) -> Any:
            paths = paths if isinstance(paths, Mapping) else {}
            files = ", ".join(f"{file.name!r}: PATH" for file in self.files if file.name not in paths)
            missing = [f"paths={{{files}}}"] * bool(files)
            missing += [f"{name}=PATH" for name in self.required if not options.get(name)]
            if missing:
                more = f"`protocol list datasets {called}` describes its files and options."
                raise ProtocolError(f"dataset {called!r} needs {' and '.join(missing)}. {more}")
            return load(paths, **options)

        return super().__call__(checked)  # type: ignore[return-value]


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureRecord(Record, kind="feature"):
    """The declaration of a feature, including how it deviates from its source."""

    deviations: str


@dataclass(frozen=True, eq=False, kw_only=True)
class GroundTruthRecord(Record, kind="ground_truth", package="truth"):
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

    deviations: str = ""
    across_modalities: bool = False
    needs_labels: bool = False
    check: Callable[..., None] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitRecord(Record, kind="split"):
    """The declaration of a split protocol; the summary is required, because a protocol object has no docstring.

    Parameters
    ----------
    deviations : str, default=""
        How it deviates from its source.
    """

    summary: str = field()
    deviations: str = ""

    @property
    def table(self) -> dict[str, Any]:
        """The table in ``records.toml``, with that of its base; {} if there is none."""
        own = super().table
        return own | {"base": RECORDS["split"][own["base"]].table} if "base" in own else own


@dataclass(frozen=True, eq=False, kw_only=True)
class HasherRecord(Record, kind="hasher"):
    """The declaration of a hasher.

    Parameters
    ----------
    deviations : str
        How it deviates from its source.
    bits_within_features : bool, default=False
        Whether the code length is limited by the number of features.
    random : bool, default=True
        Whether the learned hash function depends on the seed.
    extra : str or None, default=None
        The extra in ``pyproject.toml`` that it requires.
    """

    deviations: str
    bits_within_features: bool = False
    random: bool = True
    extra: str | None = None

    def __call__(self, plugin: Plugin) -> Plugin:
        """Register a hasher whose constructor, methods and learned arrays are declared correctly."""
        hasher: Any = plugin
        hasher().check_options()  # raises if it is no hasher, lacks a method or has a wrong default
        if not hasher.learned:
            name = self.describing(plugin).name
            raise ProtocolError(f"hasher {name!r}: `learned` must name the arrays that _fit sets.")
        return super().__call__(plugin)


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkRecord(HasherRecord, kind="hasher"):
    """The declaration of a hasher that requires PyTorch."""

    extra: str | None = "learned"


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantiserRecord(Record, kind="quantiser"):
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

    size: str
    queries: str
    deviations: str = ""
    extra: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricRecord(Record, kind="metric"):
    """The declaration of a metric.

    Parameters
    ----------
    range : tuple of two float
        The smallest and the largest possible value.
    better : {"higher", "lower"}
    undefined : str
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
    needs : {"", "bucket_sizes", "largest_bucket", "index_precisions", "index_top", "index_discounts"}, default=""
        The array of the counts that it reads besides the histograms. None of these arrays can be added up over parts
        of a database.
    """

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
    needs: Literal["", "bucket_sizes", "largest_bucket", "index_precisions", "index_top", "index_discounts"] = ""

    @property
    def table(self) -> dict[str, Any]:
        """{}: the table of metrics has another form, and is part of the digest of every metric."""
        return {}


@functools.cache
def tables(package: str) -> dict[str, dict[str, Any]]:
    """Return the records of a package by name, with the texts of its table ``common`` in place of their names.

    Lists are tuples.
    """
    path = Path(__file__).parents[1] / package / _TABLES
    by_name = read_toml(path) if path.exists() else {}
    texts = by_name.pop("common", {})
    return {name: _frozen(facts, lambda text: text.format(**texts)) for name, facts in by_name.items()}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file with tuples in place of lists."""
    return dict(_frozen(tomllib.loads(path.read_text("utf-8")), str))


def _frozen(value: Any, text: Callable[[str], str]) -> Any:
    """Return a value with tuples in place of lists, and each text as a function returns it."""
    match value:
        case str():
            return text(value)
        case dict():
            return {key: _frozen(part, text) for key, part in value.items()}
        case list() | tuple():
            return tuple(_frozen(part, text) for part in value)
    return value


def _file_of(module: str) -> str:
    """Return the file of a module, or the module's name if it has none."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return shown(Path(file)) if file else module
