"""Takes graphs along their routes, and keeps and shrinks what fails."""

from __future__ import annotations

import logging
import multiprocessing
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

import numpy as np
import onnxruntime

from irbench.core import registry

from .cases import Case, case, cases
from .judging import Judge, Unusable
from .routes import Outcome, Route, level_routes, pass_route, precision_routes, travel
from .shrinking import shrink

Breadth = Literal["quick", "usual", "thorough"]

_DEADLINE_S = 300.0
_KEPT_OF_A_KIND = 2
_OPENVINO_EVERY = 5
_CAUSES = ("topologically sorted", "inconsistent type", "input size", "is required but missing", "Add node", "fails")
_CAUSES += ("does not load", "does not match", "not finite", "off by", "Bad node spec", "is not")
"""Words of reasons that tell causes apart."""


@dataclass(frozen=True)
class Finding:
    """A graph that a route does harm to.

    Attributes:
        case: The graph.
        route: What was done to it.
        outcome: What came of it.
    """

    case: Case
    route: Route
    outcome: Outcome

    @property
    def key(self) -> str:
        """What findings share that probably have one cause."""
        said = next((words for words in _CAUSES if words in self.outcome.reason), "")
        return f"{self.outcome.step}: {self.outcome.kind}{said and ': '}{said}"

    def keep(self, folder: Path) -> Path:
        """Shrink it, write it into a folder with a line of what is wrong, and return the file."""
        folder.mkdir(parents=True, exist_ok=True)
        content, route, outcome = shrink(self.case.content, self.route, self.outcome)
        path = folder / f"{outcome.step}-{outcome.kind.replace(' ', '_')}-{self.case.name}.onnx"
        path.write_bytes(content)
        line = f"- `{path.name}`: {route.name}, {outcome.step}: {outcome.kind}: {outcome.reason}\n"
        with (folder / "INDEX.md").open("a") as index:
            index.write(line)
        return path


@dataclass
class Tally:
    """What became of the graphs.

    Attributes:
        graphs: Number of graphs by kind; ``unusable`` are those that ONNX Runtime does not run.
        changed: Number of graphs by kind that a pass changed.
        failed: Number of graphs by kind that something did harm to.
        steps: Number of outcomes by step and kind.
        refusals: Number of refusals by step and reason.
        causes: Number of findings by what they share.
        findings: The first findings of each cause.
    """

    graphs: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    steps: Counter[tuple[str, str]] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, made: Case, outcomes: Sequence[tuple[Route, Outcome]] | None) -> list[Finding]:
        """Count a graph and return its findings; without outcomes it was unusable."""
        if outcomes is None:
            self.graphs["unusable"] += 1
            return []
        self.graphs[made.kind] += 1
        self.changed[made.kind] += any(outcome.kind == "equal" and outcome.step in _passes() for _, outcome in outcomes)
        self.steps.update((outcome.step, outcome.kind) for _, outcome in outcomes)
        found = [Finding(made, route, outcome) for route, outcome in outcomes if outcome.is_failure]
        self.failed[made.kind] += bool(found)
        for finding in found:
            self.causes[finding.key] += 1
            if self.causes[finding.key] <= _KEPT_OF_A_KIND:
                self.findings.append(finding)
        return found


def _passes() -> set[str]:
    return {name for name in registry.names(registry.PASSES) if not name.startswith("fake-")}


def routes_of(made: Case, breadth: Breadth) -> list[Route]:
    """Return the routes of a graph.

    Args:
        made: The graph.
        breadth: ``quick`` for every level and, by turns, one precision; ``usual`` for a pass alone too, one that looks
            for its pattern; ``thorough`` for every level, pass and precision.
    """
    known, precisions = sorted(_passes()), precision_routes()
    if breadth == "thorough":
        return [*level_routes(), *map(pass_route, known), *precisions]
    suitable = [name for name in made.passes if name in known] or known
    alone = [pass_route(random.Random(made.name).choice(suitable))] if breadth == "usual" else []
    return [*level_routes(), *alone, precisions[made.number % len(precisions)]]


def runtimes_of(made: Case, breadth: Breadth) -> tuple[str, ...]:
    """Return the runtimes that answer after each route; OpenVINO, which takes longest to compile, seldom."""
    return ("ort", "openvino") if breadth == "thorough" or made.number % _OPENVINO_EVERY == 0 else ("ort",)


def examine(
    made: Case, runtimes: Sequence[str], breadth: Breadth = "usual", say: Callable[[str], None] = lambda _: None
) -> list[tuple[Route, Outcome]] | None:
    """Return what each route leads to; ``None`` where ONNX Runtime cannot run the graph.

    Args:
        made: The graph.
        runtimes: Those that answer after each route.
        breadth: See :func:`routes_of`.
        say: Told the route that is next.
    """
    say("the original graph")
    try:
        judge = Judge(made.content)
    except Unusable:
        return None
    levels: dict[tuple[str, ...], bytes] = {}
    found: list[tuple[Route, Outcome]] = []
    for route in routes_of(made, breadth):
        say(route.name)
        if not route.conversion or route.passes in levels:
            found += [(route, outcome) for outcome in travel(judge, route, runtimes, levels)]
    return found


def fuzz(count: int, seed: int, runtimes: Sequence[str] = ("ort",), breadth: Breadth = "quick") -> Tally:
    """Examine graphs in this process."""
    tally = Tally()
    for made in cases(count, seed):
        tally.add(made, examine(made, runtimes, breadth))
    return tally


def in_processes(
    numbers: Sequence[int], seed: int, processes: int, breadth: Breadth = "usual"
) -> Iterator[tuple[Case, object]]:
    """Yield each case with its outcomes, or the way its process ended: a runtime may take its process with it."""
    shares = [list(numbers[place::processes]) for place in range(processes)]
    workers = [_Worker(share, seed, breadth) for share in shares if share]
    while workers:
        ready = multiprocessing.connection.wait([worker.receiver for worker in workers], timeout=_DEADLINE_S)
        for worker in [worker for worker in workers if worker.receiver in ready or not ready]:
            answer = worker.take(hung=not ready)
            if answer is not None:
                yield answer
            if worker.is_done:
                workers.remove(worker)


class _Worker:
    """A process that examines its share of the graphs, started anew behind a graph that ended it."""

    def __init__(self, numbers: list[int], seed: int, breadth: Breadth) -> None:
        self._numbers, self._seed, self._breadth = numbers, seed, breadth
        self._start()

    @property
    def is_done(self) -> bool:
        return not self._numbers

    def take(self, hung: bool) -> tuple[Case, object] | None:
        """Return the next case with its outcomes, or what ended it."""
        number = self._numbers[0]
        try:
            if hung:
                self._process.kill()
                raise EOFError
            answer = self.receiver.recv()
            if isinstance(answer, str):
                self._stage = answer
                return None
        except EOFError:
            self._process.join()
            end = f"hung in {self._stage}" if hung else f"exit code {self._process.exitcode} in {self._stage}"
            self._numbers.pop(0)
            if self._numbers:
                self._start()
            return case(number, self._seed), end
        self._numbers.pop(0)
        if not self._numbers:
            self._process.join()
        return case(number, self._seed), answer

    def _start(self) -> None:
        context = multiprocessing.get_context("forkserver")
        self.receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(sender, list(self._numbers), self._seed, self._breadth))
        self._process.start()
        self._stage = ""
        sender.close()


def silence() -> None:
    """Silence remarks: of onnx-ir on initializers, of ONNX Runtime on what its quantiser writes."""
    logging.disable(logging.WARNING)
    onnxruntime.set_default_logger_severity(4)
    np.seterr(all="ignore")


def _work(sender: Connection, numbers: list[int], seed: int, breadth: Breadth) -> None:
    silence()
    for number in numbers:
        made = case(number, seed)
        sender.send(examine(made, runtimes_of(made, breadth), breadth, sender.send))
