"""What was found out about the targets of a fleet before they measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from irbench.api.display import Displayable
from irbench.errors import ExitCode
from irbench.features.fleet.messages import TargetFacts
from irbench.features.fleet.options import FLEET
from irbench.features.fleet.problems import TargetProblem
from irbench.roofline import Bandwidth, ComputePeak

if TYPE_CHECKING:
    from rich.console import RenderableType


class FoundByDoctor(msgspec.Struct, frozen=True):
    """One finding of a doctor on a target; see :mod:`irbench.features.doctor.findings`."""

    code: str
    found: str = ""
    remedy: str = ""


class BackendFound(msgspec.Struct, frozen=True):
    """A backend on a target: the version of its runtime, and why it cannot run; ``None`` where it can."""

    name: str
    version: str | None = None
    problem: str | None = None


class PeaksFound(msgspec.Struct, frozen=True):
    """What a machine attains at most; see :class:`irbench.roofline.MachinePeaks`."""

    compute: tuple[ComputePeak, ...] = ()
    bandwidth: tuple[Bandwidth, ...] = ()


class DoctorAnswer(msgspec.Struct, frozen=True):
    """What is read of the answer of a doctor on a target."""

    verdict: str
    findings: tuple[FoundByDoctor, ...] = ()
    backends: tuple[BackendFound, ...] = ()
    peak: PeaksFound | None = None


class TargetDiagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about a target.

    Attributes:
        problem: Why it may not measure; ``None`` where it may.
        clock_ahead_s: By how much its clock is ahead of this machine's; ``None`` where nobody knows.
    """

    name: str
    problem: TargetProblem | None = None
    facts: TargetFacts | None = None
    doctor: DoctorAnswer | None = None
    clock_ahead_s: float | None = None


class FleetDiagnosis(Displayable):
    """What was found out about all targets."""

    _command = FLEET

    def __init__(self, targets: Sequence[TargetDiagnosis]) -> None:
        self.targets = tuple(targets)

    @property
    def exit_code(self) -> int:
        """2 where no target may measure, 3 where some may not, otherwise 0."""
        usable = [not target.problem for target in self.targets]
        return int(ExitCode.OK if all(usable) else ExitCode.FAILED_CELL if any(usable) else ExitCode.USAGE)

    def to_json(self) -> str:
        """Return it as JSON."""
        from irbench.render.text_formats import json_text

        return json_text({"targets": msgspec.to_builtins(self.targets)}, indent=2)

    def __repr__(self) -> str:
        """Return how many targets may measure."""
        usable = sum(not target.problem for target in self.targets)
        return f"<FleetDiagnosis: {usable} of {len(self.targets)} targets may measure>"

    def __rich__(self) -> RenderableType:
        """Return the table as ``irbench fleet doctor`` prints it; called by rich."""
        from irbench.features.fleet.view import diagnosis_view

        return diagnosis_view(self.targets)
