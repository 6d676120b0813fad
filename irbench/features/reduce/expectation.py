"""What a reduced graph must still show, and how users write it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

USUAL_FACTOR = 1.2
"""By how many times a backend is slower where no number is given."""


@dataclass(frozen=True)
class SlowerThan:
    """One backend is slower than another.

    Attributes:
        slow: The slower backend, as users name it.
        fast: The faster one.
        factor: How many times the time of the faster one it takes at least; above 1.
    """

    slow: str
    fast: str
    factor: float = USUAL_FACTOR

    @property
    def backends(self) -> tuple[str, ...]:
        """The backends that take part, the slower one first."""
        return (self.slow, self.fast)


@dataclass(frozen=True)
class _OneBackend:
    backend: str

    @property
    def backends(self) -> tuple[str, ...]:
        """The backend, as users name it."""
        return (self.backend,)


class WrongAnswers(_OneBackend):
    """A backend answers, but not what the reference answers."""


class Failing(_OneBackend):
    """A backend refuses the graph, raises an error, crashes or gives no answer."""


Expectation: TypeAlias = SlowerThan | WrongAnswers | Failing

_BACKEND = r"(?P<{}>[A-Za-z][\w-]*(?::[\w.-]+)?)"
_FACTOR = r"(?:at least\s+)?(?P<{}>\d+(?:\.\d+)?|\.\d+)\s*(?P<{}>x|times|%|percent)"
_SPEED = re.compile(
    rf"{_BACKEND.format('one')}\s+(?:is\s+)?(?:{_FACTOR.format('before', 'unit_before')}\s+)?"
    rf"(?P<how>slower|faster)\s+than\s+{_BACKEND.format('other')}"
    rf"(?:\s+by\s+{_FACTOR.format('after', 'unit_after')})?",
    re.IGNORECASE,
)
_WRONG = re.compile(rf"{_BACKEND.format('one')}\s+(?:is\s+wrong|wrong|answers\s+wrongly)", re.IGNORECASE)
_FAILING = re.compile(rf"{_BACKEND.format('one')}\s+(?:is\s+failing|fails|crashes)", re.IGNORECASE)


def parse_expectation(text: str) -> Expectation:
    """Return what a sentence says: ``ort slower than openvino by 1.5x``, ``openvino wrong`` or ``ort fails``.

    ``ort 1.5x slower than openvino``, ``openvino faster than ort by 1.5x`` and ``ort slower than openvino by 50%`` are
    the same as the first one.

    Raises:
        ValueError: It is not such a sentence, names one backend twice, or the number is not above 1x.
    """
    text = " ".join(text.split())
    speed = _SPEED.fullmatch(text)
    if speed is not None:
        return _slower_than(speed)
    for pattern, kind in ((_WRONG, WrongAnswers), (_FAILING, Failing)):
        match = pattern.fullmatch(text)
        if match is not None:
            return kind(match["one"])
    raise ValueError(f"{text!r} does not say what to expect")


def _slower_than(match: re.Match[str]) -> SlowerThan:
    if match["before"] and match["after"]:
        raise ValueError(f"{match[0]!r} has two numbers")
    slow, fast = (match["one"], match["other"]) if match["how"].lower() == "slower" else (match["other"], match["one"])
    if slow == fast:
        raise ValueError(f"{slow} cannot be slower than itself")
    number, unit = match["before"] or match["after"], match["unit_before"] or match["unit_after"]
    factor = USUAL_FACTOR if number is None else _factor(float(number), unit.lower())
    if factor <= 1:
        raise ValueError(f"{number}{unit} is not a difference: a number above 1x is needed")
    return SlowerThan(slow, fast, factor)


def _factor(number: float, unit: str) -> float:
    return 1 + number / 100 if unit in ("%", "percent") else number
