"""What is asked of a profile, as one typed request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from os import PathLike
from typing import Any, TypedDict, cast

from irbench.api import values
from irbench.api.compared_levels import compared_levels
from irbench.api.input_values import Data
from irbench.api.options import RUN_READERS, Readers, RunOptions, read_keywords
from irbench.errors import IrbenchError
from irbench.optimizer import UNOPTIMIZED
from irbench.runner.profiling import ProfilePlan
from irbench.stats.intervals import MOST_LAUNCHES

__all__ = ["TOP", "ProfileKeywords", "ProfileOptions", "profile_options", "profile_plan"]

TOP = 20
"""Rows of a table of nodes or operators."""


class ProfileKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.profile` that :func:`irbench.run` has too; ``None`` is the default of each.

    Attributes:
        imports: Modules to import before a model is exported.
        backends: Backends, each with a device after a colon; every installed one that can read the model by default.
        batch: Samples per inference.
        shape: Shapes of inputs, or sizes of dynamic dimensions, by name.
        data: Samples that take turns: a file or folder, or arrays by input, or a list of those.
        value: Constants for inputs.
        precision: ``fp32``, ``bf16``, ``fp16``, ``int8`` or ``native``.
        optimize: A level of optimisation.
        threads: Total of each process, or ``native``.
        cpus: Processors that the backends may use.
        set: Properties by backend, then by key.
        counters: Also count what each class of operators does, in launches of their own: ``"software"``, ``"ipc"``,
            ``"cache"``, ``"branch"``, ``"topdown"``, or events that ``perf list`` names.
        seed: Of inputs and of the order of measurements.
        deadline: When a backend that gives no answer is ended.
        no_lock: Measure though another irbench does on this machine.
        results: The folder where results are kept.
    """

    imports: str | Iterable[str] | None
    backends: str | Iterable[str] | None
    batch: int | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    precision: str | None
    optimize: str | None
    threads: int | str | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    counters: str | Iterable[str] | None
    seed: int | None
    deadline: str | float | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None


@dataclass(frozen=True)
class ProfileOptions:
    """What is profiled.

    Attributes:
        run: What is profiled, with the settings of a run; it has one model.
        plan: How long it takes.
        compared: Two levels of optimisation, by name; empty where none are compared.
    """

    run: RunOptions
    plan: ProfilePlan = field(default_factory=ProfilePlan)
    compared: tuple[str, ...] = ()

    @property
    def asked(self) -> RunOptions:
        """The settings of the run, with the levels that are compared."""
        return replace(self.run, optimize=self.compared) if self.compared else self.run

    def require_one_table(self) -> None:
        """Refuse options that would make several tables, or rows that no profile tells apart.

        Raises:
            IrbenchError: There are several values of an option, or two options contradict each other.
        """
        several = {"--batch": self.run.batch, "--threads": self.run.threads, "--precision": self.run.precision}
        for option, given in several.items():
            if given is not None and len(given) > 1:
                raise IrbenchError(f"{option} takes one value for a profile.", hint="Profile once for each.")
        if self.compared and self.run.optimize != (UNOPTIMIZED,):
            raise IrbenchError("--compare and --optimize cannot be combined.", hint="--compare names both levels.")
        if len(self.run.optimize) > 1:
            raise IrbenchError(
                "--optimize takes one level for a profile.", hint="Compare two: --compare graph+extended"
            )


def profile_options(model: str, own: Mapping[str, Any], options: ProfileKeywords) -> ProfileOptions:
    """Return what keywords of Python ask for.

    Args:
        model: As the user named it.
        own: The keywords that a profile alone has.
        options: Those of :class:`ProfileKeywords`.

    Raises:
        TypeError: There is no such keyword.
        IrbenchError: A value is none that the keyword takes.
    """
    read = read_keywords("profile", own, _OWN_READERS)
    readers = {name: RUN_READERS[name] for name in ProfileKeywords.__annotations__}
    run = RunOptions(models=(model,), **read_keywords("profile", cast("Mapping[str, Any]", options), readers))
    plan = profile_plan(read.get("launches"), read.get("inferences"), read.get("budget"))
    return ProfileOptions(run, plan, read.get("compare", ()))


def profile_plan(launches: int | None, inferences: int | None, budget_s: float | None) -> ProfilePlan:
    """Return how long a profile takes; ``None`` is the default of each.

    Args:
        launches: Of each cell; of each model that is counted, too.
        inferences: That are profiled in each launch, at least.
        budget_s: For all launches.

    Raises:
        IrbenchError: These are more launches than intervals can be computed of.
    """
    if launches is not None and launches > MOST_LAUNCHES:
        raise IrbenchError(
            f"A profile has at most {MOST_LAUNCHES} launches, not {launches}.", hint="Give fewer: --launches 20"
        )
    usual = ProfilePlan()
    return ProfilePlan(
        launches=launches or usual.launches,
        inferences=inferences or usual.inferences,
        budget_s=budget_s or usual.budget_s,
        counted_launches=launches or usual.counted_launches,
    )


_OWN_READERS: Readers = {
    "compare": ('"graph+extended"', compared_levels),
    "launches": ("4", values.count),
    "inferences": ("20", values.count),
    "budget": ('"5m", or 300', values.duration_s),
}
