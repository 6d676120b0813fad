"""A model that every target is asked for by a command of irbench, in the form of a plan: a table for each model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError
from irbench.features.fleet.messages import Command
from irbench.features.plan.expansion import Expansion, SweepCell, SweepTable
from irbench.features.plan.reading import SweepPlan
from irbench.options.option import CommandOptions
from irbench.options.run import option_of_key, plan_key

COMMAND = "command"
"""The key of a journal's plan that says which command is asked for; no plan in a file has it."""
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9._+-]+")
_LONGEST = 60


def plan_of_models(
    command: Command, declared: CommandOptions[Any], models: Sequence[str], values: Mapping[str, Any]
) -> SweepPlan:
    """Return what is asked of every target as a plan; models and data are relative to the working folder.

    Args:
        command: That measures a model there.
        declared: Its options.
        models: A table for each.
        values: Of options, as they were read, by name.

    Raises:
        IrbenchError: The data are arrays in memory.
    """
    if isinstance(values.get("data"), tuple):
        raise IrbenchError(
            "A fleet sends files, and no arrays in memory.", hint="Write them to a file: --data FILE.npz"
        )
    settings = {
        plan_key(name): option.kind.written(values[name])
        for name, option in declared.options.items()
        if values.get(name) not in (None, (), {}, "", option.default)
    }
    tables = tuple(SweepTable((SweepCell({"models": model, **settings}),), ()) for model in models)
    stem = _NOT_OF_A_NAME.sub("-", Path(models[0]).name)[:_LONGEST]
    document = {COMMAND: command, "models": list(models), **settings}
    return SweepPlan(f"{command}-{stem}", Path.cwd(), document, Expansion(tables, seed=0))


def command_of(plan: Mapping[str, Any]) -> Command:
    """Return which command measures what a journal calls its plan."""
    command: Command = plan.get(COMMAND, "sweep")
    return command


def keywords_of(table: SweepTable, folder: Path) -> dict[str, Any]:
    """Return the options that a table asks for as keywords of Python; data lie in a folder."""
    keywords = {option_of_key(key): value for key, value in table.shared.items() if key != "models"}
    if "data" in keywords:
        keywords["data"] = str(folder / keywords["data"])
    return keywords
