"""The options of ``irbench fleet``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from irbench.options import kinds
from irbench.options.option import CommandOptions, flag, option
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
