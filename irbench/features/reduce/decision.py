"""Whether what backends did with a part of a graph is the difference that was expected."""

from __future__ import annotations

import re
from dataclasses import dataclass

from irbench.core.record import Failure
from irbench.core.row import Speedup
from irbench.features.reduce.report import Evidence, ExpectedDifference, Verdict
from irbench.options.expectation import Expectation, Failing, SlowerThan

_NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\S*/\S*|0x[0-9a-fA-F]+|\d+")
"""What differs between graphs in messages that say the same: quoted names, places in files, numbers."""


@dataclass(frozen=True)
class Decision:
    """What follows from evidence.

    Attributes:
        verdict: Whether the difference shows.
        failure: What happened instead; ``None`` unless the verdict is ``other``.
    """

    verdict: Verdict
    failure: Failure | None = None


@dataclass(frozen=True)
class SpeedRule:
    """When a part of a graph is slower on one backend.

    Attributes:
        expected: Which backend, and by how many times.
        least_lost_ms: Time that the slower one must lose on the part. Without it a search could end at a graph of one
            tiny node, on which a call of any kind is slower than another one.
    """

    expected: SlowerThan
    least_lost_ms: float = 0.0

    def decide(self, evidence: Evidence) -> Decision:
        """Return whether a graph shows the difference."""
        failure = next((facts.failure for facts in evidence.backends if facts.failure is not None), None)
        if evidence.speedup is None:
            return Decision("other", failure or Failure("measure", "the two cannot be compared"))
        verdict = ratio_verdict(evidence.speedup, self.expected.factor)
        lost = lost_ms(evidence)
        is_small = lost is not None and lost < self.least_lost_ms
        return Decision("small" if verdict == "shows" and is_small else verdict)


def ratio_verdict(speedup: Speedup, factor: float) -> Verdict:
    """Return on which side of a factor the whole interval of a speedup lies.

    Args:
        speedup: Of the faster backend relative to the slower one.
        factor: The least ratio that counts.
    """
    if speedup.low is None or speedup.high is None:
        return "undecided"
    if speedup.low >= factor:
        return "shows"
    return "absent" if speedup.high < factor else "undecided"


def lost_ms(evidence: Evidence) -> float | None:
    """Return how much longer a call of the first backend takes, in milliseconds; ``None`` where it was not timed."""
    slow, fast, *_ = (*(facts.p50_ms for facts in evidence.backends), None, None)
    return None if slow is None or fast is None else slow - fast


def judge_answers(evidence: Evidence) -> Decision:
    """Return whether the outputs of the only backend are wrong."""
    (facts,) = evidence.backends
    if facts.state in ("failed", "not-applicable"):
        return Decision("other", facts.failure)
    return Decision("shows" if facts.state == "mismatch" else "absent")


def judge_failure(evidence: Evidence, first: Failure | None) -> Decision:
    """Return whether the only backend fails as it did on the whole graph.

    Args:
        evidence: On a part of the graph.
        first: How it failed on the whole graph; ``None`` for that itself.
    """
    (facts,) = evidence.backends
    if facts.state not in ("failed", "not-applicable") or facts.failure is None:
        return Decision("absent")
    if first is not None and _kind(facts.failure) != _kind(first):
        return Decision("other", facts.failure)
    return Decision("shows")


def expected_difference(expectation: Expectation) -> ExpectedDifference:
    """Return an expectation as the document has it."""
    if isinstance(expectation, SlowerThan):
        return ExpectedDifference("slower", expectation.slow, expectation.fast, expectation.factor)
    return ExpectedDifference("failing" if isinstance(expectation, Failing) else "wrong", expectation.backend)


def _kind(failure: Failure) -> tuple[str, str]:
    """Return what two failures for the same reason have in common, whatever the names in their graphs."""
    return failure.stage, " ".join(_NAMES.sub(" ", failure.message).split())
