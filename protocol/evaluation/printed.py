"""Results that are printed: paragraphs and tables as text, and JSON."""

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from protocol.checks import printable
from protocol.scores.tables import Table, filled, html


class Shown(ABC):
    """A result that is printed as paragraphs and tables; a notebook shows the tables as HTML."""

    @abstractmethod
    def parts(self) -> list[str | Table]:
        """Return the paragraphs and tables, from top to bottom."""

    def __repr__(self) -> str:
        parts = self.parts()
        texts = ["\n".join(map(filled, one.split("\n"))) if isinstance(one, str) else one.text() for one in parts]
        return printable("\n\n".join(texts), keep="\n")

    def _repr_html_(self) -> str | None:
        return html(self.parts())


class Printed(Shown):
    """A result that is printed as paragraphs and tables, and written as JSON."""

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""

    def to_json(self) -> str:
        """Return the result as JSON, the text that ``--json`` writes."""
        return json_text(self.content())


def json_text(content: Any) -> str:
    r"""Return a record as JSON, in which NaN becomes null.

    Examples
    --------
    >>> print(json_text({"mAP": float("nan"), 10: (1, 2)}).replace("\n", ""))
    {  "mAP": null,  "10": [    1,    2  ]}
    """
    return json.dumps(_plain(content), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a record of dataclasses, named tuples and arrays as dictionaries, lists and values of JSON."""
    if dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    elif isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(_plain, value))
    return None if isinstance(value, float) and math.isnan(value) else value


def with_range(expected: float, worst: float, best: float) -> list[str]:
    """Return the cells of an expected value, and of its range over the orders of ties if that is visible."""
    cells = [f"{value:.4f}" for value in (expected, worst, best)]
    return [cells[0], "" if len(set(cells)) == 1 else f"{cells[1]} to {cells[2]}"]
