"""The options of the commands that read stored runs, and of those that measure them again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds
from irbench.options.conditions import Condition, slower_than
from irbench.options.option import CommandOptions, option
from irbench.options.run import like
from irbench.spec import Timing

_WITHIN = Timing().within


@dataclass(frozen=True)
class RunFilter:
    """Which stored runs are meant; ``since`` is an age in seconds."""

    model: str | None = option(kinds.MODEL_NAME, "Only runs of this model.", metavar="NAME")
    backend: str | None = option(kinds.BACKEND, "Only runs that measured this backend or row.", metavar="NAME")
    since: float | None = option(kinds.DURATION, "Only runs no older than this, for example 12h or 7d.")
    limit: int | None = option(kinds.COUNT, "Only the newest N.", metavar="N")
    results: Path | None = like("results")


RESULTS = CommandOptions("results", RunFilter)
RESULTS_EXPORT = CommandOptions(
    "export",
    RunFilter,
    changes={
        "model": {"help": "Every run of this model."},
        "backend": {"help": "Every run that measured this backend or row."},
        "since": {"help": "Every run no older than this, for example 12h or 7d."},
        "limit": {"help": "Only the newest N of them."},
    },
)


@dataclass(frozen=True)
class CompareOptions:
    """What is compared.

    Attributes:
        base: The older side, as the user named it.
        new: The newer side.
    """

    base: str
    new: str
    fail_on: tuple[Condition, ...] = option(
        kinds.CONDITIONS,
        "Exit with 1 if a row changed by more: p50>5%, fps<-3%, peak_memory>50MB, size>0%; with 6 if that cannot be"
        " judged.",
        default=(),
    )
    within: float = like("within", default=_WITHIN)
    confirm: bool = option(
        kinds.FLAG,
        "Measure a regression again, both models side by side where available, and exit with 1 only if it is found"
        " again. Without --fail-on: a time that is longer by more than --within.",
        default=False,
    )
    allow_own_code: bool = option(
        kinds.FLAG, "Let --confirm run the code and use the files that the stored plan names.", default=False
    )
    force: bool = option(kinds.FLAG, "Compare although the machines differ.", default=False)
    results: Path | None = like("results")

    @property
    def checked(self) -> tuple[Condition, ...]:
        """The conditions: who wants regressions confirmed and names none means a longer time."""
        return self.fail_on or ((slower_than(self.within),) if self.confirm else ())


COMPARE = CommandOptions("compare", CompareOptions)


@dataclass(frozen=True)
class HistoryOptions:
    """Which history is meant.

    Attributes:
        model: The model's name, or its ONNX file; ``None`` for that of the newest run.
    """

    model: str | None = None
    backend: str | None = option(kinds.BACKEND, "Only rows of this backend.", metavar="NAME")
    machine: str | None = option(
        kinds.text('"3f2a9c"', "ID"),
        "Fingerprint, or its beginning.",
        default_text="machine of the newest run of the model",
    )
    since: float | None = option(kinds.DURATION, "Only runs no older than this, for example 90d.")
    limit: int | None = option(kinds.COUNT, "Only the newest N runs.", metavar="N")
    fail_on: tuple[Condition, ...] = option(
        kinds.CONDITIONS,
        "Exit with 1 if the last confirmed change is more, or the total change since the oldest run: p50>5%, fps<-3%;"
        " with 6 if that cannot be judged.",
        default=(),
    )
    since_run: str | None = option(kinds.RUN, "Take the total change since this run.", default_text="the oldest shown")
    results: Path | None = like("results")


HISTORY = CommandOptions("history", HistoryOptions)


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
    within: float = like("within", help="Intervals that lie no further apart than this agree.", default=_WITHIN)
    budget: float | None = like("budget", default_text="that of the plan")
    quick: bool = option(
        kinds.FLAG, "3 launches: shows whether the plan runs here, and decides no claim.", default=False
    )
    no_lock: bool = like("no_lock")
    results: Path | None = like("results")


REPLAY = CommandOptions("replay", ReplayOptions)


@dataclass(frozen=True)
class SweepOptions:
    """What is asked of a sweep besides its plan.

    Attributes:
        command: The command line; empty where there was none.
    """

    resume: bool = option(
        kinds.FLAG,
        "Go on where the sweep stopped: nothing is measured twice, and an interrupted table goes on after its last"
        " launch. Tables that could not be measured are tried again.",
        default=False,
    )
    only: tuple[str, ...] = option(
        kinds.SELECTORS,
        "Measure only these cells: batch=8,backends=ort, or the beginning of an id",
        default=(),
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
