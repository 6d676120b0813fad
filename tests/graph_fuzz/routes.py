"""The routes that a graph takes through the optimiser: passes, levels and precisions, then both runtimes."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import onnx
import onnx_ir

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.onnx.rewriting import detached_weights
from irbench.onnx.rewriting.upgrade_opset import CannotUpgrade, upgrade_opset
from irbench.optimizer.conversion import require_fp32
from irbench.optimizer.job import load, vendors_of
from irbench.optimizer.narrowing import OPSETS, narrow
from irbench.optimizer.recipe import LEVELS
from irbench.spi import QuantizationMethod, QuantizationRequest
from irbench.system.host import int8_weight_bits
from irbench_ort.quantization.tool import NotANumber

from .judging import Judge, answers_of_openvino, answers_of_ort, is_known_fault
from .route import Route, level_routes, pass_route, precision_routes
from .signatures import Entry, changes, fits, keeps, signature

__all__ = ["FAILURES", "Outcome", "Route", "level_routes", "pass_route", "precision_routes", "travel"]

FAILURES = ("invalid graph", "wrong answer", "crash", "other signature", "larger graph")
"""Outcomes that no graph may lead to; the others are ``equal``, ``unchanged`` and ``refused``."""

Levels = dict[tuple[str, ...], bytes]
"""Graphs by the passes that made them."""

_QUIET = ("NOT_IMPLEMENTED", "Could not find an implementation", "Failed to find kernel")


@dataclass(frozen=True)
class Outcome:
    """What became of a graph on a step of a route.

    Attributes:
        route: The name of the route.
        step: The pass, the conversion, or the runtime that answered after the last of them.
        kind: One of :data:`FAILURES`, ``equal``, ``unchanged`` or ``refused``.
        reason: What is wrong, or why it was refused.
        before: The graph before the step, where it failed.
    """

    route: str
    step: str
    kind: str
    reason: str = ""
    before: bytes = b""

    @property
    def is_failure(self) -> bool:
        return self.kind in FAILURES


def travel(
    judge: Judge, route: Route, runtimes: Sequence[str] = ("ort", "openvino"), levels: Levels | None = None
) -> Iterator[Outcome]:
    """Take a graph along a route and yield what each step leads to, up to the first failure.

    Args:
        judge: Knows the graph, and what it should answer.
        route: What is done to it.
        runtimes: Those that answer after the last step.
        levels: Graphs after the passes of a level and of the route, which are read and kept here, so that none is
            computed twice.
    """
    with tempfile.TemporaryDirectory(prefix="graph-fuzz-") as folder:
        traveller = _Traveller(judge, route, Path(folder), {} if levels is None else levels)
        try:
            yield from traveller.steps()
            yield from map(traveller.at_runtime, runtimes)
        except _Failed as failed:
            yield failed.outcome


class _Failed(Exception):
    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


class _Traveller:
    def __init__(self, judge: Judge, route: Route, folder: Path, levels: Levels) -> None:
        self._judge, self._route, self._folder, self._levels = judge, route, folder, levels
        self._source = folder / "original.onnx"
        self._source.write_bytes(judge.content)
        self._model = load(self._source)
        self._content = self._bytes()
        self._signature = signature(onnx.load_from_string(judge.content))
        self._changed = False
        self._precision = "fp32"
        self._idle: set[str] = set()

    def steps(self) -> list[Outcome]:
        """Raise the operator set, apply the passes, convert."""
        passes = [registry.graph_pass(name) for name in self._route.passes]
        wanted = {graph_pass.opset for graph_pass in passes} | {OPSETS.get(self._route.conversion, 13)}
        if self._route.passes in self._levels:
            self._source.write_bytes(self._levels[self._route.passes])
            self._model, passes = load(self._source), []
            self._content = self._bytes()
        outcomes = self._raise_opset(sorted(wanted, reverse=True))
        nodes: float = math.inf  # the first level may write an Einsum as several operations
        for place, graph_pass in enumerate(passes):
            if self._opset < graph_pass.opset:
                outcomes.append(self._outcome(graph_pass.name, "refused", "opset"))
            else:
                outcomes.append(self._apply(graph_pass.name, graph_pass))
            done = self._route.passes[: place + 1]
            if done in LEVELS.values():
                nodes = self._required_nodes(graph_pass.name, nodes)
            if done in (*LEVELS.values(), self._route.passes):
                self._levels[done] = self._bytes()
        if self._route.conversion:
            outcomes.append(self._convert(self._route.conversion))
        elif self._bytes() != self._content:
            self._checked("unsaid changes")
        return outcomes

    def at_runtime(self, name: str) -> Outcome:
        """Ask a runtime, as users set it up, for the answers of the last graph."""
        if not self._changed or self._precision == "int8":
            return self._outcome(name, "unchanged")
        run = _RUNTIMES[name]
        if name not in self._judge.differing:
            self._judge.differing[name] = self._answers(run, self._judge.content)
        if self._judge.differing[name] is not None:
            return self._outcome(name, "refused", "the runtime differs on the original too")
        reason = self._answers(run, self._content)
        if reason is None or self._route.conversion or is_known_fault(reason):
            return self._outcome(name, "refused" if reason else "equal", reason or "")
        return replace(self._outcome(name, "wrong answer", reason), before=self._judge.content)

    @property
    def _opset(self) -> int:
        return self._model.graph.opset_imports.get("", 0)

    def _answers(self, run: Callable[[bytes], Any], content: bytes) -> str | None:
        try:
            opened = run(content)
        except Exception as problem:  # noqa: BLE001 - runtimes report in ways of their own that they cannot load a graph
            return f"does not load: {_short(problem)}"
        return self._judge.wrong(
            opened, self._precision, ("seeded", "small sizes") if self._precision != "fp32" else ()
        )

    def _raise_opset(self, wanted: Sequence[int]) -> list[Outcome]:
        outcomes = []
        for opset in [opset for opset in wanted if opset > self._opset > 0]:
            content, key = self._source.read_bytes(), (opset, self._content)
            if key not in self._judge.raised:
                self._judge.raised[key] = self._raised(content, opset)
            raised, reason = self._judge.raised[key]
            if reason is None:
                path = self._folder / f"raised-{opset}.onnx"
                path.write_bytes(raised)
                self._model = load(path)
                self._content = self._bytes()
                self._require_signature("raise_opset", self._judge.content)
                self._signature = signature(onnx.load_from_string(self._content))
                return [*outcomes, self._outcome("raise_opset", "equal")]
            outcomes.append(self._outcome("raise_opset", "refused", reason))
        return outcomes

    def _raised(self, content: bytes, opset: int) -> tuple[bytes, str | None]:
        """Return a graph at a later operator set, and why it cannot be used."""
        try:
            model = detached_weights.detach(onnx.load_from_string(content), {})
            upgrade_opset(model, opset)
            path = self._folder / "raised.onnx"
            detached_weights.write(model, path)
        except CannotUpgrade as problem:
            return b"", _short(problem)
        return path.read_bytes(), self._answers(answers_of_ort, path.read_bytes())

    def _apply(self, name: str, change: Callable[[onnx_ir.Model], bool]) -> Outcome:
        if name in self._idle:
            return self._outcome(name, "unchanged")
        operations = _operations(self._model)
        try:
            modified = change(self._model)
        except Exception as problem:
            raise _Failed(
                self._outcome(name, "crash", f"{type(problem).__name__}: {_short(problem)}", self._content)
            ) from problem
        if not modified and operations == _operations(self._model):
            self._idle.add(name)
            return self._outcome(name, "unchanged")
        self._idle.clear()
        return self._checked(name)

    def _required_nodes(self, name: str, most: float) -> int:
        """Return how many nodes a level leaves; raises :class:`_Failed` where the level below has fewer."""
        nodes = _operations(self._model).total()
        if nodes > most:
            reason = f"{nodes} nodes, {most} at the level below"
            raise _Failed(self._outcome(name, "larger graph", reason, self._content))
        return nodes

    def _convert(self, conversion: str) -> Outcome:
        self._precision = conversion.partition("-")[0]
        try:
            require_fp32(self._source, "fuzzed", self._precision)
            done = self._narrowed() if self._precision != "int8" else self._quantized(conversion.partition("-")[2])
        except (IrbenchError, NotANumber) as refusal:
            return self._outcome(conversion, "refused", _short(refusal))
        except Exception as problem:
            if is_known_fault(str(problem)):
                return self._outcome(conversion, "refused", _short(problem))
            raise _Failed(
                self._outcome(conversion, "crash", f"{type(problem).__name__}: {_short(problem)}", self._content)
            ) from problem
        return self._checked(conversion) if done else self._outcome(conversion, "refused", "nothing to convert")

    def _narrowed(self) -> bool:
        least = OPSETS[self._precision]
        if self._opset < least:
            raise IrbenchError("opset too low", hint="")
        return narrow(self._model, cast("Literal['fp16', 'bf16']", self._precision))

    def _quantized(self, method: str) -> bool:
        quantizer, source, target = (
            registry.quantizer("ort"),
            self._folder / "wide.onnx",
            self._folder / "made" / "narrow.onnx",
        )
        source.write_bytes(self._bytes())
        target.parent.mkdir()
        if self._opset < 13 or quantizer.suitable_method(source) is None:
            return False
        sizes = next(case.feed for case in self._judge.cases)
        quantizer.quantize(
            QuantizationRequest(
                source,
                target,
                cast("QuantizationMethod", method),
                lambda: iter([dict(sizes.arrays)]),
                int8_weight_bits(),
            )
        )
        self._model = load(target)
        return True

    def _checked(self, name: str) -> Outcome:
        """Check the graph after a step that changed it.

        Raises:
            _Failed: It is invalid, has another signature, or answers otherwise.
        """
        before, self._content, self._changed = self._content, self._bytes(), True
        proto = onnx.load_from_string(self._content)
        try:
            onnx.checker.check_model(proto, full_check=not vendors_of(self._model))
        except Exception as problem:
            raise _Failed(self._outcome(name, "invalid graph", _short(problem), before)) from problem
        self._require_signature(name, before)
        try:
            run = answers_of_ort(self._content)
        except Exception as problem:
            reason = _short(problem)
            if self._route.conversion and (any(quiet in reason for quiet in _QUIET) or is_known_fault(reason)):
                self._changed = False
                return self._outcome(name, "refused", "no kernel")
            raise _Failed(self._outcome(name, "invalid graph", reason, before)) from problem
        if self._precision == "int8":
            return self._outcome(name, "equal")
        kinds = ("seeded", "small sizes") if self._precision != "fp32" else ()
        reason = self._judge.wrong(run, self._precision, kinds)
        if reason is not None:
            raise _Failed(self._outcome(name, "wrong answer", reason, before))
        return self._outcome(name, "equal")

    def _require_signature(self, name: str, before: bytes) -> None:
        found = signature(onnx.load_from_string(self._content))
        if not keeps(self._signature, found, may_fix=name == "raise_opset") or (
            self._fits(self._signature) and not self._fits(found)
        ):
            raise _Failed(self._outcome(name, "other signature", changes(self._signature, found), before))

    def _fits(self, found: list[Entry]) -> bool:
        return all(
            fits(entry, np.shape(answer))
            for case in self._judge.cases
            for entry, answer in zip(found[::-1], case.answers[::-1], strict=False)
            if np.size(answer)
        )

    def _bytes(self, model: onnx_ir.Model | None = None) -> bytes:
        content: bytes = onnx_ir.to_proto(model or self._model).SerializeToString()
        return content

    def _outcome(self, step: str, kind: str, reason: str = "", before: bytes = b"") -> Outcome:
        return Outcome(self._route.name, step, kind, reason, before)


_RUNTIMES: dict[str, Callable[[bytes], Any]] = {
    "ort": lambda content: answers_of_ort(content, optimised=True),
    "openvino": answers_of_openvino,
}


def _operations(model: onnx_ir.Model) -> Counter[str]:
    return Counter(f"{node.domain}.{node.op_type}" for node in model.graph.all_nodes())


def _short(problem: BaseException) -> str:
    return " ".join(str(problem).split())[:200]
