"""What runs measure besides speeds of inferences, and which command measures it: no plan asks for most of that."""

from __future__ import annotations

from typing import NamedTuple

from irbench.core.stored_plan import StoredPlan


class RunKind(NamedTuple):
    """What a run measures besides speeds of inferences, or in their place.

    Attributes:
        asked_by: The field of a stored plan that is there where it was asked for.
        measures: What it measures, as the object of a sentence.
        command: The command that measures it.
        is_in_plans: Whether a plan for sweeps can ask for it.
        is_continued: Whether ``irbench run --resume`` goes on with one that ended early.
    """

    asked_by: str
    measures: str
    command: str
    is_in_plans: bool = False
    is_continued: bool = False


RUN_KINDS = (
    RunKind("cold", "cold starts", "irbench run --cold", is_in_plans=True),
    RunKind("soak", "whether memory grows", "irbench soak"),
    RunKind("serving", "loads of requests", "irbench serve"),
    RunKind("corun", "models beside other programs", "irbench corun"),
    RunKind("training", "training steps", "irbench train", is_continued=True),
)


def run_kind(plan: StoredPlan) -> RunKind | None:
    """Return what a run of this plan measures; ``None`` for speeds of inferences alone."""
    return next((kind for kind in RUN_KINDS if getattr(plan, kind.asked_by)), None)


_COMMANDS_OF_PARTS = {"reduce": "irbench reduce", "gate": "irbench gate", "peak": "irbench doctor --peak"}


def command_of_part(plan: StoredPlan) -> str:
    """Return the command that made a run as a part of something larger."""
    tuning = "irbench tune-training" if plan.training else "irbench tune"
    return _COMMANDS_OF_PARTS.get(plan.is_part_of, tuning)
