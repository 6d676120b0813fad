"""Command groups that suggest names for mistyped ones, and commands whose options are in sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError

COMPLETION = "_IRBENCH_COMPLETE"
"""Set by the shell while it completes a command line."""


class OneOf(click.Choice[str]):
    """One of several words; a mistyped one is answered with the nearest.

    Args:
        words: The words.
        read: Returns what a word means.
    """

    def __init__(self, words: Sequence[str], read: Callable[[str], str] = str) -> None:
        super().__init__(words)
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word; see click."""
        try:
            return self._read(super().convert(value, param, ctx))
        except click.BadParameter as error:
            near = did_you_mean(str(value), tuple(self.choices))
            raise click.BadParameter(f"{error.message} {near}".strip(), ctx, param) from error


class SuggestingGroup(click.Group):
    """Answers an unknown command with the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called; see click."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            whose = "There is" if ctx.parent is None else f"{ctx.command_path} has"
            raise IrbenchError(
                f"{whose} no command {name!r}.", hint=f"{did_you_mean(name, known)}Commands: {', '.join(known)}."
            )
        return super().resolve_command(ctx, args)


class SectionedCommand(click.Command):
    """A command whose help shows its options under headings.

    Args:
        sections: Headings by the name of the option that each begins with, in the order of the options.
        facts: Of any command.
    """

    def __init__(self, *, sections: Mapping[str, str], **facts: Any) -> None:
        super().__init__(**facts)
        self._sections = sections

    def sectioned_options(self, ctx: click.Context) -> Mapping[str, list[click.Option]]:
        """Return the options by the headings that they stand below; that of ``--help`` comes last."""
        heading, found = "Options", dict[str, list[click.Option]]()
        for option in (param for param in self.get_params(ctx) if isinstance(param, click.Option)):
            heading = self._sections.get(option.name or "", heading)
            if not option.hidden:
                found.setdefault(heading, []).append(option)
        found[heading] = found.pop(heading)
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; see click."""
        for title, options in self.sectioned_options(ctx).items():
            with formatter.section(title):
                formatter.write_dl([record for option in options if (record := option.get_help_record(ctx))])
