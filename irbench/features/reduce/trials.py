"""Cut parts out of a graph, have them judged, and remember those that show what was expected."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from irbench.api.progress import Say
from irbench.core.graph_record import Uncuttable
from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.features.reduce.activations import GraphSource
from irbench.features.reduce.cutting import CutRequest, Part, cut_parts
from irbench.features.reduce.judge import Judge
from irbench.features.reduce.progress_view import candidate_text
from irbench.features.reduce.report import Candidate, Evidence, Verdict
from irbench.features.reduce.search import Nodes
from irbench.measure.clock import Stopwatch

SHORTEST_TRIAL_S = 5.0
"""Less is no time for a measurement."""


class OutOfTime(Exception):
    """There is no time for another part."""


@dataclass(frozen=True)
class Shown:
    """A part that shows what was expected.

    Attributes:
        nodes: Places of its nodes.
        part: Its files.
        evidence: What decided it.
    """

    nodes: Nodes
    part: Part
    evidence: Evidence


@dataclass
class PartTrials:
    """Tries parts of a graph, one after the other, until the time is used up.

    Attributes:
        source: The graph.
        judge: Looks at parts.
        scratch: Where parts and the values inside the graph are kept.
        left_s: Returns how much time is left for parts.
        say: Receives what each part showed.
        candidates: What was tried, in order.
        shown: Parts that show what was expected, in order, without those that were refuted.
        verdicts: What each part showed when it was last looked at.
    """

    source: GraphSource
    judge: Judge
    scratch: Path
    left_s: Callable[[], float]
    say: Say
    candidates: list[Candidate] = field(default_factory=list[Candidate])
    shown: list[Shown] = field(default_factory=list[Shown])
    verdicts: dict[Nodes, Verdict] = field(default_factory=dict[Nodes, Verdict])
    longest_s: float = 0.0

    def shows(self, nodes: Nodes) -> bool:
        """Return whether some nodes of the graph show what was expected; no nodes are tried twice.

        Raises:
            OutOfTime: It takes longer than there is time.
            KeyboardInterrupt: The user ended it.
        """
        if nodes in self.verdicts:
            return self.verdicts[nodes] == "shows"
        if self.left_s() < max(SHORTEST_TRIAL_S, 0.5 * self.longest_s):
            raise OutOfTime
        watch = Stopwatch()
        folder = self.scratch / f"part-{len(self.candidates)}"
        candidate = self._tried(nodes, folder)
        self.longest_s = max(self.longest_s, watch.elapsed_s)
        self.candidates.append(candidate)
        self.verdicts[nodes] = candidate.verdict
        self.say(candidate_text(candidate))
        if candidate.verdict != "shows":
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(_workshop(folder), ignore_errors=True)
        return candidate.verdict == "shows"

    def refute(self, verdict: Verdict) -> None:
        """Note that the smallest part showed something else when it was looked at again."""
        self.verdicts[self.shown.pop().nodes] = verdict

    def without_one(self, nodes: Nodes) -> Mapping[Verdict, int]:
        """Return how many of the parts with one node less had each verdict."""
        smaller = (nodes[:place] + nodes[place + 1 :] for place in range(len(nodes)))
        return Counter(self.verdicts[part] for part in smaller if part in self.verdicts)

    def cut(self, nodes: Nodes, folder: Path) -> Part | Uncuttable:
        """Write some nodes as a model of its own, with its inputs.

        Raises:
            IrbenchError: No reference can compute its inputs.
        """
        request = CutRequest(self.source, nodes, folder, self.scratch / "values")
        (made,) = cut_parts((request,))
        return made

    def _tried(self, nodes: Nodes, folder: Path) -> Candidate:
        try:
            part = self.cut(nodes, folder)
            if isinstance(part, Uncuttable):
                return Candidate(len(nodes), "other", uncuttable=part)
            workshop = _workshop(folder)
            workshop.mkdir()
            evidence = self.judge.part(part, self.left_s(), workshop)
        except IrbenchError as error:  # of this part alone: another one may be what backends can run
            return Candidate(len(nodes), "other", failure=Failure("run", error.message, error.hint or None))
        decision = self.judge.decide(evidence)
        if decision.verdict == "shows":
            self.shown.append(Shown(nodes, part, evidence))
        return Candidate(len(nodes), decision.verdict, evidence, decision.failure)


def _workshop(folder: Path) -> Path:
    """Return where a part is measured: what is written there is gone afterwards."""
    return folder.with_name(f"{folder.name}-runs")
