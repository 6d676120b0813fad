"""A command that has commands, and knows what a mistyped one was meant to be."""

from __future__ import annotations

import click

from irbench.errors import IrbenchError

__all__ = ["SuggestingGroup"]


class SuggestingGroup(click.Group):
    """Answers an unknown command with the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called; see click.

        Raises:
            IrbenchError: There is none of that name.
        """
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            whose = "There is" if ctx.parent is None else f"{ctx.command_path} has"
            raise IrbenchError(f"{whose} no command {name!r}.", hint=f"{hint}Commands: {', '.join(known)}.")
        return super().resolve_command(ctx, args)
