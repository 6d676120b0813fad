"""Option types that several commands share; each refuses invalid values with an example."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args

import click
from click.shell_completion import CompletionItem
from click.types import OptionHelpExtra

from irbench.api import accuracy_limits, own_cells, values, varied_options
from irbench.api.compared_levels import compared_levels
from irbench.cli.options.completion import addresses, levels, offer_list, settings
from irbench.errors import IrbenchError
from irbench.spec import Number, Program, shape_text

if TYPE_CHECKING:
    from irbench.across_runs.conditions import Condition

__all__ = [
    "ACCURACY",
    "BACKENDS",
    "CELL",
    "COMPARED_LEVELS",
    "CONDITION",
    "COUNT",
    "COUNTS",
    "CPUS",
    "DURATION",
    "FEEDBACK",
    "LATENCY",
    "LEVELS",
    "METRIC",
    "PACE",
    "PASSES",
    "PERCENT",
    "PRECISIONS",
    "ROWS",
    "SETTING",
    "SHAPE",
    "SWEEP",
    "THREADS",
    "THREAD_COUNTS",
    "VALUE",
    "VARIED",
    "WARM_UP",
    "Parsed",
    "PlainDefault",
    "as_cells",
    "as_constants",
    "as_feedback",
    "as_settings",
    "as_shapes",
    "as_varied",
    "with_unit",
]

T = TypeVar("T")
Offer = Callable[[str], list[CompletionItem]]


def _nothing(_incomplete: str) -> list[CompletionItem]:
    return []


class PlainDefault(click.Option):
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


def _duration_s(text: str) -> float:
    try:
        return values.duration_s(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is not a duration: write a number above 0 and a unit (ms, s, m, h or d), for example 90s or 5m; "
            "at most 10000 days."
        ) from error


def with_unit(read: Callable[[str], float], text: str) -> float:
    """Return a time that may be milliseconds as well as seconds, so that its unit must be written."""
    if text.replace(".", "", 1).isdigit():
        raise ValueError(f"{text!r} has no unit")
    return read(text)


def _passes(_begun: str) -> tuple[str, ...]:
    from irbench import registry

    return registry.names(registry.PASSES)


def _precisions(_begun: str) -> tuple[str, ...]:
    from irbench.spec import Precision

    return get_args(Precision)


def _condition(text: str) -> Condition:
    from irbench.across_runs.conditions import read_condition

    return read_condition(text)


CONDITION = Parsed("p50>5%", _condition)
PASSES = Parsed("a,b", values.ordered_names, partial(offer_list, _passes))
BACKENDS = Parsed("a,b", values.names, partial(offer_list, addresses))
CELL = Parsed("name=command", own_cells.cell_of_text)
ROWS = Parsed("a,b", values.names)
COMPARED_LEVELS = Parsed("graph+extended", compared_levels)
LEVELS = Parsed("a,b", values.names, partial(offer_list, levels))
PRECISIONS = Parsed("a,b", values.names, partial(offer_list, _precisions))
COUNT = Parsed("20", values.count)
COUNTS = Parsed("1,8", values.counts)
THREADS = Parsed("4|native", values.threads)
THREAD_COUNTS = Parsed("1,4|native", values.thread_counts)
DURATION = Parsed("90s|5m", _duration_s)
LATENCY = Parsed("50ms", partial(with_unit, _duration_s))
WARM_UP = Parsed("2s|500", values.warm_up)
PACE = Parsed("10ms", partial(with_unit, values.pace_s))
PERCENT = Parsed("1%", values.fraction)
ACCURACY = Parsed("99%", accuracy_limits.min_accuracy)
METRIC = Parsed("file.py:fn>=0.9", accuracy_limits.metric)
CPUS = Parsed("0-3,8", values.cpus)
SHAPE = Parsed("name=1x128", values.shape_of_text)
VALUE = Parsed("name=16000", values.value_of_text)
FEEDBACK = Parsed("output=input", values.feedback_of_text)
SWEEP = Parsed("1x128,1x64", values.sweep)
SETTING = Parsed("backend.KEY=VALUE", values.setting_of_text, settings)


VARIED = Parsed("backend.KEY=A,B", varied_options.varied_of_text, settings)


def as_varied(triples: Iterable[tuple[str, str, tuple[str, ...]]]) -> varied_options.Varied:
    """Return what ``--vary`` gave, by backend, then by key.

    Raises:
        IrbenchError: One option was given two lists.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for backend, key, listed in triples:
        before = found.setdefault(backend, {}).setdefault(key, listed)
        if before != listed:
            raise _contradiction("--vary", f"{backend}.{key}", ",".join(before), ",".join(listed))
    return found


def as_shapes(pairs: Iterable[tuple[str, tuple[int, ...]]]) -> values.Shapes:
    """Return what ``--shape`` gave, by input or dynamic dimension.

    Raises:
        IrbenchError: One of them was given two shapes.
    """
    return _by_name("--shape", pairs, shape_text)


def as_cells(pairs: Iterable[tuple[str, Program]]) -> own_cells.Programs:
    """Return what ``--cell`` gave, by the name of the row.

    Raises:
        IrbenchError: Two rows have one name.
    """
    return _by_name("--cell", pairs, lambda program: program.target)


def as_constants(pairs: Iterable[tuple[str, tuple[Number, ...]]]) -> values.Constants:
    """Return what ``--value`` gave, by input.

    Raises:
        IrbenchError: One input was given two values.
    """
    return _by_name("--value", pairs, lambda elements: ",".join(map(str, elements)))


def as_feedback(pairs: Iterable[tuple[str, str]]) -> values.Feedback:
    """Return what ``--feedback`` gave: outputs by the inputs that they become.

    Raises:
        IrbenchError: One input was given two outputs.
    """
    found: dict[str, str] = {}
    for made, given in pairs:
        before = found.setdefault(given, made)
        if before != made:
            raise IrbenchError(
                f"--feedback {before}={given} and --feedback {made}={given} cannot be combined.",
                hint="Leave one of them out.",
            )
    return found


def as_settings(triples: Iterable[tuple[str, str, str]]) -> values.Settings:
    """Return what ``--set`` gave, by backend, then by key.

    Raises:
        IrbenchError: One property was given two values.
    """
    found: dict[str, dict[str, str]] = {}
    for backend, key, value in triples:
        before = found.setdefault(backend, {}).setdefault(key, value)
        if before != value:
            raise _contradiction("--set", f"{backend}.{key}", before, value)
    return found


def _by_name(option: str, pairs: Iterable[tuple[str, T]], text: Callable[[T], str]) -> dict[str, T]:
    """Return what an option gave each name; ``text`` writes a value as the user did.

    Raises:
        IrbenchError: A name was given two values.
    """
    found: dict[str, T] = {}
    for name, value in pairs:
        before = found.setdefault(name, value)
        if before != value:
            raise _contradiction(option, name, text(before), text(value))
    return found


def _contradiction(option: str, name: str, first: str, second: str) -> IrbenchError:
    return IrbenchError(
        f"{option} {name}={first} and {option} {name}={second} cannot be combined.", hint="Leave one of them out."
    )
