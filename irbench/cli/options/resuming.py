"""``--resume`` of ``irbench run``, and which options it goes with."""

from __future__ import annotations

import click

from irbench.cli.options.completion import RUN
from irbench.cli.options.given import given_parameters
from irbench.errors import IrbenchError

NEWEST = ""
"""What ``--resume`` without a run stands for."""

RESUME = click.option(
    "--resume",
    type=RUN,
    is_flag=False,
    flag_value=NEWEST,
    metavar="[RUN]",
    help="Continue a run that ended early, after its last stored launch and with its own settings: RUN, or the newest"
    " run that ended early.",
)
ALLOW_OWN_CODE = click.option(
    "--allow-own-code", is_flag=True, help="With --resume: run the code and use the files that the run's plan names."
)

_BESIDE = ("resume", "allow_own_code", "strict", "no_lock", "yes", "form", "output", "results")
"""Options that change nothing of what is measured."""


def refuse_other_options(context: click.Context) -> None:
    """Refuse models and options that say what is measured: a run that is continued has its own.

    Raises:
        IrbenchError: One of them was given.
    """
    names = ", ".join(given_parameters(context, _BESIDE))
    if not names:
        return
    raise IrbenchError(
        f"--resume and {names} cannot be combined: a run is continued with the settings that it was begun with.",
        hint="Leave out either of them; without --resume another run begins.",
    )
