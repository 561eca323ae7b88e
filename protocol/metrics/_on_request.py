"""What counting leaves out unless it is asked for."""

from typing import TypeVar

from protocol.checks import ProtocolError

_Array = TypeVar("_Array")


def on_request(array: _Array | None, metric: str, option: str) -> _Array:
    """Return the array that `metric` reads.

    Raises
    ------
    ProtocolError
        If it is None, as the option of counting was off.
    """
    if array is None:
        raise ProtocolError(f"{metric} was not counted: count(..., {option}=True)")
    return array
