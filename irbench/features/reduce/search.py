"""Search for the smallest part of a graph that shows a difference, by delta debugging.

Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Trans. Software Engineering 28 (2002),
with windows of the topological order in place of their chunks: half of a graph is its beginning, its end or its middle.
A difference that lies in no half, because it needs both ends, is found by leaving ever smaller parts out.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from irbench.core.address import BackendAddress
from irbench.core.graph_record import Uncuttable
from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.features.reduce.cutting import CutRequest, GraphOutline, GraphPart, GraphSource, cut_parts, read_outline
from irbench.features.reduce.expectation import SlowerThan
from irbench.features.reduce.judge import GraphDecision, Judge
from irbench.features.reduce.options import ReduceOptions
from irbench.features.reduce.report import (
    Conclusion,
    GraphEvidence,
    KeptNode,
    ReducedGraph,
    ReductionReport,
    TriedPart,
    Verdict,
    expected_difference,
)
from irbench.features.reduce.reproduction import MODEL_FILE, code_without_irbench, repeat_command, script
from irbench.features.reduce.search_facts import (
    BudgetTooShort,
    Confirming,
    SearchBegun,
    SearchContinued,
    SearchInterrupted,
    Tell,
    WholeTried,
)
from irbench.features.reduce.speed import interval_seconds, longest_interval_seconds
from irbench.measure.clock import Stopwatch
from irbench.spec import Load
from irbench.spi import Usage
from irbench.system.signals import signals_deferred

_PARTS_ALONE = 4
"""In how many parts a graph is divided at most where each part is tried alone: smaller ones hardly show what none of
these does, and there are many."""
SHORTEST_TRIAL_S = 5.0
"""Less is too little for a measurement."""
_SHARE_OF_WHOLE = 0.3
"""Of the budget, what measuring the whole graph may take, or more where that is too little for an interval."""
_SHARE_OF_CONFIRMATION = 0.25
"""Of the budget, what is left for measuring the smallest part again."""
_CONCLUSIONS: dict[str, Conclusion] = {"absent": "absent", "undecided": "undecided"}
Nodes: TypeAlias = tuple[int, ...]
"""Places of nodes in a graph, in its order."""


def smallest(nodes: Nodes, sizes: Mapping[int, int], shows: Callable[[Nodes], bool]) -> Nodes:
    """Return the fewest nodes found that show what all of them do: leaving out any one of them alone did not show it.

    Of parts with equally many nodes the one with the smallest weights is tried first. No part is tried twice.

    Args:
        nodes: All that show it.
        sizes: Of each node's weights, in bytes.
        shows: Whether some nodes, never all of ``nodes``, show it. What it raises ends the search.
    """
    tried = {nodes: True}

    def is_shown(part: Nodes) -> bool:
        if part not in tried:
            tried[part] = shows(part)
        return tried[part]

    parts = 2
    while len(nodes) > 1:
        smaller = next((part for part in _parts(nodes, parts, sizes) if is_shown(part)), None)
        if smaller is not None:
            parts = 2 if len(smaller) * 2 <= len(nodes) + 1 else max(2, parts - 1)
            nodes = smaller
        elif parts >= len(nodes):
            break
        else:
            parts = min(2 * parts, len(nodes))
    return nodes


def _parts(nodes: Nodes, count: int, sizes: Mapping[int, int]) -> Iterator[Nodes]:
    """Yield parts alone, then all nodes without one part; of each, those with the fewest nodes first."""
    count = min(count, len(nodes))
    divided = _divided(nodes, count)
    if count <= _PARTS_ALONE:
        alone = [*divided, *([_middle(nodes)] if count == 2 else [])]
        yield from _smallest_first(alone, sizes)
    if count > 2:
        left = [tuple(node for node in nodes if node not in set(part)) for part in divided]
        yield from _smallest_first(left, sizes)


def _divided(nodes: Nodes, count: int) -> list[Nodes]:
    edges = [round(place * len(nodes) / count) for place in range(count + 1)]
    return [nodes[start:end] for start, end in pairwise(edges) if start < end]


def _middle(nodes: Nodes) -> Nodes:
    quarter = len(nodes) // 4
    return nodes[quarter : len(nodes) - quarter] if quarter else nodes[:1]


def _smallest_first(parts: Sequence[Nodes], sizes: Mapping[int, int]) -> list[Nodes]:
    return sorted(parts, key=lambda part: (len(part), sum(sizes.get(node, 0) for node in part)))


class OutOfTime(Exception):
    """No time is left for another part."""


@dataclass(frozen=True)
class ShowingPart:
    """A part that shows the difference.

    Attributes:
        nodes: Places of its nodes.
        evidence: What decided it.
    """

    nodes: Nodes
    part: GraphPart
    evidence: GraphEvidence


@dataclass
class PartTrials:
    """Tries parts of a graph, one after the other, until the time is used up.

    Attributes:
        scratch: Where parts and the values inside the graph are kept.
        left_s: Returns how much time is left for parts.
        candidates: What was tried, in order.
        shown: Parts that show what was expected, in order, without those that were refuted.
        verdicts: What each part showed when it was last looked at.
    """

    source: GraphSource
    judge: Judge
    scratch: Path
    left_s: Callable[[], float]
    tell: Tell
    candidates: list[TriedPart] = field(default_factory=list[TriedPart])
    shown: list[ShowingPart] = field(default_factory=list[ShowingPart])
    verdicts: dict[Nodes, Verdict] = field(default_factory=dict[Nodes, Verdict])
    longest_s: float = 0.0

    def shows(self, nodes: Nodes) -> bool:
        """Return whether some nodes of the graph show the difference; none are tried twice.

        Raises:
            OutOfTime: There is no time for a measurement.
            KeyboardInterrupt: The user ended it.
        """
        if nodes in self.verdicts:
            return self.verdicts[nodes] == "shows"
        if self.left_s() < max(SHORTEST_TRIAL_S, 0.5 * self.longest_s):
            raise OutOfTime
        watch = Stopwatch()
        folder = self.scratch / f"part-{len(self.candidates)}"
        runs = folder.with_name(f"{folder.name}-runs")
        candidate = self._tried(nodes, folder, runs)
        self.longest_s = max(self.longest_s, watch.elapsed_s)
        self.candidates.append(candidate)
        self.verdicts[nodes] = candidate.verdict
        self.tell(candidate)
        if candidate.verdict != "shows":
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(runs, ignore_errors=True)
        return candidate.verdict == "shows"

    def refute(self, verdict: Verdict) -> None:
        """Note that the smallest part showed something else when it was run again."""
        self.verdicts[self.shown.pop().nodes] = verdict

    def without_one(self, nodes: Nodes) -> Mapping[Verdict, int]:
        """Return how many of the parts with one node less had each verdict."""
        smaller = (nodes[:place] + nodes[place + 1 :] for place in range(len(nodes)))
        return Counter(self.verdicts[part] for part in smaller if part in self.verdicts)

    def _tried(self, nodes: Nodes, folder: Path, runs: Path) -> TriedPart:
        try:
            (part,) = cut_parts((CutRequest(self.source, nodes, folder, self.scratch / "values"),))
            if isinstance(part, Uncuttable):
                return TriedPart(len(nodes), "other", uncuttable=part)
            runs.mkdir()
            evidence = self.judge.part(part, self.left_s(), runs)
        except IrbenchError as error:  # of this part alone: another one may be what backends can run
            return TriedPart(len(nodes), "other", failure=Failure("run", error.message, error.hint or None))
        decision = self.judge.decide(evidence)
        if decision.verdict == "shows":
            self.shown.append(ShowingPart(nodes, part, evidence))
        return TriedPart(len(nodes), decision.verdict, evidence, decision.failure)


class Reducer:
    """Runs the whole graph, then ever smaller parts of it, then the smallest one once more.

    Args:
        options: What is searched; the folder for its files is set.
        judge: Runs graphs.
        scratch: A folder that is deleted afterwards.
        tell: Receives progress.
    """

    def __init__(self, options: ReduceOptions, judge: Judge, scratch: Path, tell: Tell) -> None:
        self._options = options
        self._judge = judge
        self._scratch = scratch
        self._tell = tell
        self._watch = Stopwatch()
        self._loads: Mapping[BackendAddress, Load] = {}
        self._report = ReductionReport(
            model=options.model,
            expected=expected_difference(options.expectation),
            conclusion="interrupted",
            nodes=0,
            results=None if options.run.results is None else str(options.run.results),
        )

    def reduced(self) -> ReductionReport:
        """Search, confirm, write the files, and return the report."""
        try:
            source, decision = self._whole()
        except KeyboardInterrupt:
            self._tell(SearchInterrupted())
            return self._finished(self._report)
        if source is None or decision.verdict != "shows":
            return self._finished(replace(self._report, conclusion=_CONCLUSIONS[decision.verdict]))
        outline = read_outline(source)
        self._report = replace(self._report, nodes=len(outline.nodes))
        trials = PartTrials(source, self._judge, self._scratch, self._left_for_parts_s, self._tell)
        return self._written(outline, trials, *self._confirmed(outline, trials))

    def _whole(self) -> tuple[GraphSource | None, GraphDecision]:
        whole = self._judge.whole(self._for_whole_s(), self._folder("whole"))
        decision = self._judge.decide(whole.evidence)
        self._loads = whole.loads
        self._report = replace(self._report, full=whole.evidence)
        self._tell(WholeTried(whole.evidence, decision.verdict))
        if decision.verdict == "other":
            reason = decision.failure.message.rstrip(".") if decision.failure else "the backends cannot be compared"
            raise IrbenchError(
                f"The whole graph shows something else: {reason}.",
                hint="Expect that: `--expect-wrong` or `--expect-failure` with the name of the backend.",
            )
        if whole.source is None and decision.verdict == "shows":
            reason = next((f": {facts.failure.message}" for facts in whole.evidence.backends if facts.failure), "")
            raise IrbenchError(f"The graph cannot be cut{reason.rstrip('.')}.", hint="Give an ONNX file.")
        return whole.source, decision

    def _searched(self, outline: GraphOutline, trials: PartTrials, shown: Nodes | None = None) -> Conclusion:
        """Try smaller parts of the whole graph, or of a part that shows the difference; return how that ended."""
        sizes = {place: node.weight_bytes for place, node in enumerate(outline.nodes)}
        nodes = len(outline.nodes)
        self._tell(SearchContinued(len(shown)) if shown else SearchBegun(nodes, nodes - len(outline.searched)))
        try:
            left = smallest(shown or _start(outline, trials), sizes, trials.shows)
        except OutOfTime:
            return "stopped"
        except KeyboardInterrupt:
            self._tell(SearchInterrupted())
            return "interrupted"
        return "whole" if len(left) == nodes else "reduced"

    def _confirmed(self, outline: GraphOutline, trials: PartTrials) -> tuple[ShowingPart | None, Verdict | None]:
        """Search, and return the smallest part that was not refuted when it was run again, and its verdict then.

        Where a part is refuted, the search goes on from the next larger one.
        """
        conclusion = self._searched(outline, trials)
        verdict = None
        while trials.shown and conclusion != "interrupted":
            try:
                evidence = self._evidence_again(trials.shown[-1])
            except KeyboardInterrupt:
                self._tell(SearchInterrupted())
                conclusion = "interrupted"
                break
            if evidence is None:
                break
            verdict = self._judge.decide(evidence).verdict
            trials.shown[-1] = replace(trials.shown[-1], evidence=evidence)
            if verdict in ("shows", "undecided"):
                break
            if len(trials.shown) == 1:
                conclusion = "unconfirmed"
                break
            trials.refute(verdict)
            verdict = None
            self._report = replace(self._report, not_confirmed=self._report.not_confirmed + 1)
            conclusion = self._searched(outline, trials, trials.shown[-1].nodes)
        self._report = replace(self._report, conclusion=conclusion)
        return (trials.shown[-1] if trials.shown else None), verdict

    def _evidence_again(self, shown: ShowingPart) -> GraphEvidence | None:
        """Return what the backends do with a part now; ``None`` where nothing is timed, or no time is left."""
        left_s = self._options.budget - self._watch.elapsed_s
        if not self._is_timed or left_s < SHORTEST_TRIAL_S:
            return None
        self._tell(Confirming(len(shown.nodes)))
        return self._judge.confirm(self._placed(shown), left_s, self._folder(f"again-{self._report.not_confirmed}"))

    def _written(
        self, outline: GraphOutline, trials: PartTrials, shown: ShowingPart | None, confirmation: Verdict | None
    ) -> ReductionReport:
        report = replace(self._report, candidates=tuple(trials.candidates))
        if shown is None:
            return self._finished(report)
        part = self._placed(shown)
        kept = [outline.nodes[place] for place in shown.nodes]
        reduced = ReducedGraph(
            nodes=tuple(KeptNode(node.name, node.op_type, node.domain) for node in kept),
            inputs=part.inputs,
            outputs=part.outputs,
            size_bytes=part.size_bytes,
            evidence=shown.evidence,
            confirmation=confirmation,
            without_one_node=trials.without_one(shown.nodes),
            has_expected=part.has_expected,
        )
        repeat, folder = repeat_command(self._options), str(part.model.parent)
        usages = code_without_irbench(self._loads, part.inputs, part.outputs)
        code = {backend: self._script(backend, usage, part, shown) for backend, usage in usages}
        return self._finished(replace(report, reduced=reduced, repeat=repeat, folder=folder, code=code))

    def _script(self, backend: str, usage: Usage, part: GraphPart, shown: ShowingPart) -> str:
        times_ms = {facts.label: facts.p50_ms for facts in shown.evidence.backends}
        outputs = part.outputs if part.has_expected else ()
        return script(usage, self._report.expected.criterion, outputs, times_ms.get(backend))

    def _placed(self, shown: ShowingPart) -> GraphPart:
        """Copy a part to the user's folder, whatever signals arrive, and return it there."""
        folder, part = self._options.output, shown.part
        assert folder is not None
        with signals_deferred():
            _copy(part.model.parent, folder)
        return replace(part, model=folder / part.model.name, data=folder / part.data.name)

    def _finished(self, report: ReductionReport) -> ReductionReport:
        return replace(report, seconds=self._watch.elapsed_s)

    @property
    def _is_timed(self) -> bool:
        return isinstance(self._options.expectation, SlowerThan)

    def _for_whole_s(self) -> float:
        """Return the time for the whole graph: up to all of a small budget, since an interval is needed to decide."""
        budget_s, least_s = self._options.budget, interval_seconds()
        if not self._is_timed:
            return budget_s
        share_s = _SHARE_OF_WHOLE * budget_s
        if budget_s < least_s:
            self._tell(BudgetTooShort(budget_s, least_s, least_s / _SHARE_OF_CONFIRMATION))
        return max(share_s, min(budget_s, longest_interval_seconds()))

    def _left_for_parts_s(self) -> float:
        kept_s = _SHARE_OF_CONFIRMATION * self._options.budget if self._is_timed else 0.0
        return self._options.budget - kept_s - self._watch.elapsed_s

    def _folder(self, name: str) -> Path:
        folder = self._scratch / name
        folder.mkdir()
        return folder


def _start(outline: GraphOutline, trials: PartTrials) -> Nodes:
    """Return all nodes, or only those that do more than compute constants if they show it too."""
    places, searched = tuple(range(len(outline.nodes))), outline.searched
    return searched if searched and (searched == places or trials.shows(searched)) else places


def _copy(source: Path, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for larger in folder.glob(f"{MODEL_FILE}*"):  # whose weights may lie in a second file
            larger.unlink()
        for file in source.iterdir():
            shutil.copyfile(file, folder / file.name)
    except OSError as error:
        for file in source.iterdir():  # a part of a file would pass for one
            with contextlib.suppress(OSError):
                (folder / file.name).unlink()
        raise unwritable(folder, error) from error


def unwritable(folder: Path, error: OSError) -> IrbenchError:
    """Return the error of a folder that cannot be written."""
    return IrbenchError(f"{folder} cannot be written: {error.strerror}.", hint="Name another folder with -o.")
