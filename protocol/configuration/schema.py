"""The keys of a config file: the description, type, bounds and default of each, and the check against them.

Each key is declared once, as a field of a pydantic model. The check, the error, the default and the reference page
(`protocol.configuration.reference`) are all derived from that declaration.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NoReturn

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    Tag,
    ValidationError,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from protocol.checks import ProtocolError, one_of, printable

RESERVED = ("datasets", "downloads", "reference")
"""Folders of ``results/`` that are not the results of an experiment."""
LONGEST_NAME = 80
"""Characters of a user's name; two of them, a metric and an extension fit in the 255 bytes of a file name."""
_SHOWN = 80  # characters of a value in a message
_LONGEST_TEXT = 80  # characters, to fit in a legend or a page title
_LONGEST_CODE = 4096  # bits; embeddings in use have up to 3,072 dimensions


def _integer(value: Any) -> Any:
    """Return the integer that a text represents; the command line may pass numbers as text."""
    return int(value) if isinstance(value, str) and re.fullmatch("-?[0-9]+", value) else value


def _boolean(value: Any) -> Any:
    return value == "true" if value in ("true", "false") else value


def _mapping(value: Any) -> Any:
    """Return an empty mapping for a key without a value, such as ``gist:``."""
    return {} if value is None else value


def _different(values: list[Any]) -> list[Any]:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise PydanticCustomError("repeated", "expected each value once, got {value} twice", {"value": repr(value)})
    return values


def _not_reserved(name: str) -> str:
    if name in RESERVED:
        raise PydanticCustomError(
            "reserved",
            "expected a name other than {names}, whose folders contain other files",
            {"names": ", ".join(RESERVED)},
        )
    return name


def _with_plain_codes(extensions: list[str]) -> list[str]:
    if "none" not in extensions:
        raise PydanticCustomError("none", "expected 'none', the plain codes, among the values")
    return extensions


def _one_mean(steps: list[str]) -> list[str]:
    if {"centre", "grand_mean"} <= set(steps):
        raise PydanticCustomError("means", "expected at most one of 'centre' and 'grand_mean', got both")
    return steps


def _one_line(text: str) -> str:
    if not 0 < len(text) <= _LONGEST_TEXT or text != text.strip() or printable(text) != text or set(text) & set("{}"):
        raise PydanticCustomError("text", "expected a line of text")
    return text


def _form(value: Any) -> str:
    return "mapping" if isinstance(value, Mapping | BaseModel) else "other"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


Positive = Annotated[StrictInt, Field(ge=1), BeforeValidator(_integer)]
Boolean = Annotated[StrictBool, BeforeValidator(_boolean)]
Options = Annotated[dict[StrictStr, Any], BeforeValidator(_mapping)]
OptionsOfPlugins = Annotated[dict[StrictStr, Options], BeforeValidator(_mapping)]
Different = AfterValidator(_different)
_UNIQUE = {"uniqueItems": True}
Steps = Annotated[
    list[Literal["l2", "centre", "grand_mean"]], Different, AfterValidator(_one_mean), Field(json_schema_extra=_UNIQUE)
]
Name = Annotated[StrictStr, Field(json_schema_extra={"expected": "a name", "plural": "names"})]
Text = Annotated[
    StrictStr,
    AfterValidator(_one_line),
    Field(
        json_schema_extra={
            "expected": f"a line of 1 to {_LONGEST_TEXT} characters, without braces",
            "plural": f"lines of 1 to {_LONGEST_TEXT} characters, without braces",
        }
    ),
]
"""Text that figures and pages show. Braces are excluded, because templates treat them as placeholders."""
Texts = Annotated[dict[StrictStr, Text], BeforeValidator(_mapping)]
Names = Annotated[list[Name], Different, Field(min_length=1, json_schema_extra=_UNIQUE)]


class PluginUse(_Model):
    """A plug-in with a name and options of your choice, so that it can be used several times."""

    name: Name | None = Field(
        None, description="Name in the results and elsewhere in this file; by default that of the plug-in."
    )
    use: Name = Field(description="Name of the plug-in.")
    options: Options = Field({}, description="Options of the plug-in; the others keep their defaults.")


Entry = Annotated[
    Annotated[StrictStr, Tag("other")] | Annotated[PluginUse, Tag("mapping")],
    Discriminator(_form),
    Field(json_schema_extra={"expected": "a name or {name: ..., use: ..., options: {...}}", "plural": "names"}),
]
Entries = Annotated[list[Entry], Field(min_length=1)]


class TwoSteps(_Model):
    """The preprocessing steps of each modality."""

    query: Steps = Field(description="Steps of the queries' and the training rows' modality.")
    database: Steps = Field(description="Steps of the database's modality.")


Preprocessing = Annotated[
    Annotated[Steps, Tag("other")] | Annotated[TwoSteps, Tag("mapping")],
    Discriminator(_form),
    Field(
        description=(
            "Steps in order, fitted on the training set alone. l2 scales each vector to length 1, centre subtracts the "
            "mean vector, grand_mean subtracts the mean of all values. If queries and database have different "
            "modalities, {query: [...], database: [...]} lists the steps of each."
        ),
        json_schema_extra={"expected": "a list of 'l2', 'centre' and 'grand_mean', or {query: [...], database: [...]}"},
    ),
]

Runs = Annotated[
    StrictInt,
    Field(ge=1, le=10_000, description="Number of random splits. Run r does not depend on the number of runs."),
    BeforeValidator(_integer),
]
Splits = Annotated[Names, Field(description="Split protocols (`protocol list splits`).")]
GroundTruths = Annotated[
    Entries,
    Field(
        description=(
            "Ground truths, which define the relevant database items of a query (`protocol list ground_truths`): "
            "names, or {name: ..., use: ..., options: {...}}."
        )
    ),
]
Hashers = Annotated[
    Entries, Field(description="Hashers (`protocol list hashers`): names, or {name: ..., use: ..., options: {...}}.")
]
CodeLengths = Annotated[
    list[Annotated[StrictInt, Field(ge=1, le=_LONGEST_CODE), BeforeValidator(_integer)]],
    Different,
    Field(min_length=1, description="Code lengths in bits.", json_schema_extra=_UNIQUE),
]
Extensions = Annotated[
    list[Literal["none", "same", "different"]],
    Different,
    AfterValidator(_with_plain_codes),
    Field(
        description=(
            "The codes to evaluate: none, the plain codes (required), and RAMAP's extensions same and different, which "
            "append redundant bits. Only a study of metrics needs the extensions."
        ),
        json_schema_extra=_UNIQUE,
    ),
]


class FeatureKeys(_Model):
    """The keys of a feature. They take precedence over the same keys of the file."""

    use: Name | None = Field(
        None, description="Name of the feature plug-in (`protocol list features`); by default the key itself."
    )
    options: Options = Field({}, description="Options of the feature.")
    preprocessing: Preprocessing = ["centre"]
    runs: Runs | None = None
    splits: Splits | None = None
    ground_truths: GroundTruths | None = None
    hashers: Hashers | None = None
    n_bits: CodeLengths | None = None
    extensions: Extensions | None = None


class SplitSizes(_Model):
    """Numbers of items in the partitions whose sizes a split protocol leaves open."""

    query: Positive | None = Field(None, description="Test queries.")
    validation_query: Positive | None = Field(
        None, description="Validation queries; only the selection of options (`hasher_grids`) needs them."
    )
    validation_database: Positive | None = Field(
        None, description="Items that are ranked for the validation queries; needed with `validation_query`."
    )
    train: Positive | None = Field(None, description="Training set of the hashers and of the preprocessing.")


class Leak(_Model):
    """The leak study: every run draws queries, items outside, and two databases of the same size and class balance."""

    query_per_class: Positive = Field(description="Test queries of each class.")
    outside_per_class: Positive = Field(
        description=(
            "Items of each class in neither database. The preprocessing and the ground truth's radius are fitted on "
            "them alone."
        )
    )
    train_per_class: Annotated[
        list[Annotated[Literal["all"], Tag("other")] | Annotated[Positive, Tag("number")]], Different
    ] = Field(
        min_length=1,
        description="Sizes of the training set inside a database, in items per class; all is the whole database.",
        json_schema_extra={"expected": "a list of integers >= 1 or 'all'"},
    )
    controls: Names = Field(
        description="The hashers that learn nothing from the training set and must therefore show no leak."
    )


class Selection(_Model):
    """The criterion by which options are selected from `hasher_grids`."""

    ground_truth: Name | None = Field(
        None,
        description="A ground truth of every feature whose hashers have grids; null stands for the first one of each.",
    )
    metric: Name = Field(
        "mAP",
        description="Name of the metric to maximise. Of equally good combinations, the first is selected.",
    )


class FinishedCodesKeys(_Model):
    """Codes that were computed elsewhere, for the queries and databases of the splits of this experiment.

    In the file names, `{split}`, `{run}` and `{n_bits}` stand for the split protocol, the number of the run and the
    code length. A file may have any format that `protocol evaluate` reads. Its rows must be in the order of `query` or
    `database` in `results/<experiment>/splits/<split>/run<run>/splits.h5`
    ([Train on our split](../how-to/train-on-our-split.md)).
    """

    query: StrictStr = Field(description="Files with the codes of the queries, relative to the working directory.")
    database: StrictStr = Field(description="Files with the codes of the database, relative to the working directory.")
    feature: Name | None = Field(
        None, description="The feature whose tables and figures show the codes; by default the first."
    )
    splits: Names | None = Field(
        None, description="The split protocols for which there are codes; by default all those of the feature."
    )
    n_bits: (
        Annotated[
            list[Annotated[StrictInt, Field(ge=1, le=_LONGEST_CODE), BeforeValidator(_integer)]],
            Different,
            Field(min_length=1, json_schema_extra=_UNIQUE),
        ]
        | None
    ) = Field(None, description="The code lengths for which there are codes; by default all those of the feature.")
    bit_order: Literal["little", "big", "big-128"] = Field(
        "little",
        description=(
            "Bit order of packed codes: the first bit of a byte has weight 1 (little) or 128 (big, and big-128, where "
            "128 is subtracted from each byte)."
        ),
    )
    binarize: Literal["sign", "median"] | None = Field(
        None,
        description=(
            "For files of real values: bit j is 1 if value j is above 0 (sign), or above the median of value j over "
            "the database (median)."
        ),
    )


class DisplayNames(_Model):
    """The names that figures, tables and the report show; by default those that papers print, such as PCA-RR."""

    dataset: Text | None = Field(
        None, description="Name of the dataset; for your own data, by default the name of the experiment."
    )
    features: Texts = Field({}, description="Names of features, by their names in this file.")
    ground_truths: Texts = Field({}, description="Names of ground truths, by their names in this file.")
    splits: Texts = Field({}, description="Names of split protocols, by their names in this file.")
    hashers: Texts = Field({}, description="Names of hashers and of `codes`, by their names in this file.")
    metrics: Texts = Field({}, description="Names of metrics, by their names in `metrics`.")


class PaperKeys(_Model):
    """The content of the figures and tables that the target `paper` makes."""

    metrics: Names | None = Field(
        None,
        description="Some of the `metrics`; by default mAP (or else the first metric), and precision@r2 if listed.",
    )
    n_bits: CodeLengths | None = Field(None, description="Some of the code lengths in bits; by default all.")
    features: Names | None = Field(None, description="Some of the `features`; by default the first.")
    ground_truths: Names | None = Field(None, description="Some of the `ground_truths`; by default the first.")
    splits: Names | None = Field(None, description="Some of the `splits`; by default the first.")


class Keys(_Model):
    """The keys of a config file."""

    experiment: Annotated[
        StrictStr,
        Field(
            pattern=f"^[a-z0-9][a-z0-9_-]{{0,{LONGEST_NAME - 1}}}$",
            description="Name of the experiment; its results are written to results/<experiment>/.",
            json_schema_extra={"expected": f"a name of up to {LONGEST_NAME} lower-case letters, digits, _ and -"},
        ),
        AfterValidator(_not_reserved),
    ]
    title: Text | None = Field(None, description="Title of the report; by default it contains the dataset's name.")
    names: Annotated[DisplayNames, BeforeValidator(_mapping)] = Field(
        DisplayNames.model_validate({}),
        description="The names that figures, tables and the report show, such as {hashers: {itq_5: ITQ (5 steps)}}.",
    )
    dataset: Name = Field(description="Name of a dataset (`protocol list datasets`).")
    dataset_options: Options = Field(
        {}, description="Options of the dataset; paths in them are relative to the working directory."
    )
    reproduction: Boolean = Field(
        False,
        description=(
            "Whether the experiment reproduces published results. The report then also has published numbers, the "
            "papers' figures and the papers' claims. It is true in those configurations in workflow/config/ whose "
            "dataset, split or method has published results: CIFAR-10, CIFAR-100, ImageNet-100, NUS-WIDE, LabelMe, "
            "SIFT1M and Wiki."
        ),
    )
    seed: Annotated[StrictInt, Field(ge=0), BeforeValidator(_integer)] = Field(
        0, description="All random numbers are derived from this seed."
    )
    mirror: StrictStr | None = Field(
        None,
        description=(
            "A folder (relative to the working directory) or URL that contains <dataset>/<file>; it is tried before "
            "the official sources."
        ),
    )
    offline: Boolean = Field(
        False, description="Whether to work without the network. A mirror that is a folder is still used."
    )
    mirror_sha256: Annotated[
        dict[
            StrictStr,
            Annotated[
                StrictStr,
                Field(pattern="^[0-9a-f]{64}$", json_schema_extra={"expected": "64 hexadecimal digits"}),
            ],
        ],
        BeforeValidator(_mapping),
    ] = Field(
        {},
        description=(
            "SHA-256 of each file of the mirror that differs from the official one, by file name. Provenance records "
            "and the report name such files."
        ),
    )
    features: dict[StrictStr, Annotated[FeatureKeys, BeforeValidator(_mapping)]] = Field(
        min_length=1, description="The features to extract, by name; each may override keys of the experiment."
    )
    ground_truths: GroundTruths
    splits: Splits
    runs: Runs = 10
    hashers: Hashers
    n_bits: CodeLengths
    extensions: Extensions = ["none"]
    extension_bits: Annotated[list[Positive], Different, Field(json_schema_extra=_UNIQUE)] = Field(
        [1, 8], description="Lengths s of the same- and different-extension codes (RAMAP section 4.1)."
    )
    metrics: Names = Field(
        description=(
            "Names of metrics (`protocol list metrics`) with their K or R, such as mAP@100[all] or precision@r2; or "
            "all: every metric, with K = 1000 and R = 0, 1, 2."
        )
    )
    count_shards: Annotated[StrictInt, Field(ge=1, le=10_000), BeforeValidator(_integer)] = Field(
        1,
        description=(
            "Number of jobs among which the counting for one hasher and run is divided, each for a part of the "
            "database (a shard), if the database is too large for one job. The results are the same. Metrics that do "
            "not add up over shards, such as mLGAP, utilisation and mAP[index], require 1."
        ),
    )
    empty: Literal["zero", "drop"] = Field(
        "zero",
        description="Treatment of undefined values (0/0): zero counts 0, drop leaves the query out of the mean.",
    )
    split_sizes: Annotated[SplitSizes, BeforeValidator(_mapping)] = Field(
        SplitSizes.model_validate({}),
        description="Numbers of items in the partitions whose sizes a split protocol leaves open, such as standard.",
    )
    split_options: OptionsOfPlugins = Field(
        {},
        description=(
            "Options of split protocols, by protocol: for from_lists, the file of each partition, relative to the "
            "working directory."
        ),
    )
    hasher_options: OptionsOfPlugins = Field({}, description="Options of hashers, by their names in this file.")
    hasher_grids: Annotated[
        dict[
            StrictStr,
            Annotated[
                dict[StrictStr, Annotated[list[Any], Different, Field(min_length=1, json_schema_extra=_UNIQUE)]],
                Field(min_length=1),
            ],
        ],
        BeforeValidator(_mapping),
    ] = Field(
        {},
        description=(
            "By hasher, the values of its options. Every combination is tried, and the best is selected on the "
            "validation queries and database, in every run and at every code length."
        ),
    )
    hasher_uses: Annotated[dict[StrictStr, Name], BeforeValidator(_mapping)] = Field(
        {}, description="The hasher of each name; the same as {name: ..., use: ...} in a list of hashers."
    )
    selection: Annotated[Selection, BeforeValidator(_mapping)] = Field(
        Selection.model_validate({}), description="The criterion by which options are selected from hasher_grids."
    )
    ground_truth_options: OptionsOfPlugins = Field(
        {}, description="Options of ground truths, by their names in this file."
    )
    ground_truth_uses: Annotated[dict[StrictStr, Name], BeforeValidator(_mapping)] = Field(
        {}, description="The ground truth of each name; the same as {name: ..., use: ...} in a list of ground truths."
    )
    affinities: Name | None = Field(
        None,
        description=(
            "The ground truth whose levels among training rows supervise hashers that learn from affinities, such as "
            "ksh; by default class_label if the experiment scores by labels, or else graded_distance."
        ),
    )
    codes: Annotated[
        dict[StrictStr, Annotated[FinishedCodesKeys, BeforeValidator(_mapping)]], BeforeValidator(_mapping)
    ] = Field(
        {},
        description=(
            "Codes that were computed elsewhere, by the name of their method. Tables and figures show the methods next "
            "to the hashers."
        ),
    )
    paper: Annotated[PaperKeys, BeforeValidator(_mapping)] = Field(
        PaperKeys.model_validate({}), description="The figures and tables that the target `paper` makes."
    )
    leak: Leak | None = Field(
        None, description="The study of how training on the database affects a hasher's scores (target `leak`)."
    )


def checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with every default, in the order of the fields; keys that may be absent stay absent.

    Raises
    ------
    ProtocolError
        With one line that states the key, the expected values and the value found.
    """
    for key in config:
        if not isinstance(key, str):
            raise ProtocolError(f"config file: expected names as keys, got {shown(key)}.")
        if key == "preprocessing":
            raise ProtocolError(
                "preprocessing: expected below a feature, as features.NAME.preprocessing, got it at the top level."
            )
    try:
        filled = Keys.model_validate(dict(config)).model_dump()
        errors = []
    except ValidationError as error:
        errors = error.errors(include_url=False)
    if errors:
        _refuse(errors)
    for part in (filled["split_sizes"], filled["names"], filled["paper"], *filled["features"].values(), filled):
        optional = [key for key, value in part.items() if value is None and key not in ("mirror", "affinities")]
        for key in optional:
            del part[key]
    return filled


def _refuse(errors: Sequence[ErrorDetails]) -> NoReturn:
    """Raise ProtocolError for one error: unknown keys come first, since they may be misspelt required keys."""
    for error in errors:
        if error["loc"][-1] == "[key]":
            raise ProtocolError(_of_value(error["loc"], error["type"], error["msg"], error["input"]))
    unknown = [error for error in errors if error["type"] == "extra_forbidden"]
    missing = [error for error in errors if error["type"] == "missing"]
    if unknown:
        *place, key = unknown[0]["loc"]
        one_of(str(key), _given(_node(place))["properties"], f"key in {_where(place) or 'the config file'}")
    other = [error for error in errors if error not in missing]
    if other:
        raise ProtocolError(_of_value(other[0]["loc"], other[0]["type"], other[0]["msg"], other[0]["input"]))
    where = missing[0]["loc"][:-1]
    keys = [str(error["loc"][-1]) for error in missing if error["loc"][:-1] == where]
    what = f"the key {keys[0]}" if len(keys) == 1 else f"the keys {', '.join(keys[:-1])} and {keys[-1]}"
    number = "no such key" if len(keys) == 1 else "no such keys"
    raise ProtocolError(f"{_where(where) or 'config file'}: expected {what}, got {number}.")


def _of_value(place: Sequence[int | str], kind: str, message: str, value: Any) -> str:
    where = _where(place)
    if place[-1] == "[key]":
        return f"{_where(place[:-2])}: expected names as keys, got {shown(value)}."
    if kind == "repeated":
        return f"{where}: {message}."
    expected = message.removeprefix("expected ") if kind in ("reserved", "none") else _expected(place)
    if place[0] == "mirror" and isinstance(value, list | dict):  # it may contain credentials
        return f"{where}: expected {expected}, got {type(value).__name__}."
    return f"{where}: expected {expected}, got {shown(value)}."


def _expected(place: Sequence[int | str]) -> str:
    """Return in words which values are allowed at a place, in all forms that they may have."""
    *above, last = place
    return phrase(_given(_node(above if last in ("mapping", "other", "number") else place)), _SCHEMA)


def shown(value: Any) -> str:
    """Return a value as error messages show it: its representation, truncated if it is long."""
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} with too many levels"
    except ValueError:  # Python does not convert integers of more than 4,300 digits
        return f"a {type(value).__name__} that is too long"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]} ..."


def _where(place: Sequence[int | str]) -> str:
    """Return the path of a key, without pydantic's tags for the forms of a value."""
    text = ""
    for part in place:
        if part not in ("mapping", "other", "number", "[key]"):
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


_SCHEMA = Keys.model_json_schema()


def _node(place: Sequence[int | str]) -> dict[str, Any]:
    """Return the JSON schema of the value at a place: that of one form if the place has its tag, else of all forms."""
    node = resolved(_SCHEMA, _SCHEMA)
    for part in place:
        if part in ("mapping", "other"):
            forms = [resolved(form, _SCHEMA) for form in _given(node).get("oneOf", [])]
            node = next((form for form in forms if (form.get("type") == "object") == (part == "mapping")), node)
        elif part in ("number", "[key]"):
            continue
        elif isinstance(part, int):
            node = resolved(_given(node).get("items", {}), _SCHEMA)
        else:
            node = _given(node)
            below = node.get("properties", {}).get(part) or node.get("additionalProperties")
            node = resolved(below if isinstance(below, dict) else {}, _SCHEMA)
    return node


def _given(node: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without the alternative null, if there is one."""
    forms = [form for form in node.get("anyOf", []) if form.get("type") != "null"]
    return resolved(forms[0], _SCHEMA) if len(forms) == 1 else node


def resolved(node: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema with the definition that it refers to filled in."""
    name = node.get("$ref", "").rpartition("/")[2]
    return {**(root["$defs"][name] if name else {}), **node}


def phrase(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, *, plural: bool = False) -> str:
    """Return in words which values a JSON schema allows.

    Examples
    --------
    >>> phrase({"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 512}})
    'a list of integers from 1 to 512'
    """
    root = schema if root is None else root
    node = resolved(schema, root)
    if "expected" in node:
        return str(node.get("plural", node["expected"]) if plural else node["expected"])
    forms = node.get("anyOf") or node.get("oneOf")
    if forms:
        return " or ".join(dict.fromkeys(phrase(form, root, plural=plural) for form in forms))
    values = node.get("enum") or ([node["const"]] if "const" in node else [])
    if values:
        *first, last = map(repr, values)
        return f"{', '.join(first)} or {last}" if first else last
    kind = node.get("type")
    if kind in ("integer", "number"):
        noun = {"integer": ("an integer", "integers"), "number": ("a number", "numbers")}[kind][plural]
        return f"{noun}{_range(node)}"
    if kind == "array":
        fixed = node.get("prefixItems")
        if fixed:
            return f"{'lists' if plural else 'a list'} of {len(fixed)} values"
        noun = "lists" if plural else "a non-empty list" if node.get("minItems") else "a list"
        return f"{noun}{_contents(node.get('items', {}), root)}"
    words = {"string": ("a text", "texts"), "boolean": ("true or false",) * 2, "null": ("null",) * 2}
    words["object"] = ("a non-empty mapping" if node.get("minProperties") else "a mapping", "mappings")
    return words.get(str(kind), ("any value", "values"))[plural]


def _contents(items: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    inside = phrase(items, root, plural=True)
    return "" if inside == "values" else f" of {inside}"


def _range(node: Mapping[str, Any]) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    bounds = {"minimum": ">=", "maximum": "<=", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}
    return "".join(f" {sign} {node[key]}" for key, sign in bounds.items() if key in node)
