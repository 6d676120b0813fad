"""What differs between two versions of a runtime: cases of the suite with another outcome, or with other outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from irbench.conformance.case import CaseResult, OperatorChange, Outcome


def operator_changes(results: Sequence[CaseResult], first: str, second: str) -> tuple[OperatorChange, ...]:
    """Return what changed from one version to another, by operator; changed outcomes come first."""
    before = {result.name: result for result in results if result.backend == first}
    groups: dict[tuple[str, Outcome, Outcome], list[tuple[CaseResult, CaseResult]]] = {}
    for after in (result for result in results if result.backend == second):
        pair = (before[after.name], after)
        if _differ(*pair):
            groups.setdefault((after.operator, pair[0].outcome, after.outcome), []).append(pair)
    changes = [
        OperatorChange(*key, cases=tuple(after.name for _, after in pairs), reason=_reason(pairs))
        for key, pairs in groups.items()
    ]
    return tuple(sorted(changes, key=lambda change: (not change.is_of_outcome, change.operator.lower())))


def _differ(before: CaseResult, after: CaseResult) -> bool:
    return (before.outcome, before.outputs_sha256) != (after.outcome, after.outputs_sha256)


def _reason(pairs: Sequence[tuple[CaseResult, CaseResult]]) -> str:
    reasons = Counter(after.reason or before.reason for before, after in pairs)
    return reasons.most_common(1)[0][0]
