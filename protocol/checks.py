"""Checks of arguments and options: each error names the argument, states the problem and shows the value."""

import difflib
import functools
import importlib
import inspect
import math
import numbers
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_FEW = 10  # an error message lists at most this many allowed values
_EXTRAS = {
    "faiss": ["faiss"],
    "fast": ["numba"],
    "hdf5": ["h5py"],
    "learned": ["torch"],
    "pipeline": ["cv2", "jsonschema", "pooch", "sklearn", "threadpoolctl", "tqdm"],
    "report": ["altair", "jinja2", "pandas", "vl_convert", "yaml"],
    "scipy": ["scipy"],
}
"""The optional modules that each extra of this package installs, in the smallest extra; a test compares this with
``pyproject.toml``."""


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u061c\u200e\u200f\u2066-\u2069\ud800-\udfff]")
"""Control characters, including those that reorder text, and the surrogates that represent undecodable bytes."""

_LONG_WORD = re.compile(r"\S{301,}")


def counted(n: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless the count is 1.

    Examples
    --------
    >>> counted(1, "run"), counted(1797, "item"), counted(2, "query"), counted(10, "class")
    ('1 run', '1,797 items', '2 queries', '10 classes')
    """
    return f"{n:,} {noun if n == 1 else re.sub('s$', 'se', re.sub('(?<![aeo])y$', 'ie', noun)) + 's'}"


def listed(words: Iterable[str], conjunction: str = "and") -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b"], "or")
    ('a', 'a, b and c', 'a or b')
    """
    *first, last = [*words] or [""]
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def abridged(names: Iterable[Any], most: int = 5) -> str:
    """Return names as one line of text: only the first ones if there are many, "none" if there are none.

    Examples
    --------
    >>> abridged(range(7)), abridged(["cat"]), abridged([])
    ('0, 1, 2, 3, 4 and 2 more', 'cat', 'none')
    """
    words = [word if word.isprintable() else ascii(word) for word in map(str, names)]
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more or "none"


def rounded(score: float) -> str:
    """Return a score as text: four decimals, or three significant digits if it is tiny.

    Examples
    --------
    >>> rounded(0.61234), rounded(0.00001234), rounded(float("nan")), rounded(0.0)
    ('0.6123', '1.23e-05', 'undefined', '0.0000')
    """
    if math.isnan(score):
        return "undefined"
    return f"{score:.3g}" if 0 < abs(score) < 0.001 else f"{score:.4f}"


def printable(text: str, *, keep: str = "") -> str:
    r"""Return text with control characters escaped, because names in a file may contain terminal control sequences.

    Parameters
    ----------
    text : str
    keep : str, default=""
        Control characters that are not escaped, such as a newline.

    Examples
    --------
    >>> printable("a\x1b[31mb\n")
    'a\\x1b[31mb\\n'
    """

    def escape(character: re.Match[str]) -> str:
        return character[0] if character[0] in keep else character[0].encode("unicode_escape").decode("ascii")

    return _CONTROL.sub(escape, text)


def brief(text: str) -> str:
    """Return text in which words of more than 300 characters, such as paths, are cut in the middle.

    Examples
    --------
    >>> brief(f"{'a' * 5000}.npy: no such file.")[-30:]
    'aaaaaaaaaaa.npy: no such file.'
    """
    return _LONG_WORD.sub(lambda word: f"{word[0][:150]}...{word[0][-100:]}", text)


class ProtocolError(ValueError):
    """An error in the input. Its message is one line on which a user can act, without control characters."""

    def __init__(self, message: str) -> None:
        super().__init__(brief(printable(message)))


def need(module: str, extra: str) -> Any:
    """Import a module of an optional dependency and return it.

    Parameters
    ----------
    module : str
        Its dotted name, as in ``"scipy.stats"``.
    extra : str
        The extra of this package that installs it.

    Raises
    ------
    ProtocolError
        If it is not installed. The message includes the command that installs the extra.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        raise not_installed(top, extra) from error


def missing_extra(error: ModuleNotFoundError) -> ProtocolError | None:
    """Return the error that `need` raises for a failed import; None if no extra of this package installs the module."""
    top = (error.name or "").partition(".")[0]
    return next((not_installed(top, extra) for extra, modules in _EXTRAS.items() if top in modules), None)


def not_installed(package: str, extra: str) -> ProtocolError:
    """Return the error for a missing package, with the command that installs the extra that contains it."""
    return ProtocolError(f"{package} is not installed. {install_hint(extra)}")


@functools.cache
def warn_once(message: str) -> None:
    """Warn of a slower path, once per process; the filters of `warnings` would allow the message repeatedly."""
    warnings.warn(message, stacklevel=3)


def install_hint(extra: str) -> str:
    """Return how to install an extra: in the checkout, or else by name, to which pip adds what the wheel lacks."""
    if Path(__file__).with_name("pipeline").is_dir():  # only a wheel has it
        return f"Add the extra {extra} to the installed package: pip install 'hashing-protocol[{extra}]'"
    return f"Install it in a checkout of this project: pip install '.[{extra}]'"


def integer(value: Any, name: str, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return `value` as an int if it is an integer from `minimum` to `maximum`.

    Raises
    ------
    ProtocolError
        If it is anything else, including a bool.
    """
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or value < minimum or (maximum is not None and value > maximum):
        allowed = f">= {minimum:,}" if maximum is None else f"from {minimum:,} to {maximum:,}"
        raise ProtocolError(f"{name} must be an integer {allowed}, got {value!r}.")
    return int(value)


def number(value: Any, name: str, *, maximum: float = math.inf, is_positive: bool = False) -> float:
    """Return `value` as a float if it is a finite number from zero to `maximum`, or above zero if it `is_positive`.

    Raises
    ------
    ProtocolError
        If it is anything else, including a bool.
    """
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_real or not 0 <= value <= maximum or value == math.inf or (is_positive and value == 0):
        allowed = f"from 0 to {maximum:g}" if maximum < math.inf else "> 0" if is_positive else ">= 0"
        raise ProtocolError(f"{name} must be a finite number {allowed}, got {value!r}.")
    return float(value)


def positive_number(value: Any, name: str) -> float:
    """Return `value` as a float if it is a finite number above zero; raise the errors of `number`."""
    return number(value, name, is_positive=True)


def as_options(message: str, form: str) -> str:
    """Return a message with arguments of `hp.Codes` in the form of a caller that takes them otherwise.

    Examples
    --------
    >>> as_options('pass hp.Codes(..., binarize="sign").', "{}: {}")
    'pass binarize: "sign".'
    """
    return re.sub(r"hp\.Codes\(\.\.\., (\w+)=([^)]+)\)", lambda mark: form.format(*mark.groups()), message)


def suggesting(function: Callable[P, R], *, parts: Iterable[Callable[..., Any]] = ()) -> Callable[P, R]:
    """Return a function, or a constructor, whose TypeError for a wrong call suggests the argument that was meant.

    `parts` are those whose results are its arguments; the message names the one that has the argument.
    """
    kinds = {name: one.kind for name, one in inspect.signature(function).parameters.items() if name != "self"}
    by_name = [name for name, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY]
    by_place, is_method = len(kinds) - len(by_name), "self" in inspect.signature(function).parameters
    called = f"{function.__qualname__.removesuffix('.__init__')}()"

    @functools.wraps(function)
    def checked(*values: P.args, **named: P.kwargs) -> R:
        for name in named:
            if name not in kinds:
                owners = [one.__name__ for one in parts if name in inspect.signature(one).parameters]
                hint = f" Pass hp.{owners[0]}(..., {name}=...)." if owners else _suggestion(name, kinds)
                raise TypeError(f"{called} has no argument {name!r}.{hint}")
        if len(values) - is_method > by_place:
            others = ", ".join(f"{name}=..." for name in by_name[:2])
            raise TypeError(f"{called} takes {counted(by_place, 'argument')} without a name. Name others: {others}.")
        return function(*values, **named)

    return checked


def one_of(value: Any, choices: Iterable[str], name: str, *, listing: str = "") -> Any:
    """Return `value` if it is one of `choices`.

    Parameters
    ----------
    value : str
    choices : iterable of str
        The allowed values; the message has those of a list in its order, and others in that of the alphabet.
    name : str
        The option, such as "distance"; or the kind of name and its place, such as "key in the config file". Both may
        follow the name of a file and a colon.
    listing : str, default=""
        The command that prints all choices of a kind of name, or two as in "a` and `b". The message names it if there
        are many choices.

    Raises
    ------
    ProtocolError
        If it is not. The message lists the allowed values if there are few, and suggests the closest one, ignoring
        case.
    """
    allowed = list(choices) if isinstance(choices, list) else sorted(choices)
    if value in allowed:
        return value
    hint = _suggestion(str(value), allowed) * (value is not None)
    named = listed(map(repr, allowed) if ", " in "\n".join(allowed) else allowed, "or")
    where, colon, kind = name.rpartition(": ")
    kind, owner = re.split("(?= (?:of|in) )|$", kind, maxsplit=1)
    is_long = len(allowed) > _FEW
    if named and not any((listing, owner, is_long)):
        raise ProtocolError(f"{name} must be {named}, got {value!r}.{hint}")
    unknown = f"{where}{colon}{'unknown' if colon else 'Unknown'} {kind} {value!r}{owner}"
    lists = f" `{listing}` list{'s' * ('`' not in listing)} all {len(allowed)}." * bool(listing)
    if is_long and hint + lists:
        raise ProtocolError(f"{unknown}.{hint}{lists}")
    raise ProtocolError(f"{unknown}: {f'choose {named}' if named else 'there are none'}.{hint}")


def close(value: str, allowed: Iterable[str]) -> list[str]:
    """Return the allowed value that is closest to another one, ignoring case, in a list; [] if none is close.

    Examples
    --------
    >>> close("PCA", ["itq", "pcah"]), close("x", ["itq"])
    (['pcah'], [])
    """
    by_case = {choice.casefold(): choice for choice in allowed}
    return [by_case[near] for near in difflib.get_close_matches(value.casefold(), by_case, n=1)]


def _suggestion(value: str, allowed: Iterable[str]) -> str:
    """Return a question with the closest allowed value, or nothing if none is close."""
    return "".join(f" Did you mean {near!r}?" for near in close(value, allowed))
