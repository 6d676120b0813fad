"""What a plan asks for: cells, the tables that compare them, and curves that end where more gains nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

Settings: TypeAlias = Mapping[str, Any]
"""Values by the key that a plan has for them, in the forms that JSON has; a key without a value has its default."""

Comparable: TypeAlias = Literal[
    "models", "backends", "batch", "threads", "streams", "instances", "precision", "optimize"
]
COMPARABLE: tuple[Comparable, ...] = get_args(Comparable)
"""Keys whose values may be rows of one table."""

USUAL_ROWS: tuple[Comparable, ...] = ("backends", "streams", "instances", "precision", "optimize")
"""Those that are, unless a plan says otherwise."""

AXES = (
    "models",
    "backends",
    "batch",
    "streams",
    "instances",
    "threads",
    "precision",
    "optimize",
    "cpus",
    "io",
    "shape",
    "data",
    "value",
    "set",
    "seed",
)
"""Keys that may have a list of values, in the order in which cells are named and listed."""

_ID_LENGTH = 12
_NOT_OF_THE_CELL = ("note", "deadline", "import")
"""What changes nothing that is measured, and so no id."""
DEFAULTS: Settings = {"streams": 1, "instances": 1, "optimize": "none", "io": "copy", "seed": 0}
"""What a key means that is not there, so that writing it out changes no id."""


@dataclass(frozen=True)
class SweepCell:
    """One setting of a plan: what a row of a table is measured with, or every row where no backend is named.

    Attributes:
        settings: By key; only what the plan sets.
    """

    settings: Settings

    @cached_property
    def id(self) -> str:
        """A digest of its settings: the same in every plan that has the cell, whatever else it has."""
        return digest({key: value for key, value in self.settings.items() if self._counts(key, value)})

    @property
    def label(self) -> str:
        """Its settings on the axes in a few words: ``resnet50 ort batch=8``."""
        return _label({key: self.settings[key] for key in AXES if key in self.settings})

    @staticmethod
    def _counts(key: str, value: Any) -> bool:
        return key not in _NOT_OF_THE_CELL and value is not False and DEFAULTS.get(key) != value


@dataclass(frozen=True)
class CurveStep:
    """The place of a table in a curve over batch sizes.

    Attributes:
        stop_gain: The curve ends where a larger batch adds less than this share of throughput to every row.
    """

    curve: str
    stop_gain: float


@dataclass(frozen=True)
class SweepTable:
    """Cells that are measured side by side.

    Attributes:
        cells: At least one; they differ in the keys of ``compare`` only.
        compare: Keys whose values are rows of the table.
        step: Its place in a curve; ``None`` where it is always measured.
    """

    cells: tuple[SweepCell, ...]
    compare: tuple[str, ...]
    step: CurveStep | None = None

    @cached_property
    def id(self) -> str:
        """A digest of its cells, in whichever order."""
        return digest(sorted(cell.id for cell in self.cells))

    @property
    def shared(self) -> Settings:
        """The settings that all of its cells have."""
        return {key: value for key, value in self.cells[0].settings.items() if key not in self.compare}

    @property
    def label(self) -> str:
        """What tells it from other tables, in a few words."""
        return _label({key: self.shared[key] for key in AXES if key in self.shared})

    @property
    def batch(self) -> int:
        """The batch size of all of its cells; 0 where none is given."""
        return int(self.shared.get("batch", 0))

    def values(self, key: str) -> tuple[Any, ...]:
        """Return the different values that its cells have for a key, in their order; none where it is not set."""
        found = [cell.settings[key] for cell in self.cells if key in cell.settings]
        return tuple({json.dumps(value, sort_keys=True): value for value in found}.values())


@dataclass(frozen=True)
class Expansion:
    """Everything that a plan asks for."""

    tables: tuple[SweepTable, ...]
    seed: int

    @property
    def cells(self) -> tuple[SweepCell, ...]:
        """The cells of all tables."""
        return tuple(cell for table in self.tables for cell in table.cells)


def setting_text(value: Any) -> str:
    """Return the value of a setting as one word: ``length=128`` for a table of them."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={setting_text(inner)}" for name, inner in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(setting_text, value))
    return str(value)


def digest(value: Any) -> str:
    """Return the first digits of the SHA-256 of a value's JSON; equal values have equal digests."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_LENGTH]


def _label(settings: Settings) -> str:
    plain = ("models", "backends")
    words = (setting_text(value) if key in plain else f"{key}={setting_text(value)}" for key, value in settings.items())
    return " ".join(words)
