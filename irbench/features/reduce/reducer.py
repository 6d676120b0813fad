"""Drive a reduction: the whole graph, then ever smaller parts of it, then the smallest one once more."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from irbench.api.progress import Say
from irbench.errors import IrbenchError
from irbench.features.reduce.activations import GraphSource
from irbench.features.reduce.cutting import Part, read_outline
from irbench.features.reduce.decision import Decision, expected_difference
from irbench.features.reduce.files import MODEL_FILE, script
from irbench.features.reduce.judge import Judge, code_without_irbench
from irbench.features.reduce.outline import GraphOutline
from irbench.features.reduce.progress_view import (
    confirming_text,
    searching_on_text,
    searching_text,
    short_budget_text,
    whole_text,
)
from irbench.features.reduce.report import Conclusion, Evidence, KeptNode, ReducedGraph, ReductionReport, Verdict
from irbench.features.reduce.request import ReduceOptions, repeat_command
from irbench.features.reduce.schedule import interval_seconds, longest_interval_seconds
from irbench.features.reduce.search import Nodes, smallest
from irbench.features.reduce.trials import SHORTEST_TRIAL_S, OutOfTime, PartTrials, Shown
from irbench.measure.clock import Stopwatch
from irbench.options.expectation import SlowerThan
from irbench.spi import Usage
from irbench.system.signals import signals_deferred

_SHARE_OF_WHOLE = 0.3
"""Of the budget, what measuring the whole graph may take, or more where that is too little for an interval."""
_SHARE_OF_CONFIRMATION = 0.25
"""Of the budget, what is left for measuring the smallest part again."""


class Reducer:
    """A search while it runs.

    Args:
        options: What is searched; the folder for its files is set.
        judge: Looks at graphs.
        scratch: A folder that is gone afterwards.
        say: Receives progress.
    """

    def __init__(self, options: ReduceOptions, judge: Judge, scratch: Path, say: Say) -> None:
        self._options = options
        self._judge = judge
        self._scratch = scratch
        self._say = say
        self._watch = Stopwatch()
        self._usage: dict[str, Usage] = {}
        self._report = ReductionReport(
            model=options.model,
            expected=expected_difference(options.expectation),
            conclusion="interrupted",
            nodes=0,
            results=None if options.run.results is None else str(options.run.results),
        )

    def reduced(self) -> ReductionReport:
        """Search, confirm, write the files, and return what was found.

        Raises:
            IrbenchError: The whole graph cannot be run, or the files cannot be written.
        """
        try:
            source, decision = self._whole()
        except KeyboardInterrupt:
            self._say("interrupted")
            return self._finished(self._report)
        if source is None or decision.verdict != "shows":
            return self._finished(replace(self._report, conclusion=_CONCLUSIONS[decision.verdict]))
        outline = read_outline(source)
        self._report = replace(self._report, nodes=len(outline.nodes))
        trials = PartTrials(source, self._judge, self._scratch, self._left_for_parts_s, self._say)
        return self._written(outline, trials, self._confirmed(outline, trials))

    def _whole(self) -> tuple[GraphSource | None, Decision]:
        """Look at the whole graph.

        Raises:
            IrbenchError: It cannot be run, or something else is wrong with it.
        """
        folder = self._folder("whole")
        whole = self._judge.whole(self._for_whole_s(), folder)
        decision = self._judge.decide(whole.evidence)
        self._usage = dict(code_without_irbench(whole.loads))
        self._report = replace(self._report, full=whole.evidence)
        self._say(whole_text(self._report, decision.verdict))
        failure = decision.failure
        if decision.verdict == "other":
            reason = "the backends cannot be compared" if failure is None else failure.message.rstrip(".")
            raise IrbenchError(
                f"The whole graph shows something else: {reason}.",
                hint="Expect that: --expect-wrong or --expect-failure with the name of the backend.",
            )
        if whole.source is None and decision.verdict == "shows":
            reason = next((f": {facts.failure.message}" for facts in whole.evidence.backends if facts.failure), "")
            raise IrbenchError(f"The graph cannot be cut{reason.rstrip('.')}.", hint="Give an ONNX file.")
        return whole.source, decision

    def _searched(self, outline: GraphOutline, trials: PartTrials, shown: Nodes | None = None) -> Conclusion:
        """Try parts of the whole graph, or of a part that shows it, until none is smaller; return how that ended."""
        sizes = {place: node.weight_bytes for place, node in enumerate(outline.nodes)}
        self._say(searching_text(outline) if shown is None else searching_on_text(len(shown)))
        try:
            left = smallest(shown or _start(outline, trials), sizes, trials.shows)
        except OutOfTime:
            return "stopped"
        except KeyboardInterrupt:
            self._say("interrupted")
            return "interrupted"
        return "whole" if len(left) == len(outline.nodes) else "reduced"

    def _confirmed(self, outline: GraphOutline, trials: PartTrials) -> tuple[Shown | None, Verdict | None]:
        """Search, and return the smallest part that was not refuted when it was looked at again, and its verdict then.

        Where a part is refuted, the search goes on from the next larger one.
        """
        conclusion = self._searched(outline, trials)
        verdict = None
        while trials.shown and conclusion != "interrupted":
            try:
                evidence = self._evidence_again(trials.shown[-1])
            except KeyboardInterrupt:
                self._say("interrupted")
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

    def _evidence_again(self, found: Shown) -> Evidence | None:
        """Return what the backends do with a part now; ``None`` where nothing is timed, or no time is left."""
        left_s = self._options.budget_s - self._watch.elapsed_s
        if not self._is_timed or left_s < SHORTEST_TRIAL_S:
            return None
        self._say(confirming_text(len(found.nodes)))
        return self._judge.confirm(self._placed(found), left_s, self._folder(f"again-{self._report.not_confirmed}"))

    def _written(
        self, outline: GraphOutline, trials: PartTrials, found: tuple[Shown | None, Verdict | None]
    ) -> ReductionReport:
        """Write the smallest part, and return the report with it."""
        shown, confirmation = found
        report = replace(self._report, candidates=tuple(trials.candidates))
        if shown is None:
            return self._finished(report)
        part = self._placed(shown)
        reduced = ReducedGraph(
            nodes=tuple(_kept(outline, shown)),
            inputs=part.inputs,
            outputs=part.outputs,
            size_bytes=part.size_bytes,
            evidence=shown.evidence,
            confirmation=confirmation,
            without_one_node=trials.without_one(shown.nodes),
            has_expected=part.has_expected,
        )
        repeat, folder = repeat_command(self._options), str(part.model.parent)
        code = {backend: self._script(backend, usage, part, shown) for backend, usage in self._usage.items()}
        return self._finished(replace(report, reduced=reduced, repeat=repeat, folder=folder, code=code))

    def _script(self, backend: str, usage: Usage, part: Part, shown: Shown) -> str:
        times_ms = {facts.label: facts.p50_ms for facts in shown.evidence.backends}
        outputs = part.outputs if part.has_expected else ()
        return script(usage, self._report.expected.criterion, outputs, times_ms.get(backend))

    def _placed(self, shown: Shown) -> Part:
        """Copy a part to the folder of the user's, whatever signals arrive, and return it there.

        Raises:
            IrbenchError: The folder cannot be written.
        """
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
        """Return what measuring the whole graph may take: all of a small budget, which is said where it is too small.

        Without an interval of the whole graph, nothing can be decided and no part is tried.
        """
        budget_s, least_s = self._options.budget_s, interval_seconds()
        if not self._is_timed:
            return budget_s
        share_s = _SHARE_OF_WHOLE * budget_s
        if budget_s < least_s:
            self._say(short_budget_text(budget_s, least_s, least_s / _SHARE_OF_CONFIRMATION))
        return max(share_s, min(budget_s, longest_interval_seconds()))

    def _left_for_parts_s(self) -> float:
        kept_s = _SHARE_OF_CONFIRMATION * self._options.budget_s if self._is_timed else 0.0
        return self._options.budget_s - kept_s - self._watch.elapsed_s

    def _folder(self, name: str) -> Path:
        folder = self._scratch / name
        folder.mkdir()
        return folder


_CONCLUSIONS: dict[str, Conclusion] = {"absent": "absent", "undecided": "undecided"}


def _start(outline: GraphOutline, trials: PartTrials) -> Nodes:
    """Return all nodes, or only those that do more than compute constants if they show it too."""
    places, searched = tuple(range(len(outline.nodes))), outline.searched
    return searched if searched and (searched == places or trials.shows(searched)) else places


def _kept(outline: GraphOutline, shown: Shown) -> Iterator[KeptNode]:
    for node in (outline.nodes[place] for place in shown.nodes):
        yield KeptNode(node.name, node.op_type, node.domain)


def _copy(source: Path, folder: Path) -> None:
    """Copy the files of a part.

    Raises:
        IrbenchError: The folder cannot be written.
    """
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
        raise IrbenchError(
            f"{folder} cannot be written: {error.strerror}.", hint="Name another folder with -o."
        ) from error
