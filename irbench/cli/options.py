"""Option types that several commands share, each refusing what it cannot read with the form it takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Literal, TypeVar, get_args

import click
from click.shell_completion import CompletionItem
from click.types import OptionHelpExtra

from irbench.cli.completing import addresses, levels, offer_list, settings

__all__ = [
    "BACKENDS",
    "COUNT",
    "COUNTS",
    "CPUS",
    "DURATION",
    "LEVELS",
    "PASSES",
    "PERCENT",
    "PRECISIONS",
    "SETTING",
    "SHAPE",
    "THREADS",
    "Parsed",
    "ToldInWords",
]

T = TypeVar("T")
Offer = Callable[[str], list[CompletionItem]]
_NUMBER_OF_NO_PROCESSOR = re.compile(r"\d{6,}")
_LONGEST_S = 10_000 * 86400


def _nothing(_incomplete: str) -> list[CompletionItem]:
    return []


class ToldInWords(click.Option):
    """An option whose help tells its default in words, as they are; click would put them into brackets once more."""

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:  # noqa: ARG002 - click's signature
        """Return what follows the help; see click."""
        return {"default": str(self.show_default)}


class Parsed(click.ParamType[T], Generic[T]):
    """An option whose text a function reads.

    Args:
        form: An example; the help shows it, and a refusal says to write it like that.
        read: Returns the value; raises ``ValueError``, with what is wrong, for any other text.
        offer: Returns what a text that is being typed may become, for a shell to complete.
    """

    def __init__(self, form: str, read: Callable[[str], T], offer: Offer = _nothing) -> None:
        self.name = form
        self._read = read
        self._offer = offer

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Return the example as it is; click would make capitals of it."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of what was typed; a default that is a value already stays as it is."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value.strip())
        except ValueError as error:
            self.fail(f"{error}; write it like {self.name}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Return what the text may become."""
        return self._offer(incomplete)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_in_order(text)))


def _in_order(text: str) -> tuple[str, ...]:
    """Return names that may be repeated."""
    names = tuple(part.strip() for part in text.split(","))
    if not all(names):
        raise ValueError(f"there is an empty name in {text!r}")
    return names


def _passes(_begun: str) -> tuple[str, ...]:
    from irbench import registry

    return registry.names(registry.PASSES)


def _precisions(_begun: str) -> tuple[str, ...]:
    from irbench.spec import Precision

    return get_args(Precision)


def _counts(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_count(part.strip()) for part in text.split(",")))


def _count(text: str) -> int:
    if re.fullmatch(r"0*[1-9]\d{0,8}", text, re.ASCII) is None:
        raise ValueError(f"{text!r} is not a whole number from 1 to 999999999")
    return int(text)


def _threads(text: str) -> int | Literal["native"]:
    return "native" if text == "native" else _count(text)


def _duration_s(text: str) -> float:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?) ?(s|m|h|d)?", text, re.ASCII)
    seconds = float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2] or "s"] if match is not None else 0
    if not 0 < seconds <= _LONGEST_S:
        raise ValueError(f"{text!r} is not a duration: a number above 0, then s, m, h or d; at most 10000 days")
    return seconds


def _fraction(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", text, re.ASCII)
    if match is None or not 0 < float(match[1]) < 100:
        raise ValueError(f"{text!r} is not a percentage between 0% and 100%")
    return float(match[1]) / 100


def _cpus(text: str) -> tuple[int, ...]:
    from irbench.system.host import parse_cpu_list

    try:
        return parse_cpu_list(_NUMBER_OF_NO_PROCESSOR.sub("none", text))
    except ValueError:
        raise ValueError(f"{text!r} is not a list of processors") from None


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, sizes = text.rpartition("=")
    if not name:
        raise ValueError(f"{text!r} names no input")
    return name, tuple(_count(size) for size in sizes.split("x"))


def _setting(text: str) -> tuple[str, str, str]:
    address, equals, value = text.partition("=")
    backend, _, key = address.partition(".")
    if not (equals and backend and key):
        raise ValueError(f"{text!r} lacks a backend, a key or a value")
    return backend, key, value


PASSES = Parsed("a,b", _in_order, partial(offer_list, _passes))
BACKENDS = Parsed("a,b", _names, partial(offer_list, addresses))
LEVELS = Parsed("a,b", _names, partial(offer_list, levels))
PRECISIONS = Parsed("a,b", _names, partial(offer_list, _precisions))
COUNT = Parsed("20", _count)
COUNTS = Parsed("1,8", _counts)
THREADS = Parsed("4|native", _threads)
DURATION = Parsed("90s|5m", _duration_s)
PERCENT = Parsed("1%", _fraction)
CPUS = Parsed("0-3,8", _cpus)
SHAPE = Parsed("name=1x128", _shape)
SETTING = Parsed("backend.KEY=VALUE", _setting, settings)
