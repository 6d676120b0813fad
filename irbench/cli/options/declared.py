"""Options of click, made from their declarations in :mod:`irbench.options`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from irbench.cli.options.completion import BACKEND, LEVEL, addresses, levels, offer_list, settings
from irbench.cli.options.groups import OneOf
from irbench.cli.options.types import Parsed, PlainDefault
from irbench.counters import GROUPS
from irbench.options import kinds, values
from irbench.options.kinds import Kind
from irbench.options.option import CommandOptions, Option, flag_of
from irbench.options.run import RUN
from irbench.spec import Precision

FC = TypeVar("FC", bound=Callable[..., Any] | click.Command)


class Decorator(Protocol):
    """What adds options to a command."""

    def __call__(self, command: FC, /) -> FC:
        """Return the command with the options."""
        ...


_TYPES: Mapping[Kind, click.ParamType[Any]] = {
    kinds.BACKEND: BACKEND,
    kinds.LEVEL: LEVEL,
    kinds.DATA: click.Path(path_type=Path),
    kinds.PATH: click.Path(path_type=Path),
    kinds.FOLDER: click.Path(path_type=Path, file_okay=False),
    kinds.SEED: click.IntRange(0, 2**32 - 1),
    kinds.POSITIVE: click.FloatRange(min=0, min_open=True),
}
"""Where click has a type of its own, or a shell completes the values."""

_OFFERS: Mapping[Kind, Callable[[str], list[CompletionItem]]] = {
    kinds.BACKENDS: partial(offer_list, addresses),
    kinds.LEVELS: partial(offer_list, levels),
    kinds.PRECISIONS: partial(offer_list, lambda _begun: get_args(Precision)),
    kinds.COUNTERS: partial(offer_list, lambda _begun: (*GROUPS, "topdown-l2")),
    kinds.SETTINGS: settings,
    kinds.VARIED: settings,
}
"""What a shell offers for a text that is being typed."""


def declared(command: CommandOptions) -> Decorator:
    """Return what adds all options of a command, but the folder of results, which stands beside the output."""

    def add(function: FC) -> FC:
        for name, found in reversed(list(command.options.items())):  # the last decorator comes first
            if name != "results":
                function = click_option(name, found)(function)
        return function

    return add


def shared(name: str, **changes: Any) -> Decorator:
    """Return an option of a run as another command has it.

    Args:
        name: Of the option.
        changes: Attributes of its declaration that are told differently.
    """
    return click_option(name, replace(RUN.options[name], **changes))


def headings(command: CommandOptions, others: Mapping[str, str]) -> dict[str, str]:
    """Return the headings of the help by option; ``others`` has those of options that are not declared."""
    return {**{name: found.group for name, found in command.options.items() if found.group}, **others}


def click_option(name: str, found: Option) -> Decorator:
    """Return the option of click that a declaration describes."""
    kind, flag = found.kind, flag_of(name, found)
    if kind.is_flag:
        return click.option(flag, name, is_flag=True, help=found.help)
    if kind.entry is not None and kind.collect is not None:
        collect = kind.collect
        return click.option(
            flag,
            name,
            type=Parsed(kind.metavar, kind.entry, _offer(kind)),
            multiple=True,
            callback=lambda _context, _option, given: collect(flag, given),
            help=f"{found.help.rstrip('.')}; may be repeated.",
        )
    metavar = None if kind in (kinds.BACKEND, kinds.LEVEL) else kind.metavar
    return click.option(
        *([found.short] if found.short else []),
        flag,
        name,
        type=_type(kind),
        help=found.help,
        metavar=found.metavar or metavar or None,
        **_default(found),
    )


def _default(found: Option) -> dict[str, Any]:
    if found.required:
        return {"required": True}
    if found.default_text:
        return {"default": found.default, "cls": PlainDefault, "show_default": found.default_text}
    return {"default": found.default, "show_default": found.default not in (None, "", ())}


def _type(kind: Kind) -> click.ParamType[Any]:
    if kind.words:
        return OneOf(kind.words)
    if kind.read is values.text and kind not in _TYPES:
        return click.STRING
    return _TYPES.get(kind) or Parsed(kind.metavar, kind.text or kind.read, _offer(kind))


def _offer(kind: Kind) -> Callable[[str], list[CompletionItem]]:
    return _OFFERS.get(kind, lambda _begun: [])


def strict_option(what: str) -> Decorator:
    """Return ``--strict``: what is undecided makes the exit code 4."""
    return click.option("--strict", is_flag=True, help=f"Exit with 4 if {what}.")
