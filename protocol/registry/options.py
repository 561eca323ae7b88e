"""Options of plug-ins: annotated class attributes, like fields of a dataclass, whose annotations carry their range."""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np

from protocol.checks import ProtocolError, integer, listed, number, one_of, positive_number, suggesting

Check = Callable[[Any, str], object]
"""A function of a value and its name that raises ProtocolError if the value is out of range."""
Count = Annotated[int, integer]
"""An integer of at least 1."""
Positive = Annotated[float, positive_number]
NotNegative = Annotated[float, number]
_TYPES: dict[Any, tuple[Any, str]] = {
    int: (Integral, "an integer"),
    float: (Real, "a number"),
    bool: (bool | np.bool_, "true or false"),
    str: (str, "a string"),
    NoneType: (NoneType, "None"),
}
"""The types of the values that a plain annotation allows, and these values in words."""


def at_least(minimum: int) -> Check:
    """Return the check of an integer of at least `minimum`, for an annotation."""
    return partial(integer, minimum=minimum)


def choice(*choices: str) -> Check:
    """Return the check of one of some words, for an annotation."""
    return lambda value, name: one_of(value, choices, name)


@dataclass_transform(kw_only_default=True, eq_default=False)
class Configurable:
    """A plug-in whose options are keyword arguments of the constructor, which only stores them.

    The type and range of an option are in its annotation, as in ``centre: bool = True``, ``n_iter: Count = 50`` or
    ``size: Annotated[int, at_least(8)] = 32``. They are checked before the first use, as in scikit-learn: by `fit` of a
    hasher, and by the constructor of a feature or quantiser. With ``Count | None``, None is also allowed. A class with
    an ``__init__``, or with a number or word under a public name in lower case that is neither annotated nor inherited,
    raises ProtocolError.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        hints = inspect.get_annotations(cls)
        if "__init__" in vars(cls):
            instead = "Declare options as annotated class attributes instead, as in `width: float = 1.5`"
            raise ProtocolError(f"{cls.__name__} defines __init__. {instead}; the constructor stores them.")
        values = {name: value for name, value in vars(cls).items() if isinstance(value, int | float | str | None)}
        inherited = {name for base in cls.__mro__[1:] for name in (*vars(base), *inspect.get_annotations(base))}
        unknown = values.keys() - hints.keys() - (inherited - cls.defaults().keys())
        for name in filter(re.compile("[a-z]").match, unknown):
            advice = f"Write `{name}: {type(values[name]).__name__} = {values[name]!r}`, or `_{name}` for a constant"
            raise ProtocolError(f"{cls.__name__}.{name} has no annotation, so it is no option. {advice}.")
        if hints:  # otherwise the constructor is inherited
            dataclass(eq=False, repr=False, kw_only=KW_ONLY not in hints.values())(cls)
            cls.__init__ = suggesting(cls.__init__)  # type: ignore[method-assign]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of each option."""
        return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}

    @property
    def options(self) -> dict[str, Any]:
        """The current values of the constructor's options, by name."""
        return {name: getattr(self, name) for name in self.defaults()}

    def check_options(self) -> None:
        """Raise ProtocolError if an option is not of the type or in the range of its annotation."""
        hints, types = get_type_hints(type(self), include_extras=True), get_type_hints(type(self))
        for name, value in self.options.items():
            parts = (hints[name], *get_args(hints[name]))
            if not (NoneType in parts and value is None):
                for check in (check for part in parts for check in getattr(part, "__metadata__", ())):
                    check(value, name)
                if not fits(value, types[name]):
                    raise ProtocolError(f"{name} must be {words(types[name])}, got {value!r}.")


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of an annotated type, in which a sequence is a list or tuple."""
    if hint in _TYPES:
        return isinstance(value, _TYPES[hint][0]) and (hint is bool or not isinstance(value, bool))
    match get_origin(hint), get_args(hint):
        case (literal, values) if literal is Literal:
            return value in values
        case (union, kinds) if union in (Union, UnionType):
            return any(fits(value, kind) for kind in kinds)
        case (sequence, [kind, *_]) if isinstance(sequence, type) and issubclass(sequence, Sequence):
            return isinstance(value, list | tuple) and all(fits(item, kind) for item in value)
    return True  # a plug-in itself checks other types


def words(hint: Any) -> str:
    """Return in words which values an annotated type allows.

    Examples
    --------
    >>> words(Sequence[int] | int | None), words(Literal["a", "b"])
    ('a list of integers, an integer or None', "'a' or 'b'")
    """
    match get_origin(hint), get_args(hint):
        case (literal, values) if literal is Literal:
            return listed(map(repr, values), "or")
        case (union, kinds) if union in (Union, UnionType):
            return listed(map(words, kinds), "or")
        case (sequence, [kind, *_]) if isinstance(sequence, type) and issubclass(sequence, Sequence):
            return f"a list of {words(kind).split()[-1]}s"
    return _TYPES[hint][1] if hint in _TYPES else "any value"
