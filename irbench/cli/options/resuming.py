"""``--resume`` of ``irbench run``, and which options it goes with."""

from __future__ import annotations

import click
from click.core import ParameterSource

from irbench.cli.options.completion import RUN
from irbench.errors import IrbenchError

__all__ = ["ALLOW_OWN_CODE", "NEWEST", "RESUME", "refuse_other_options"]

NEWEST = ""
"""What ``--resume`` without a run stands for."""

RESUME = click.option(
    "--resume",
    type=RUN,
    is_flag=False,
    flag_value=NEWEST,
    metavar="[RUN]",
    help="Continue a run that ended early after its last launch, with the settings that it was begun with: RUN, or the"
    " newest one.",
)
ALLOW_OWN_CODE = click.option(
    "--allow-own-code", is_flag=True, help="With --resume: run the commands and functions that the run's plan names."
)

_BESIDE = ("resume", "allow_own_code", "strict", "no_lock", "yes", "form", "output", "results")
"""Options that change nothing of what is measured."""


def refuse_other_options(context: click.Context) -> None:
    """Refuse models and options that say what is measured: a run that is continued has its own.

    Raises:
        IrbenchError: One of them was given.
    """
    given = [param for param in context.command.params if _is_given(context, param) and param.name not in _BESIDE]
    if not given:
        return
    names = ", ".join(param.opts[0] if isinstance(param, click.Option) else "a model" for param in given)
    raise IrbenchError(
        f"--resume and {names} cannot be combined: a run is continued with the settings that it was begun with.",
        hint="Leave out either of them; without --resume another run begins.",
    )


def _is_given(context: click.Context, param: click.Parameter) -> bool:
    is_named = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    return is_named and context.params.get(param.name or "") not in ((), None)
