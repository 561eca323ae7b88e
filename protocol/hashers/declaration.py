"""The check of a hasher's class at its registration: methods, constructor, options and learned arrays.

Mistakes that only a fit reveals, such as an array of another shape, are errors of `Hasher.fit`.
"""

import dis
import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from protocol.checks import ProtocolError
from protocol.hashers.training_set import SUPERVISION
from protocol.options import Configurable

_OF_FIT = {"fit_record_", "n_features_in_"}
_EXAMPLE = 'learned = {"projection_": ("float32", "d", "n_bits")}'
_FORMS = {"_fit": "the rows are training.X, the labels training.labels"}


def check_declaration(cls: type[Configurable], name: str, classes: Sequence[type]) -> None:
    """Raise ProtocolError if a class is not a hasher that can be registered.

    Parameters
    ----------
    cls : subclass of Hasher
    name : str
        The name of the hasher.
    classes : sequence of type
        The class and its bases up to `Hasher`, without it.

    Raises
    ------
    ProtocolError
        The message has the file and the line of the class, and the right form.
    """
    problem = _of_name(name) or _of_methods(cls) or _of_options(cls) or _of_constructor(cls) or _of_learned(cls)
    if problem := problem or _of_fit(cls, list(map(_attributes, classes))):
        raise ProtocolError(f"hasher {name!r} in {_place(cls)}: {problem}")


def _place(cls: type) -> str:
    try:
        path, (_, line) = Path(inspect.getsourcefile(cls) or ""), inspect.getsourcelines(cls)
    except (OSError, TypeError):  # the class is not in a file
        return f"{cls.__module__}.{cls.__qualname__}"
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{shown}, line {line}"


def _of_name(name: str) -> str:
    if isinstance(name, str) and re.fullmatch("[a-z0-9][a-z0-9_]*", name):
        return ""
    return "a name may contain only lower-case letters, digits and _, and must begin with a letter or a digit."


def _of_methods(cls: type) -> str:
    """Return what is wrong with the methods that a hasher must have, and their parameters."""
    required: dict[str, list[str]] = {}
    for base in reversed(cls.__mro__[1:]):
        for name in getattr(base, "__abstractmethods__", ()):
            if name in vars(base):
                required[name] = list(inspect.signature(vars(base)[name]).parameters)
    for name, parameters in sorted(required.items()):
        parameters = [*parameters, *(["checkpoint"] if name == "_fit" and vars(cls).get("checkpoints") else [])]
        form = f"{name}({', '.join(parameters)})" + (f" ({_FORMS[name]})" if name in _FORMS else "")
        if name in getattr(cls, "__abstractmethods__", ()):
            return f"the method {name} is missing. Write: def {form}."
        own = inspect.signature(getattr(cls, name)).parameters
        further = list(own.values())[len(parameters) :]
        agree = all(one in (other, "_") or one.startswith("_") for one, other in zip(own, parameters, strict=False))
        if len(own) < len(parameters) or not agree or any(one.default is one.empty for one in further):
            return f"the parameters of {name}({', '.join(own)}) are wrong. Write: def {form}."
    return ""


def _of_options(cls: type[Configurable]) -> str:
    """Return what is wrong with the options among the attributes of the class."""
    hints = {name for one in cls.__mro__ for name in inspect.get_annotations(one)}
    inherited = {name for base in cls.__bases__ for name in dir(base)}
    for name, value in vars(cls).items():
        is_option = isinstance(value, int | float | str | None) and not name.startswith("_") and not name.isupper()
        if is_option and name not in hints | inherited:
            kind = "int | None" if value is None else type(value).__name__
            return f"the option {name} has no type. Write: {name}: {kind} = {value!r}."
    for name, parameter in inspect.signature(cls).parameters.items():
        if name in hints and parameter.default is parameter.empty:
            return f"the option {name} has no default. Write a value after its type, such as {name}: float = 1.0."
    return ""


def _of_constructor(cls: type[Configurable]) -> str:
    """Return what is wrong with a constructor that is written out, and with the defaults of the options."""
    form = (
        "Declare options as annotated attributes of the class, such as width: float = 1.0, instead of __init__; the "
        "constructor is made from them."
    )
    parameters = inspect.signature(cls).parameters
    by_keyword = [one for one in list(parameters.values())[1:] if one.kind is not one.KEYWORD_ONLY]
    without = [one for one in parameters.values() if one.default is one.empty]
    if next(iter(parameters), None) != "n_bits" or "seed" not in parameters or by_keyword or without:
        own = ", ".join(map(str, parameters.values()))
        return f"the constructor must be (n_bits=32, *, seed=0) with keyword-only options, not ({own}). {form}"
    try:
        hasher = cls()
        if vars(hasher) != cls.defaults():
            return f"the constructor must only store its arguments under their names. {form}"
        hasher.check_options()
    except ProtocolError as error:
        return f"the default of an option is out of range: {error}"
    except (TypeError, AttributeError) as error:
        return f"the constructor fails: {error}. {form}"
    return ""


def _of_learned(cls: Any) -> str:
    """Return what is wrong with the declaration of the learned arrays."""
    if not isinstance(cls.learned, Mapping) or not cls.learned:
        return f"learned must name the arrays that _fit sets, got {cls.learned!r}. Write: {_EXAMPLE}."
    for name, declared in cls.learned.items():
        if not (isinstance(name, str) and name.isidentifier() and name.endswith("_") and not name.startswith("_")):
            return f"learned: expected the name of an attribute that ends with _, got {name!r}. Write: {_EXAMPLE}."
        is_array = isinstance(declared, tuple) and declared and _is_dtype(declared[0])
        if not is_array or not all(isinstance(length, int | str) for length in declared[1:]):
            return f"learned: {name}: expected (dtype, length, ...), got {declared!r}. Write: {_EXAMPLE}."
    return ""


def _is_dtype(value: Any) -> bool:
    try:
        return np.dtype(value).kind in "biuf"
    except TypeError:
        return False


class _Attributes(NamedTuple):
    """The attributes of `self` that methods set, all attributes that they read, and all names that they call."""

    stored: set[str]
    names: set[str]


def _attributes(cls: type) -> _Attributes:
    stored: set[str] = set()
    names: set[str] = set()
    for function in vars(cls).values():
        if isinstance(function, FunctionType):
            before: Any = None
            for step in dis.get_instructions(inspect.unwrap(function)):
                last = before[-1] if isinstance(before, tuple) and before else before
                if step.opname == "STORE_ATTR" and last == "self":
                    stored.add(step.argval)
                before = step.argval
            names |= set(function.__code__.co_names)
    return _Attributes(stored, names)


def _of_fit(cls: Any, attributes: Sequence[_Attributes]) -> str:
    """Return what is wrong between the attributes that the methods of each class set and read, and the declarations."""
    own, *_ = attributes
    for name in sorted(own.stored - set(cls.learned) - set(cls.defaults()) - _OF_FIT):
        if not name.startswith("_"):
            return (
                f"a method sets self.{name}, which is not declared, so a stored model would lack it. Add it to "
                f"learned, as in {_EXAMPLE}."
            )
    is_dynamic = any("setattr" in one.names for one in attributes)
    for name in cls.learned:
        if not is_dynamic and not any(name in one.stored for one in attributes):
            return f"learned has {name}, but no method sets self.{name}. Write: self.{name} = ... in _fit."
    if cls.supervision is None and (read := sorted(own.names.intersection(SUPERVISION))):
        return f'a method reads {read[0]}, which an unsupervised hasher does not get. Write: supervision = "{read[0]}".'
    return ""
