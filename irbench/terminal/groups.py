"""Command groups that suggest names for mistyped ones, and commands whose options are in sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError

COMPLETION = "_IRBENCH_COMPLETE"
"""Set by the shell while it completes a command line."""


class OneOf(click.Choice[str]):
    """One of several words; a mistyped one is answered with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word; see click."""
        try:
            return super().convert(value, param, ctx)
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

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; see click."""
        heading, records = "Options", dict[str, list[tuple[str, str]]]()
        for option in (param for param in self.get_params(ctx) if isinstance(param, click.Option)):
            heading = self._sections.get(option.name or "", heading)
            record = option.get_help_record(ctx)
            if record is not None:
                records.setdefault(heading, []).append(record)
        records[heading] = records.pop(heading)  # that of --help comes last
        for title, section in records.items():
            with formatter.section(title):
                formatter.write_dl(section)
