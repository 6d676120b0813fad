"""Find the pass that broke a graph by repeating all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irbench.optimizer.bodies import Body
from irbench.optimizer.comparison import Graph, WrongAnswer
from irbench.optimizer.step_check import BrokenModel, StepCheck
from irbench.spec import Artifact

if TYPE_CHECKING:
    import onnx_ir


@dataclass(frozen=True)
class Change:
    """A step that was done.

    Attributes:
        name: Its name.
        apply: What it does to a model.
        artifact: Inputs and outputs of the graph after it.
        modified: Whether it changed anything.
    """

    name: str
    apply: Callable[[onnx_ir.Model], object]
    artifact: Artifact
    modified: bool


def blamed_pass(
    check: StepCheck, first: Graph, changes: Sequence[Change], wrong: WrongAnswer, bodies: Sequence[Body]
) -> BrokenModel:
    """Return the error that names the first step after which an answer is wrong.

    Args:
        check: Asks a graph.
        first: The graph before the first step; it is changed.
        changes: The steps.
        wrong: What the graph answers wrong after all of them.
        bodies: The bodies of the first graph.
    """
    name = "raise_opset"  # the one step that is done to the graph before these
    for change in changes:
        change.apply(first.model)
        if not change.modified:
            continue
        name = change.name
        try:
            check.repeat(Graph(first.model, change.artifact), wrong, bodies)
        except Exception:  # noqa: BLE001 - a runtime may report in a way of its own that it cannot load a graph
            break
    return check.broken(name, wrong)
