"""Options of click, made from their declarations in :mod:`irbench.options`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, get_args

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem
from click.types import OptionHelpExtra

from irbench.options import values
from irbench.options.kinds import Kind
from irbench.options.option import CommandOptions, Option, flag_of
from irbench.perf_events.event_names import GROUPS
from irbench.spec import Precision
from irbench.terminal.completion import BACKEND, LEVEL, MODEL_NAME, addresses, levels, offer_list, passes, settings
from irbench.terminal.completion import RUN as RUN_NAME
from irbench.terminal.groups import OneOf

T = TypeVar("T")
Offer: TypeAlias = Callable[[str], list[CompletionItem]]
FC = TypeVar("FC", bound=Callable[..., Any] | click.Command)


class Decorator(Protocol):
    """What adds options to a command."""

    def __call__(self, command: FC, /) -> FC:
        """Return the command with the options."""
        ...


class PlainDefault(click.Option):
    """An option whose help tells its default in words, as they are; click would put them into brackets once more."""

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:  # noqa: ARG002 - click's signature
        """Return what follows the help; see click."""
        return {"default": str(self.show_default)}


class Parsed(click.ParamType[T], Generic[T]):
    """An option whose text a function reads.

    Args:
        form: An example; a refusal says to write it like that, and the help shows it where there is no placeholder.
        read: Returns the value; raises ``ValueError``, with what is wrong, for any other text.
        offer: Returns what a text that is being typed may become, for a shell to complete.
    """

    def __init__(self, form: str, read: Callable[[str], T], offer: Offer = lambda _begun: []) -> None:
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
            self.fail(f"{error}; write it like {self.name.replace('|', ' or ')}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Return what the text may become."""
        return self._offer(incomplete)


_TYPES: Mapping[str, click.ParamType[Any]] = {
    "backend": BACKEND,
    "level": LEVEL,
    "model": MODEL_NAME,
    "run": RUN_NAME,
    "path": click.Path(path_type=Path),
    "file": click.Path(path_type=Path, dir_okay=False),
    "folder": click.Path(path_type=Path, file_okay=False),
    "seed": click.IntRange(0, 2**32 - 1),
    "positive": click.FloatRange(min=0, min_open=True),
}
"""Where click has a type of its own, or a shell completes a name, by what a kind calls it."""

_OFFERS: Mapping[str, Offer] = {
    "backends": partial(offer_list, addresses),
    "levels": partial(offer_list, levels),
    "passes": partial(offer_list, passes),
    "precisions": partial(offer_list, lambda _begun: get_args(Precision)),
    "counters": partial(offer_list, lambda _begun: (*GROUPS, "topdown-l2")),
    "settings": settings,
}
"""What a shell offers for a text that is being typed, likewise."""

_BESIDE_THE_OUTPUT = "results"


def declared(command: CommandOptions[Any], *names: str, but: str = _BESIDE_THE_OUTPUT) -> Decorator:
    """Return what adds options of a command: all but one, by default the folder of results beside the output.

    Args:
        command: What declares them.
        names: Of these alone.
        but: Which stands elsewhere in the help.
    """

    def add(function: FC) -> FC:
        for name, option in reversed(list(command.options.items())):  # the last decorator comes first
            if name in names if names else name not in (but, _BESIDE_THE_OUTPUT):
                function = click_option(name, option)(function)
        return function

    return add


def headings(command: CommandOptions[Any], others: Mapping[str, str]) -> dict[str, str]:
    """Return the headings of the help by option; ``others`` has those of options that are not declared."""
    return {**{name: option.group for name, option in command.options.items() if option.group}, **others}


def click_option(name: str, option: Option) -> Decorator:
    """Return the option of click that a declaration describes."""
    kind, flag = option.kind, flag_of(name, option)
    if kind.is_flag:
        return click.option(flag, name, is_flag=True, help=option.help)
    if kind.entry is not None and kind.collect is not None:
        collect = kind.collect
        repeated = " May be repeated." if option.help.endswith(".") else "; may be repeated."
        return click.option(
            flag,
            name,
            type=Parsed(kind.metavar, kind.entry, _offer(kind)),
            metavar=kind.placeholder or None,
            multiple=True,
            callback=lambda _context, _option, entries: collect(flag, entries),
            help=f"{option.help}{repeated}",
        )
    return click.option(
        *([option.short] if option.short else []),
        flag,
        name,
        type=_type(kind),
        nargs=kind.arguments,
        help=option.help,
        metavar=option.metavar or kind.placeholder or kind.metavar or None,
        **_default(option),
    )


def _default(option: Option) -> dict[str, Any]:
    if option.required:
        return {"required": True}
    if option.default_text:
        return {"default": option.default, "cls": PlainDefault, "show_default": option.default_text}
    return {"default": option.default, "show_default": option.default not in (None, "", ())}


def _type(kind: Kind[Any]) -> click.ParamType[Any]:
    if kind.words:
        return OneOf(kind.words, kind.read)
    if kind.type_name in _TYPES:
        return _TYPES[kind.type_name]
    if kind.read in (values.text, values.pair):
        return click.STRING
    return Parsed(kind.metavar, kind.text or kind.read, _offer(kind))


def _offer(kind: Kind[Any]) -> Offer:
    return _OFFERS.get(kind.type_name, lambda _begun: [])


def strict_option(what: str) -> Decorator:
    """Return ``--strict``: what is undecided makes the exit code 4."""
    return click.option("--strict", is_flag=True, help=f"Exit with 4 if {what}.")


def given_parameters(context: click.Context, beside: Collection[str]) -> list[str]:
    """Return what was given on the command line, options by their names; those of ``beside`` left out."""
    parameters = (param for param in context.command.params if param.name not in beside and _is_given(context, param))
    return [param.opts[0] if isinstance(param, click.Option) else "a model" for param in parameters]


def given_names(context: click.Context) -> frozenset[str]:
    """Return the names of the options that were given on the command line, also with the values of their defaults."""
    return frozenset(param.name for param in context.command.params if param.name and _is_given(context, param))


def _is_given(context: click.Context, param: click.Parameter) -> bool:
    is_named = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    return is_named and context.params.get(param.name or "") not in ((), None)


def format_option(
    *forms: str,
    default: str | None = "table",
    help: str | None = "Output format.",  # noqa: A002 - click's name
    **facts: Any,
) -> Decorator:
    """Return ``--format`` with the forms that a command writes."""
    return click.option(
        "--format", "form", type=OneOf(forms), default=default, show_default=default is not None, help=help, **facts
    )
