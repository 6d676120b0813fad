"""Option types that several commands share, each refusing what it cannot read with the form it takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

import click

__all__ = ["COUNTS", "CPUS", "DURATION", "NAMES", "PERCENT", "SETTING", "SHAPE", "THREADS", "Parsed"]

T = TypeVar("T")


class Parsed(click.ParamType[T], Generic[T]):
    """An option whose text a function reads.

    Args:
        form: What the help shows for it, and what a refusal says it takes.
        read: Returns the value; raises ``ValueError`` for any other text.
    """

    def __init__(self, form: str, read: Callable[[str], T]) -> None:
        self.name = form
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of what was typed; a default that is a value already stays as it is."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError:
            self.fail(f"{value!r} is not of the form {self.name}.", param, ctx)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    if not all(names):
        raise ValueError(text)
    return tuple(dict.fromkeys(names))


def _counts(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_count(part) for part in _names(text)))


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError(text)
    return count


def _threads(text: str) -> int | Literal["native"]:
    return "native" if text == "native" else _count(text)


def _duration_s(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|d)?", text.strip())
    if match is None:
        raise ValueError(text)
    seconds = float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2] or "s"]
    if seconds <= 0:
        raise ValueError(text)
    return seconds


def _fraction(text: str) -> float:
    number = float(text.strip().rstrip("%")) / 100
    if not 0 < number < 1 or not text.strip().endswith("%"):
        raise ValueError(text)
    return number


def _cpus(text: str) -> tuple[int, ...]:
    from irbench.host import parse_cpu_list

    return parse_cpu_list(text)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, sizes = text.rpartition("=")
    if not name or not equals:
        raise ValueError(text)
    return name, tuple(_count(size) for size in sizes.split("x"))


def _setting(text: str) -> tuple[str, str, str]:
    address, equals, value = text.partition("=")
    backend, dot, key = address.partition(".")
    if not (equals and dot and backend and key):
        raise ValueError(text)
    return backend, key, value


NAMES = Parsed("a,b", _names)
COUNTS = Parsed("1,8", _counts)
THREADS = Parsed("N|native", _threads)
DURATION = Parsed("90s|5m", _duration_s)
PERCENT = Parsed("1%", _fraction)
CPUS = Parsed("0-3,8", _cpus)
SHAPE = Parsed("name=1x128", _shape)
SETTING = Parsed("backend.KEY=VALUE", _setting)
