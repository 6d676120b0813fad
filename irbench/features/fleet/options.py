"""The options of ``irbench fleet``: its own, and those of commands that it has each target measure a model by."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import Any

from irbench.features.serve.options import SERVE
from irbench.features.tune.options import TUNE
from irbench.options import kinds
from irbench.options.option import CommandOptions, field_of, flag, option, options_of
from irbench.options.run import like


@dataclass(frozen=True)
class FleetOptions:
    """What is asked of a fleet besides its plan."""

    targets: Path | None = option(
        replace(kinds.FILE, example='"fleet.toml"'),
        "The machines that measure.",
        metavar="FILE.toml",
        default_text="this machine",
    )
    scheduler: str | None = option(
        kinds.text('"tls://10.0.0.1:8786"', "ADDRESS"),
        "Scheduler of a Dask cluster that runs already; its workers with --resources measure=1 measure.",
        default_text="one that this call starts",
    )
    resume: bool = flag("Go on where the fleet stopped: nothing is measured twice. What failed is tried again.")
    only: tuple[str, ...] = option(
        kinds.SELECTORS, "Measure only these cells: batch=8,backends=ort, or the beginning of an id", default=()
    )
    skip: tuple[str, ...] = option(kinds.SELECTORS, "Leave these cells out", default=())
    patience: float = option(
        kinds.DURATION, "How long to wait for a target that is not there.", default=600.0, default_text="10m"
    )
    name: str | None = like("name", help="Name the fleet.", default=None, default_text="that of the plan")
    results: Path | None = like("results")


FLEET = CommandOptions("fleet", FleetOptions)
_BESIDE_A_MODEL = ("targets", "scheduler", "resume", "patience", "name", "results")
"""Options of a fleet that is asked for a model and not for a plan."""
_OF_ONE_MACHINE = ("all", "imports", "cells", "metric", "flip_map", "no_lock", "scenario")
"""Options that name code or models of this machine, that say how a single machine is treated, or whose results are not
compared machine by machine."""


def _on_each_target(command: CommandOptions[Any]) -> CommandOptions[FleetOptions]:
    """Return the options of a command that measures a model, and those of a fleet whose targets are asked for it."""
    fleet = options_of(FleetOptions)
    shared = {name: each for name, each in command.options.items() if name not in (*fleet, *_OF_ONE_MACHINE)}
    sections: dict[str, list[str]] = {"Machines": list(_BESIDE_A_MODEL)}
    for name, declared in shared.items():
        sections.setdefault(declared.group, []).append(name)
    return CommandOptions(
        f"fleet_{command.name}",
        FleetOptions,
        make_dataclass("Asked", [(name, Any, field_of(declared)) for name, declared in shared.items()]),
        sections={heading: tuple(names) for heading, names in sections.items()},
        changes={"name": {"default_text": f"{command.name}- and the name of the model"}},
    )


FLEET_TUNE = _on_each_target(TUNE)
FLEET_SERVE = _on_each_target(SERVE)
