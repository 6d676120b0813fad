"""Values that have the right type and are nothing that irbench would write."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

OUTSIDE = "/tmp/irbench-structural-fuzz-outside"
"""A path that no test writes: whatever appears there was written by a file."""

INTEGERS = (
    0, 1, -1, 2, 3, 7, 255, 256, 65_536, -(2**31), 2**31 - 1, 2**31, 2**32, -(2**53), 2**53 + 1, -(2**63), 2**63 - 1,
    2**63, 2**64, 10**30,
)  # fmt: skip
FLOATS = (0.0, -0.0, -1.0, 1e-320, 1e-9, 0.5, 1e15, 1.7e308, -1.7e308, float("inf"), float("-inf"), float("nan"))
TEXTS = (
    "", " ", "a" * 300, "a" * 20_000, "x/y", "..", "../escaped", "../../../../../../tmp/x", OUTSIDE, "/etc/passwd",
    "/dev/zero", "/proc/self/mem", "-rf", "--help", "\x00", "a\x00b", "\x1b[31mred\x1b]0;title\x07", "\x9b2J", "\r\n",
    "two\nlines", "[bold]not markup[/bold]", "[/]", "{model}", "%s%n", "$(touch pwned)", "`id`", "=1+1", "+cmd|'/C'!A0",
    "<script>alert(1)</script>", "![x](http://x)", "| a | b |", "\ud800", "\u202egnp.exe", "\u0663", "\ufeff", "☃",
    "ort", "onnx", "ort/fp32", "latest", "NaN", "1e999", "9" * 5000, "0001-01-01T00:00:00+00:00",
    "9999-12-31T23:59:59+00:00", "2026-11-23T00:00:00", "2026-11-23T00:00:00+14:00",
)  # fmt: skip
_LONG = 2_000
_DEEP = 200

T = TypeVar("T")


def hostile(value: Any, chance: random.Random) -> Any:
    """Return another value of the same type of JSON."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice(INTEGERS)
    if isinstance(value, float):
        return chance.choice((*FLOATS, *map(float, INTEGERS)))
    if isinstance(value, str):
        return chance.choice(TEXTS)
    if isinstance(value, list):
        return _list(value, chance)
    if isinstance(value, dict):
        return _dict(value, chance)
    return of_another_type(chance)


def of_another_type(chance: random.Random) -> Any:
    """Return any value of JSON."""
    kind = chance.randrange(8)
    simple = (None, True, chance.choice(INTEGERS), chance.choice(FLOATS), chance.choice(TEXTS), [], {}, _nested(chance))
    return simple[kind]


def is_seldom(chance: random.Random, times: int) -> bool:
    """Return true once in so many times."""
    return chance.randrange(times) == times - 1


def _list(values: Sequence[Any], chance: random.Random) -> list[Any]:
    form = chance.randrange(6)
    if form == 0 or not values:
        return []
    if form == 1:
        return [*values, *values]
    if form == 2:
        return list(reversed(values))
    if form == 3:
        return [chance.choice(values)] * (_LONG if is_seldom(chance, 4) else 9)
    if form == 4:
        return values[:-1]
    return [*values, of_another_type(chance)]


def _dict(values: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    form = chance.randrange(4)
    if form == 0 or not values:
        return {}
    name = chance.choice(sorted(values))
    if form == 1:
        return {key: value for key, value in values.items() if key != name}
    if form == 2:
        return {chance.choice(TEXTS) if key == name else key: value for key, value in values.items()}
    return {**values, chance.choice(TEXTS): values[name]}


def _nested(chance: random.Random) -> Any:
    value: Any = []
    for _ in range(chance.choice((3, _DEEP))):
        value = [value]
    return value
