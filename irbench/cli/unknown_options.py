"""What an option that a command does not have was meant to be, and how one is written that lacks its value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

import click

from irbench.core.quantities import listing
from irbench.terminal.declared import Parsed

_CUTOFF = 0.7
"""How alike two names must be, from 0 to 1: slips of the finger, and not all words with the same letters."""
_MOST = 3


def unknown_option_hint(name: str, command: click.Command, others: Mapping[str, click.Command]) -> str:
    """Return what ``--name`` may have been meant to be: an option like it, or that of another command.

    Args:
        name: With its dashes.
        command: The one that was called.
        others: Commands by how they are called.
    """
    own = _options(command)
    near = get_close_matches(name.lstrip("-"), (flag.lstrip("-") for flag in own), n=2, cutoff=_CUTOFF)
    if near:
        return f"Did you mean {' or '.join(f'--{flag}' for flag in near)}?"
    having = [path for path, other in others.items() if name in _options(other)][:_MOST]
    return f"It is an option of {listing(having)}." if having else ""


def missing_value_hint(name: str, command: click.Command) -> str:
    """Return how an option is written that was given without its value; empty where it is none."""
    option = _options(command).get(name)
    if option is None:
        return ""
    if isinstance(option.type, Parsed):
        return f"Write it like {name} {option.type.name.replace('|', ' or ')}."
    return f"Give its value: {name} {option.make_metavar(click.Context(command))}."


def _options(command: click.Command) -> dict[str, click.Option]:
    options: Iterable[click.Parameter] = command.params
    return {
        flag: option
        for option in options
        if isinstance(option, click.Option) and not option.hidden
        for flag in option.opts
        if flag.startswith("--")
    }
