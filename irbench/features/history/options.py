"""The options of ``irbench history``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds
from irbench.options.conditions import Condition
from irbench.options.option import CommandOptions, option
from irbench.options.run import like


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
        "Exit with 1 if a figure got worse by more, in the last confirmed change or since the oldest run: p50:5%,"
        " fps:3%; also 'p50>5%', in quotes. Exit with 6 if that cannot be judged.",
        default=(),
    )
    since_run: str | None = option(kinds.RUN, "Take the total change since this run.", default_text="the oldest shown")
    results: Path | None = like("results")


HISTORY = CommandOptions("history", HistoryOptions)
