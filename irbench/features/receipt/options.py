"""The options of ``irbench replay``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import like
from irbench.spec import Timing


@dataclass(frozen=True)
class ReplayOptions:
    """What is replayed.

    Attributes:
        claim: The receipt's file.
        models: Where its models lie here, in the order of the plan; empty where they are where they were.
    """

    claim: Path
    models: tuple[str, ...] = ()
    force: bool = option(
        kinds.FLAG,
        "Replay even if the machine, the versions or the confinement of workers differ.",
        default=False,
    )
    allow_own_code: bool = option(
        kinds.FLAG, "Run the code and use the files that the receipt's plan names.", default=False
    )
    within: float = like("within", help="Intervals that lie no further apart than this agree.", default=Timing().within)
    budget: float | None = like("budget", default_text="that of the plan")
    quick: bool = option(
        kinds.FLAG, "3 launches: shows whether the plan runs here, and decides no claim.", default=False
    )
    no_lock: bool = like("no_lock")
    results: Path | None = like("results")


REPLAY = CommandOptions("replay", ReplayOptions)
