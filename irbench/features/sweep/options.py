"""The options of ``irbench sweep``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds
from irbench.options.option import CommandOptions, flag, option
from irbench.options.run import like


@dataclass(frozen=True)
class SweepOptions:
    """What is asked of a sweep besides its plan."""

    resume: bool = flag(
        "Go on where the sweep stopped: nothing is measured twice, and an interrupted table goes on after its last"
        " launch. Tables that could not be measured are tried again."
    )
    only: tuple[str, ...] = option(
        kinds.SELECTORS, "Measure only these cells: batch=8,backends=ort, or the beginning of an id", default=()
    )
    skip: tuple[str, ...] = option(kinds.SELECTORS, "Leave these cells out", default=())
    name: str | None = like("name", help="Name the sweep.", default=None, default_text="that of the plan")
    seed: int | None = like(
        "seed", help="Seed for the order of the tables.", default=None, default_text="that of the plan"
    )
    no_lock: bool = like("no_lock")
    results: Path | None = like("results")
    command: tuple[str, ...] = ()


SWEEP = CommandOptions("sweep", SweepOptions)
