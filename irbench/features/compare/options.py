"""The options of ``irbench compare``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds
from irbench.options.conditions import Condition, slower_than
from irbench.options.option import CommandOptions, option
from irbench.options.run import like
from irbench.spec import Timing


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
        "Exit with 1 if a row got worse by more: p50:5%, fps:3%, peak_memory:50MB, size:0%; also 'p50>5%', in quotes."
        " Exit with 6 if that cannot be judged.",
        default=(),
    )
    within: float = like("within", default=Timing().within)
    confirm: bool = option(
        kinds.FLAG,
        "Measure again what regressed or could not be judged, both models side by side where available, and exit with 1"
        " only if a regression is found then. Without --fail-on: a time that is longer by more than --within.",
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
