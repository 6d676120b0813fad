"""Reading what a user gave, as text or as a value of Python's, into the one form that irbench works with.

Every function raises ``ValueError`` or ``TypeError`` with what is wrong; who calls it knows the name of the option.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import product
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar, Union, get_args

from irbench.errors import IrbenchError
from irbench.spec import Number, WarmUpLength
from irbench.spec.feeding import number_of_text
from irbench.spec.serving import ServiceLevel

T = TypeVar("T")
Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
Sweep: TypeAlias = tuple[str, tuple[tuple[int, ...], ...]]
"""An input or dynamic dimension, and its shapes; an empty name is the first input with dynamic dimensions."""
Settings: TypeAlias = Mapping[str, Mapping[str, str]]
Constants: TypeAlias = Mapping[str, tuple[Number, ...]]
Feedback: TypeAlias = Mapping[str, str]
ListingForm: TypeAlias = Literal["table", "json"]
ReportForm: TypeAlias = Literal["table", "json", "md"]
ReportWithRowsForm: TypeAlias = Literal["table", "json", "csv", "md"]
"""What ``--format`` and ``to_text`` write: a table for people, and forms for programs."""
ChartForm: TypeAlias = Literal["vega", "svg", "png", "pdf"]
PageForm: TypeAlias = Literal["html", ChartForm]
PAGE_FORMS: tuple[PageForm, ...] = get_args(PageForm)
"""A page, and a file for each chart."""

_NUMBER_OF_NO_PROCESSOR = re.compile(r"\d{6,}")
_LONGEST_S = 10_000 * 86400
_UNITS_S = {"ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SHORTEST_PACE_S, _LONGEST_PACE_S = 1e-4, 60.0
_LOWEST_RATE, _HIGHEST_RATE = 0.01, 100_000
_SHORTEST_STEP_S, _LONGEST_STEP_S = 0.01, 60.0
"""perf reads counters at most every 10 ms."""
_LARGEST_COUNT = 999_999_999
_LARGEST_CPU = 99_999


def flag(value: bool) -> bool:
    """Return ``True`` or ``False``, and take nothing else for them: ``"no"`` is true to Python."""
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither True nor False")
    return value


def text(value: str) -> str:
    """Return a text as it is."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def texts(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return texts as they are: one, or several."""
    return tuple(map(text, [value] if isinstance(value, str) else value))


def pair(value: Iterable[str]) -> tuple[str, str]:
    """Return two texts."""
    texts = () if isinstance(value, str) else tuple(map(text, value))
    if len(texts) != 2:
        raise ValueError("these are not two")
    return texts[0], texts[1]


def one_of(*words: str) -> Callable[[str], str]:
    """Return what reads one of these words."""

    def read(value: str) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"{value!r} is not one of {', '.join(words)}")
        return value

    return read


def some_of(*words: str) -> Callable[[str | Iterable[str]], tuple[str, ...]]:
    """Return what reads some of these words, each once: of ``"on,off"`` or of a list of them."""
    read_one = one_of(*words)
    return lambda value: tuple(map(read_one, names(value)))


def counts_or(word: str, least: int = 0) -> Callable[[str | int | Iterable[str | int]], tuple[str, ...]]:
    """Return what reads whole numbers from ``least``, or a word, each once, as texts: of ``"0,1,auto"``."""

    def read_one(value: str | int) -> str:
        text = str(value).strip()
        if text != word and not (text.isascii() and text.isdigit() and least <= int(text) <= _LARGEST_COUNT):
            raise ValueError(f"{text!r} is neither {word} nor an integer of at least {least}")
        return text if text == word else str(int(text))

    def read(value: str | int | Iterable[str | int]) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int) else value
        values = tuple(dict.fromkeys(map(read_one, parts)))
        if not values:
            raise ValueError("there is no value")
        return values

    return read


def names(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return names, each once: of ``"ort,openvino"`` or of a list of them."""
    return tuple(dict.fromkeys(ordered_names(value)))


def ordered_names(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return names that may be repeated; one at least."""
    parts = value.split(",") if isinstance(value, str) else _not_empty(value)
    if not all(isinstance(part, str) for part in parts):
        raise ValueError(f"{value!r} is not a list of names")
    names = tuple(part.strip() for part in parts)
    if not all(names):
        raise ValueError(f"there is an empty name in {value!r}")
    return names


def counts(value: str | SupportsIndex | Iterable[SupportsIndex]) -> tuple[int, ...]:
    """Return whole numbers from 1, each once: of ``"1,8"``, 8, or [1, 8]; one at least."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else _not_empty(_items(value))
    return tuple(dict.fromkeys(count(part) for part in parts))


def count(value: str | SupportsIndex) -> int:
    """Return an integer of at least 1."""
    if isinstance(value, str):
        if re.fullmatch(r"0*[1-9]\d*", value, re.ASCII) is None:
            raise ValueError(f"{value!r} is not an integer of at least 1")
        if len(value.lstrip("0")) > len(str(_LARGEST_COUNT)):
            raise ValueError(f"{value!r} is more than {_LARGEST_COUNT:,}")
        return int(value)
    return whole_number(value, 1, _LARGEST_COUNT)


def whole_number(value: SupportsIndex, least: int, largest: int) -> int:
    """Return a whole number within limits, which are included: an ``int``, or an integer of NumPy."""
    try:
        number = operator.index(_not_bool(value))
    except TypeError:
        number = least - 1
    if not least <= number <= largest:
        largest_named = "" if largest == _LARGEST_COUNT else f" and at most {largest}"
        raise ValueError(f"{value!r} is not an integer of at least {least}{largest_named}")
    return number


def seed(value: SupportsIndex) -> int:
    """Return what generators of random numbers start from: a whole number of 32 bits."""
    return whole_number(value, 0, 2**32 - 1)


def threads(value: str | SupportsIndex) -> int | Literal["native"]:
    """Return a number of threads, or ``native``."""
    return "native" if isinstance(value, str) and value == "native" else count(value)


def thread_counts(value: str | SupportsIndex | Iterable[Any]) -> tuple[int | Literal["native"], ...]:
    """Return numbers of threads or ``native``, each once: of ``"1,4"``, 4, or [1, "native"]; one at least."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else _not_empty(_items(value))
    return tuple(dict.fromkeys(threads(part) for part in parts))


def duration_s(value: str | float | timedelta) -> float:
    """Return seconds: of ``"90s"``, ``"5m"``, a number of seconds or a ``timedelta``."""
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?) ?(ms|s|m|h|d)?", value, re.ASCII)
        seconds = float(match[1]) * _UNITS_S[match[2] or "s"] if match is not None else 0
    else:
        seconds = _not_bool(value)
    if not 0 < seconds <= _LONGEST_S:
        raise ValueError(f"{value!r} is not a duration: a number above 0, then ms, s, m, h or d; at most 10000 days")
    return float(seconds)


def warm_up(value: str | SupportsIndex | timedelta | WarmUpLength) -> WarmUpLength:
    """Return a length of the warm-up: the time ``"2s"`` or a ``timedelta``, or the calls ``"500"`` or 500."""
    if isinstance(value, WarmUpLength):
        return value
    if isinstance(value, timedelta) or (isinstance(value, str) and re.search(r"[a-z]", value)):
        return WarmUpLength(seconds=duration_s(value))
    try:
        return WarmUpLength(calls=count(value))
    except ValueError:
        raise ValueError(f"{value!r} is neither a time with its unit (2s, 500ms) nor a number of calls (500)") from None


def pace_s(value: str | float | timedelta) -> float:
    """Return seconds from one call to the next: of ``"10ms"``, ``"1s"``, a number of seconds or a ``timedelta``."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?) ?ms", value, re.ASCII) if isinstance(value, str) else None
    seconds = float(match[1]) / 1e3 if match is not None else duration_s(value)
    if not _SHORTEST_PACE_S <= seconds <= _LONGEST_PACE_S:
        raise ValueError(f"{value!r} is not a pace from 0.1ms to 60s")
    return seconds


def rates(value: str | float | Iterable[float]) -> tuple[float, ...]:
    """Return numbers of requests per second, each once: of ``"10,50"``, 10, or [10, 50]; one at least."""
    if isinstance(value, int | float):
        return (_rate(value),)
    parts: list[str | float] = [*value.split(",")] if isinstance(value, str) else [*value]
    _not_empty(parts)
    return tuple(dict.fromkeys(map(_rate, parts)))


def _rate(value: str | float) -> float:
    try:
        rate = float(value) if isinstance(value, str) else _not_bool(value)
    except ValueError:
        rate = 0.0
    if not _LOWEST_RATE <= rate <= _HIGHEST_RATE:
        raise ValueError(f"{value!r} is not a number of requests per second from {_LOWEST_RATE} to {_HIGHEST_RATE:,}")
    return float(rate)


def service_level(value: str) -> ServiceLevel:
    """Return a service level: of ``"p99<=50ms"``, or of ``"p99:50ms"``, which no shell reads as a redirection."""
    match = (
        re.fullmatch(r"p(\d{1,2}(?:\.\d{1,3})?) ?(?:<=?|:) ?(\S.*)", value, re.ASCII)
        if isinstance(value, str)
        else None
    )
    if match is None or not 0 < float(match[1]) < 100:
        raise ValueError(f"{value!r} is not a percentile and a time")
    if match[2].replace(".", "", 1).isdigit():
        raise ValueError(f"{match[2]!r} has no unit: p{match[1]}:{match[2]}ms")
    return ServiceLevel(float(match[1]), 1e3 * pace_s(match[2]))


def fraction(value: str | float) -> float:
    """Return a fraction: of ``"1%"`` or 0.01."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d{1,3}(?:\.\d+)?) ?%", value, re.ASCII)
        share = float(match[1]) / 100 if match is not None else 0
    else:
        share = _not_bool(value)
    if not 0 < share < 1:
        raise ValueError(f"{value!r} is not a percentage between 0% and 100%")
    return float(share)


def percentage(share: float) -> str:
    """Return a fraction as ``"1%"``, which :func:`fraction` reads."""
    return f"{(Decimal(str(share)) * 100).normalize():f}%"


def cpus(value: str | SupportsIndex | Iterable[SupportsIndex]) -> tuple[int, ...]:
    """Return processors in ascending order: of ``"0-3,8"``, 0, or [0, 1]."""
    if not isinstance(value, str):
        return tuple(sorted({whole_number(cpu, 0, _LARGEST_CPU) for cpu in _not_empty(_items(value))}))
    from irbench.system.host import parse_cpu_list

    try:
        return parse_cpu_list(_NUMBER_OF_NO_PROCESSOR.sub("none", value))
    except ValueError:
        raise ValueError(f"{value!r} is not a list of processors") from None


def cpu_list(cpus: Iterable[int]) -> str:
    """Return processors as the kernel lists them: ``0-3,8``."""
    runs: list[tuple[int, int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], cpu)
        else:
            runs.append((cpu, cpu))
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def shapes(value: Mapping[str, str | int | Iterable[int]]) -> Shapes:
    """Return shapes by name: of ``{"tokens": (1, 128)}``, ``{"tokens": "1x128"}`` or ``{"length": 128}``."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not a mapping from names to shapes")
    return {text(name): _sizes(shape) for name, shape in value.items()}


def shape_of_text(text: str) -> tuple[str, tuple[int, ...]]:
    """Return the name and the sizes of ``tokens=1x128`` or ``length=128``.

    Raises:
        IrbenchError: There are several shapes, which another option takes.
    """
    name, equals, sizes = text.rpartition("=")
    if not (equals and name):
        raise ValueError(f"{text!r} names no input or dimension")
    if "," in sizes:
        raise IrbenchError(
            f"--shape {text} gives several sizes, and --shape takes one.",
            hint=f"irbench run --shapes {text} measures a table for each.",
        )
    return name, _sizes(sizes)


def sweep(value: str | Mapping[str, str | Iterable[Any]] | Iterable[Any]) -> Sweep:
    """Return what has several shapes, and these: of ``"tokens=1x128,1x64"`` or ``{"length": [128, 64]}``.

    Shapes alone, ``"1x128,1x64"`` or ``[(1, 128), (1, 64)]``, are those of the first input with dynamic dimensions.
    """
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise ValueError(f"{value!r} is not one name with its shapes")
        ((name, listed),) = value.items()
    elif isinstance(value, str):
        name, _, listed = value.rpartition("=")
    else:
        name, listed = "", value
    parts = listed.split(",") if isinstance(listed, str) else _not_empty(_items(listed))
    sizes = tuple(_sizes(part.strip() if isinstance(part, str) else part) for part in parts)
    if len(set(sizes)) < len(sizes):
        raise ValueError(f"{value!r} has a shape twice")
    return text(name), sizes


def settings(value: Mapping[str, Mapping[str, object]]) -> Settings:
    """Return properties by backend: of ``{"ort": {"dynamic_block_base": 4}}``."""
    if not isinstance(value, Mapping) or not all(isinstance(properties, Mapping) for properties in value.values()):
        raise ValueError(f"{value!r} is not a mapping from backends to their properties")
    return {
        text(name): {text(key): _property(item) for key, item in entries.items()} for name, entries in value.items()
    }


def setting_of_text(text: str) -> tuple[str, str, str]:
    """Return backend, key and value of ``backend.KEY=VALUE``."""
    address, equals, value = text.partition("=")
    backend, _, key = address.partition(".")
    if not (equals and backend and key):
        raise ValueError(f"{text!r} lacks a backend, a key or a value")
    return backend, key, value


def value_of_text(text: str) -> tuple[str, tuple[Number, ...]]:
    """Return the input and the elements of ``sr=16000`` or ``size=480,640``."""
    name, equals, elements = text.partition("=")
    if not (equals and name and elements):
        raise ValueError(f"{text!r} lacks an input or a value")
    return name, tuple(_element(element.strip()) for element in elements.split(","))


def feedback_of_text(text: str) -> tuple[str, str]:
    """Return the output and the input of ``h=h0``."""
    output, equals, name = text.partition("=")
    if not (equals and output and name):
        raise ValueError(f"{text!r} lacks an output or an input")
    return output, name


def _element(text: str) -> Number:
    """Return the number that a text spells if it says no more than that: a string input takes 007 as it is."""
    number = number_of_text(text)
    return number if str(number) == text else text


def _property(value: object) -> str:
    """Return a property as the command line would give it; runtimes write truth as 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _sizes(value: str | SupportsIndex | Iterable[SupportsIndex]) -> tuple[int, ...]:
    return tuple(count(part) for part in (value.split("x") if isinstance(value, str) else _items(value)))


def _items(value: Any) -> Iterable[Any]:
    """Return what a value holds: a number is the only one."""
    return value if isinstance(value, Iterable) else [value]


def _not_empty(value: Iterable[T]) -> list[T]:
    """Return a list of at least one item: a filter that found nothing must not mean the default."""
    items = list(value)
    if not items:
        raise ValueError("it is empty")
    return items


def _not_bool(value: T) -> T:
    """Return a number; truth, which Python and NumPy take for 1 and 0, is refused."""
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        raise ValueError(f"{value!r} is not a number")
    return value


def path(value: str | PathLike[str]) -> Path:
    """Return a path, whether or not anything is there."""
    result = Path(value)
    try:
        encoded = os.fsencode(result)
    except UnicodeEncodeError as error:
        raise ValueError("a path holds no such characters") from error
    if b"\0" in encoded:
        raise ValueError("a path holds no NUL character")
    return result


def timeline_s(value: str | float | timedelta) -> float:
    """Return the seconds of a step of counters: of ``"100ms"``, ``"1s"``, a number of seconds or a ``timedelta``."""
    seconds = pace_s(value)
    if not _SHORTEST_STEP_S <= seconds <= _LONGEST_STEP_S:
        raise ValueError(f"{value!r} is not a step from 10ms to 60s")
    return seconds


def positive(value: float) -> float:
    """Return a number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError(f"{value!r} is not a number above 0")
    return float(value)


def compared_levels(text: str) -> tuple[str, str]:
    """Return the two levels of ``graph+extended``; ``graph`` is the exported graph, the level ``none``."""
    first, plus, second = (part.strip() for part in text.partition("+"))
    if not (plus and first and second):
        raise ValueError(f"{text!r} does not name two levels")
    before, after = ("none" if name == "graph" else name for name in (first, second))
    if before == after:
        raise ValueError(f"{text!r} names one level twice")
    return before, after


Varied: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Values by backend, then by key."""

AS_IT_IS = "default"
"""The value of an option that is not set."""


def varied(value: Mapping[str, Mapping[str, object]]) -> Varied:
    """Return values of options by backend: of ``{"ort": {"intra_op.allow_spinning": [0, 1]}}``."""
    if not isinstance(value, Mapping) or not all(isinstance(options, Mapping) for options in value.values()):
        raise ValueError(f"{value!r} is not a mapping from backends to their options")
    return {
        text(backend): {text(key): _values(listed) for key, listed in options.items()}
        for backend, options in value.items()
    }


def varied_of_text(text: str) -> tuple[str, str, tuple[str, ...]]:
    """Return backend, key and values of ``backend.KEY=VALUE,VALUE``."""
    backend, key, listed = setting_of_text(text)
    return backend, key, _values(listed.split(","))


def alternatives(varied: Varied) -> dict[str, tuple[dict[str, str], ...]]:
    """Return the sets of options that rows of each backend have: every combination of their values."""
    return {
        backend: tuple(
            {key: value for key, value in zip(options, chosen, strict=True) if value != AS_IT_IS}
            for chosen in product(*options.values())
        )
        for backend, options in varied.items()
    }


def _values(listed: object) -> tuple[str, ...]:
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise TypeError(f"{listed!r} is not a list of values")
    values = tuple(dict.fromkeys(_property(value).strip() for value in listed))
    if len(values) < 2 or "" in values:
        raise ValueError("at least two different values are needed")
    return values


def varied_in(sets: Mapping[str, Sequence[Mapping[str, str]]]) -> Varied:
    """Return the values that options have in all sets of :func:`alternatives`, in the order of the largest set.

    An option that a set lacks is not set there.
    """
    return {
        backend: {
            key: tuple(dict.fromkeys(each.get(key, AS_IT_IS) for each in alternatives))
            for key in dict.fromkeys(key for each in sorted(alternatives, key=len, reverse=True) for key in each)
        }
        for backend, alternatives in sets.items()
    }


class RunLike(Protocol):
    """What ``run``, ``load`` and ``results`` return."""

    @property
    def folder(self) -> str | PathLike[str]:
        """Where it is stored."""
        ...


RunName: TypeAlias = Union[str, "PathLike[str]", RunLike]
"""A run: its name, its id or the beginning of its id, its folder, ``latest``, or what ``run``, ``load`` or ``results``
returned."""


def run_name(run: RunName) -> str:
    """Return the text by which the store finds a run."""
    if isinstance(run, (str, PathLike)):
        return fspath(run)
    folder = getattr(run, "folder", None)
    if folder is None:
        raise IrbenchError(
            f"A value of type {type(run).__name__} is not a run.",
            hint="Give its name, its id, its folder, or what irbench.run, load or results returned.",
        )
    return str(folder)
