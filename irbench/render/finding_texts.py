"""The texts of the doctor's findings: the observation, its effect, and the remedy."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.diagnostics.finding import FindingCode
from irbench.notices import Facts
from irbench.render.activity_findings import ACTIVITY_FINDINGS
from irbench.render.finding_types import FindingText, FindingWords
from irbench.render.machine_findings import MACHINE_FINDINGS

FINDINGS: Mapping[FindingCode, FindingText] = {**ACTIVITY_FINDINGS, **MACHINE_FINDINGS}


def finding_words(code: FindingCode, facts: Facts) -> FindingWords:
    """Return a finding in words."""
    return FINDINGS[code](facts)
