"""Command groups that suggest names for mistyped ones, and commands whose options are in sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import click

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.system.file_states import is_file

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
            near = did_you_mean(name, known)
            if ctx.parent is None and not near and is_file(Path(name)):
                near = f"To measure a model: {ctx.command_path} run {quote(name)}. "
            raise IrbenchError(f"{whose} no command {name!r}.", hint=f"{near}Commands: {', '.join(known)}.")
        return super().resolve_command(ctx, args)


class SectionedCommand(click.Command):
    """A command whose help shows its options under headings.

    Args:
        sections: Headings by the name of the option that each begins with, in the order of the options.
        is_short: Whether ``--help`` shows the first section and the names of the others, and ``--help-all`` all.
        facts: Of any command.
    """

    def __init__(self, *, sections: Mapping[str, str], is_short: bool = False, **facts: Any) -> None:
        super().__init__(**facts)
        self._sections = sections
        self._is_short = is_short

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with ``--help-all`` before ``--help`` where that shows a part; see click."""
        found = super().get_params(ctx)
        return [*found[:-1], _HELP_ALL, found[-1]] if self._is_short and found else found

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
        found = self.sectioned_options(ctx)
        is_part = self._is_short and not ctx.meta.get(_IS_WHOLE)
        for title, options in list(found.items())[: 1 if is_part else None]:
            with formatter.section(title):
                formatter.write_dl([record for option in options if (record := option.get_help_record(ctx))])
        if is_part:
            with formatter.section("More options, shown by --help-all"):
                formatter.write_text(", ".join(list(found)[1:]))


def _print_whole_help(ctx: click.Context, _param: click.Parameter, is_asked_for: bool) -> None:
    if is_asked_for and not ctx.resilient_parsing:
        ctx.meta[_IS_WHOLE] = True
        from irbench.terminal.console import print_data

        print_data(ctx.get_help(), None)
        ctx.exit()


_IS_WHOLE = "irbench.help-all"
_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_whole_help,
    help="Show all options and exit.",
)
