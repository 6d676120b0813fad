"""How many things disturb measurement on a machine, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.diagnostics.finding import Finding
from irbench.quantities import plural


def diagnosis_summary(findings: Sequence[Finding]) -> str:
    """Return the number of all findings, and of those that nothing done on the machine fixes."""
    lasting = sum(finding.lasting for finding in findings)
    if not findings:
        return "Nothing found that disturbs measurement."
    if lasting == len(findings):
        return f"{plural(lasting, 'finding')}: nothing that can be fixed here disturbs measurement."
    order = ", in the order of what they usually cost" if len(findings) > 1 else ""
    fixed = f"; {lasting} of them cannot be fixed here" if lasting else ""
    return f"{plural(len(findings), 'finding')}{order}{fixed}."
