"""What a search for the smallest graph tells while it runs, as facts that the view writes as lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from irbench.features.reduce.report import GraphEvidence, TriedPart, Verdict


@dataclass(frozen=True)
class BudgetTooShort:
    """The budget is less than the whole graph takes until it has an interval; with another it would be enough."""

    budget_s: float
    least_s: float
    enough_s: float


@dataclass(frozen=True)
class WholeExtended:
    """The whole graph is measured for its share of the budget, or for longer where it has no interval by then."""

    share_s: float
    most_s: float


@dataclass(frozen=True)
class WholeTried:
    """What the whole graph showed."""

    evidence: GraphEvidence
    verdict: Verdict


@dataclass(frozen=True)
class SearchBegun:
    """The search begins in so many nodes, some of which compute fixed shapes and constants."""

    nodes: int
    static: int


@dataclass(frozen=True)
class SearchContinued:
    """A part was refuted, and the search goes on in a larger one."""

    nodes: int


@dataclass(frozen=True)
class Confirming:
    """The smallest part is measured once more."""

    nodes: int


@dataclass(frozen=True)
class SearchInterrupted:
    """The user ended the search."""


SearchFact: TypeAlias = (
    BudgetTooShort
    | WholeExtended
    | WholeTried
    | SearchBegun
    | TriedPart
    | SearchContinued
    | Confirming
    | SearchInterrupted
)
Tell: TypeAlias = Callable[[SearchFact], None]
