"""What was written of a row, as values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.runs.stored_rows import Choice


@dataclass(frozen=True)
class Deployment:
    """A folder that runs a row without irbench.

    Attributes:
        folder: Where it is.
        run: The id of the run.
        model: What the row runs.
        row: What tables call the row.
        choice: Why it was taken: it was named, it is the winner, or it looks fastest and no winner is decided.
        checked_calls: How many calls ``check.py`` compares with expected outputs; 0 where no reference could compute
            them.
        size_bytes: Of all files of the model.
    """

    folder: Path
    run: str
    model: str
    row: str
    choice: Choice
    checked_calls: int
    size_bytes: int
