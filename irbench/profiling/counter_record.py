"""What counters saw of the operators of a profile: raw, as its document holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from irbench.counter_row import CountedLaunch, CountedWith
from irbench.record import Failure
from irbench.uncuttable import Uncuttable

CountedKind: TypeAlias = Literal["operators", "call", "model"]
"""``operators``: equal operators, of which one was counted as a model of its own; ``call``: a model that does nothing,
which shows what a call of the runtime costs; ``model``: the whole model."""


@dataclass(frozen=True)
class CountedPart:
    """A model that was counted, and what it stands for.

    Attributes:
        id: Unique in its document.
        cell: Id of the cell.
        kind: What it is.
        operators: Places of the operators in their cell, those of the counted model first; only of operators.
        nodes: Names of the nodes of the counted model, of the graph that the cell runs; only of operators.
        times: How many such models an inference consists of.
        launches: Its counted launches; a round that it lacks is one that failed, or that there was no time for.
        failure: Why there are no launches, or no more of them.
        uncuttable: Why the operators are no model, so that there was nothing to launch; ``None`` where they are one.
    """

    id: str
    cell: str
    kind: CountedKind
    operators: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()
    times: int = 1
    launches: tuple[CountedLaunch, ...] = ()
    failure: Failure | None = None
    uncuttable: Uncuttable | None = None


@dataclass(frozen=True, kw_only=True)
class ProfileCounters(CountedWith):
    """The counters of a profile, from launches whose times are not used.

    Attributes:
        planned: How many launches of each part were asked for.
        share: Of the time of a class, how much was to be counted.
        most_kinds: The most operators of a class and cell that were to be counted, equal ones once.
        parts: What was counted: whole models, calls, then operators, those first that take longest; then what could
            not be cut out.
        failures: By id of the cell, why no operators could be cut out of its graph.
        whole_only: Ids of the cells that run no ONNX graph, which operators are cut out of.
    """

    planned: int
    share: float
    most_kinds: int
    parts: tuple[CountedPart, ...] = ()
    failures: Mapping[str, Failure] = field(default_factory=dict[str, Failure])
    whole_only: tuple[str, ...] = ()
