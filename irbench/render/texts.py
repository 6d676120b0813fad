"""The words of every warning, in the order of what they cost the answer.

A warning has a short sentence that fits on one line, further sentences, and a remedy; the last two come on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from irbench.notices import Context, Warn, WarningCode
from irbench.render.comparison_texts import COMPARISON_TEXTS
from irbench.render.machine_texts import MACHINE_TEXTS
from irbench.render.text_types import WarningText, said
from irbench.render.throughput_texts import THROUGHPUT_TEXTS

_BY_COST: tuple[WarningCode, ...] = (
    "unverified",
    "degenerate-outputs",
    "baseline-replaced",
    "tail-omitted",
    "few-clean-blocks",
    "many-dirty-blocks",
    "busy-machine",
    "cpu-quota",
    "stolen-time",
    "starved-streams",
    "too-few-launches",
    "orders-differ",
    "excluded-blocks-matter",
    "regime-change",
    "two-modes",
    "waits-on-itself",
    "threads-differ",
    "still-warming-up",
    "alone-unlike-rounds",
    "not-steady",
    "launches-depend",
    "sustained-differs",
    "paced-differs",
    "fps-differ",
    "not-frozen",
    "slow-launches",
    "wide-interval",
)
"""What is wrong, then what is disturbed, then what is another question, then what is only imprecise."""


WARNINGS: Mapping[WarningCode, WarningText] = {
    code: {**MACHINE_TEXTS, **COMPARISON_TEXTS, **THROUGHPUT_TEXTS}[code] for code in _BY_COST
}


@dataclass(frozen=True)
class WarningWords:
    """A warning in words.

    Attributes:
        code: Under which it is explained.
        brief: One short sentence.
        more: Further sentences, and the remedy.
    """

    code: str
    brief: str
    more: str

    @property
    def whole(self) -> str:
        """All of it."""
        return f"{self.brief} {self.more}".strip()


def warning_words(warning: Warn, context: Context) -> WarningWords:
    """Return a warning in words.

    Args:
        warning: What was found.
        context: The names of rows, and which remedies are left.
    """
    text, facts = WARNINGS[warning.code], warning.facts
    code = warning.code
    brief, detail, remedy = (said(say, code, facts, context) for say in (text.brief, text.detail, text.remedy))
    return WarningWords(code, brief, " ".join(filter(None, (detail, remedy))))


def by_cost(warnings: Iterable[Warn]) -> list[Warn]:
    """Return warnings with those first that cost the answer most."""
    ranks = {str(code): rank for rank, code in enumerate(WARNINGS)}
    return sorted(warnings, key=lambda warning: ranks[warning.code])
