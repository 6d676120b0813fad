"""Conditions on changes as users write them, such as ``p50:5%`` or ``p50>5%``, and the figures that they may name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from irbench.core.suggestions import did_you_mean
from irbench.options.values import names

Unit: TypeAlias = Literal["ms", "fps", "tokens/s", "bytes", "J", ""]

UNITS: Mapping[str, Unit] = {
    "time": "ms",
    "p50": "ms",
    "p90": "ms",
    "p99": "ms",
    "p99.9": "ms",
    "new_shape": "ms",
    "first_token": "ms",
    "token": "ms",
    "tokens_per_s": "tokens/s",
    "fps": "fps",
    "sustained": "fps",
    "energy": "J",
    "spread": "",
    "max_err": "",
    "ready": "ms",
    "import": "ms",
    "load": "ms",
    "compile": "ms",
    "first_inference": "ms",
    "peak_memory": "bytes",
    "size": "bytes",
}
"""Of each figure that is compared over runs."""

_HIGHER_IS_BETTER = ("fps", "sustained", "tokens_per_s")

_FORM = re.compile(r"\s*([a-z][a-z0-9_.]*)\s*([<>:])\s*([+-]?\d+(?:\.\d+)?)\s*([%a-zA-Z]*)\s*", re.ASCII)
_FACTORS: Mapping[Unit, Mapping[str, float]] = {
    "ms": {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3},
    "bytes": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "fps": {"": 1.0},
    "tokens/s": {"": 1.0},
    "J": {"mJ": 1e-3, "J": 1.0},
    "": {"": 1.0},
}


@dataclass(frozen=True)
class Condition:
    """What must not happen.

    Attributes:
        text: As it was written.
        figure: Which figure.
        increase: Whether an increase beyond the limit meets it, or a decrease.
        limit: The change, a fraction where ``relative``, otherwise in the figure's unit; below 0 for a decrease.
        relative: Whether the limit is a percentage of the older side.
    """

    text: str
    figure: str
    increase: bool
    limit: float
    relative: bool


def conditions(value: str | Iterable[str]) -> tuple[Condition, ...]:
    """Return conditions, each once: of ``"p50>5%,fps<-3%"`` or of a list of them."""
    return tuple(map(read_condition, names(value)))


def read_condition(text: str) -> Condition:
    """Return the condition that a text such as ``p50>5%``, ``fps<-3%`` or ``peak_memory>50MB`` spells.

    ``p50:5%`` and ``fps:3%`` name how much worse a figure may get; a shell reads no redirection in them.

    Raises:
        ValueError: It is not a condition, names no figure or a wrong unit, or is met where nothing changed.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        bare = text.strip() in UNITS
        unquoted = "; a shell takes an unquoted > or < for the name of a file" if bare else ""
        raise ValueError(f"{text!r} is not a condition on a change{unquoted}")
    name, sign, number, unit = match.groups()
    if name not in UNITS:
        near = did_you_mean(name, UNITS)
        raise ValueError(f"there is no figure {name!r} in {text!r}. {near}Figures: {', '.join(UNITS)}")
    if sign == ":":
        return _worse_by(name, number, unit, text)
    limit = float(number) * _factor(name, unit, text)
    if limit < 0 if sign == ">" else limit > 0:
        raise ValueError(f"{text!r} holds where nothing changed: limits of > are above 0, and those of < below 0")
    return Condition(text.strip(), name, sign == ">", limit, unit == "%")


def _worse_by(name: str, number: str, unit: str, text: str) -> Condition:
    """Return the condition that a figure gets worse by more than a limit, which has no sign."""
    if float(number) < 0:
        raise ValueError(f"{text!r} has a sign; write how much worse {name} may get: {name}:{number.lstrip('-')}{unit}")
    rises = name not in _HIGHER_IS_BETTER
    limit = float(number) * _factor(name, unit, text)
    return Condition(text.strip(), name, rises, limit if rises else -limit, unit == "%")


def slower_than(within: float) -> Condition:
    """Return the condition that a time is longer by more than a fraction."""
    return Condition(f"time>{100 * within:g}%", "time", increase=True, limit=within, relative=True)


def _factor(name: str, unit: str, text: str) -> float:
    if unit == "%":
        return 0.01
    known = _FACTORS[UNITS[name]]
    if unit not in known:
        units = ", ".join(["%", *filter(None, known)])
        plain = " or none" if "" in known else ""
        raise ValueError(f"{text!r} has no unit of {name}: {units}{plain}")
    return known[unit]
