"""The options of ``irbench results``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import like


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
    in_python=False,
    changes={
        "model": {"help": "Every run of this model."},
        "backend": {"help": "Every run that measured this backend or row."},
        "since": {"help": "Every run no older than this, for example 12h or 7d."},
        "limit": {"help": "Only the newest N of them."},
    },
)
