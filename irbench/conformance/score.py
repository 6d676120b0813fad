"""Count the outcomes of cases for each backend and operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irbench.conformance.case import OUTCOMES, CaseResult, Outcome
from irbench.errors import ExitCode


@dataclass(frozen=True)
class OperatorScore:
    """How one backend did on one operator.

    Attributes:
        operator: Its name, after that of its domain where it is not ONNX's own.
        reason: The most frequent reason of the worst outcome; empty where all passed or were skipped.
    """

    operator: str
    backend: str
    counts: Mapping[Outcome, int]
    reason: str

    @property
    def perfect(self) -> bool:
        """Whether every case that was run passed."""
        return not any(self.counts[outcome] for outcome in ("wrong", "unsupported", "crashed"))


def counts(results: Iterable[CaseResult]) -> dict[Outcome, int]:
    """Return how many results have each outcome, every outcome included."""
    found = Counter(result.outcome for result in results)
    return {outcome: found[outcome] for outcome in OUTCOMES}


def operator_scores(results: Sequence[CaseResult]) -> tuple[OperatorScore, ...]:
    """Return a score for each operator and backend, by the operator's name, backends in the order of the results."""
    groups: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        groups.setdefault((result.operator, result.backend), []).append(result)
    order = {backend: place for place, backend in enumerate(dict.fromkeys(result.backend for result in results))}
    keys = sorted(groups, key=lambda key: (key[0].lower(), order[key[1]]))
    return tuple(OperatorScore(*key, counts(groups[key]), _reason(groups[key])) for key in keys)


def exit_code(results: Iterable[CaseResult]) -> ExitCode:
    """Return what the results come to: a wrong answer first, then a crash; what is unsupported is no failure."""
    outcomes = {result.outcome for result in results}
    if "wrong" in outcomes:
        return ExitCode.DIFFERENT
    return ExitCode.FAILED_CELL if "crashed" in outcomes else ExitCode.OK


def _reason(results: Sequence[CaseResult]) -> str:
    for outcome in ("crashed", "wrong", "unsupported"):
        reasons = Counter(result.reason for result in results if result.outcome == outcome)
        if reasons:
            return f"{outcome}: {reasons.most_common(1)[0][0]}"
    return ""
