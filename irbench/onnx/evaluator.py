"""ONNX's reference evaluator as a backend: always available, and not made for speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from irbench.onnx.reading import external_data
from irbench.onnx.reading.graph_precision import read_precision
from irbench.spec import Artifact, Io, Load, Scalar
from irbench.spi import Availability, Backend, Description, Feed, Outputs, Phases, Refusal, Session, Slot

_RANK = 50
"""Slow, but it is always there: before references that do not say how quick they are."""


class _EvaluatorBackend:
    """``onnx.reference.ReferenceEvaluator`` as a session; one NumPy call per node."""

    name = "onnx"
    consumes = ("onnx",)

    def describe(self) -> Description:
        """Say which onnx is installed; irbench depends on it."""
        return Description(self.name, "onnx", version("onnx"), reference_rank=_RANK, files=(), variables=("ONNX",))

    def probe(self) -> Availability:
        """Answer without looking: it needs nothing of the machine."""
        return Availability(("cpu",), {"cpu": ("fp32",)}, {"cpu": "fp32"}, {})

    def import_runtime(self, _load: Load, _device: str) -> None:
        import onnx.reference  # noqa: F401 - importing is the point

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Read the graph; there is nothing to compile."""
        if device != "cpu":
            raise Refusal(f"ONNX's evaluator has no device '{device}'.", hint="It runs on the CPU only.")
        if load.options:
            raise Refusal(f"ONNX's evaluator has no option '{next(iter(load.options))}'.", hint="It has no options.")
        with phases("load"):
            precision = read_precision(artifact.path).narrowest
            if load.precision not in ("native", precision):
                raise Refusal(f"This graph is {precision}, not {load.precision}.", hint="Use `--precision native`.")
            model = external_data.load(artifact.path)
        with phases("compile"):
            from onnx.reference import ReferenceEvaluator

            evaluator = ReferenceEvaluator(model)
        effective = {"precision": precision, "threads": None, "streams": load.streams, "device": device}
        return _EvaluatorSession(evaluator, artifact, effective | {"version": version("onnx")})


class _EvaluatorSession:
    def __init__(self, evaluator: Any, artifact: Artifact, effective: Mapping[str, Scalar]) -> None:
        self._evaluator = evaluator
        self._artifact = artifact
        self.effective = effective

    def open_slots(self, count: int, _io: Io) -> Sequence[Slot]:
        """Return slots; both kinds of io are the same here, because arrays are all there is."""
        return [_EvaluatorSlot(self._evaluator, self._artifact) for _ in range(count)]

    def close(self) -> None:
        self._evaluator = None


class _EvaluatorSlot:
    def __init__(self, evaluator: Any, artifact: Artifact) -> None:
        self._evaluator = evaluator
        self._inputs = tuple(spec.name for spec in artifact.inputs)
        self._outputs = [spec.name for spec in artifact.outputs]
        self._feed: dict[str, Any] = {}
        self._answers: Outputs = ()

    def stage(self, feed: Feed) -> None:
        self._feed = dict(zip(self._inputs, feed, strict=True))

    def run(self) -> None:
        self._answers = [np.asarray(answer) for answer in self._evaluator.run(self._outputs, self._feed)]

    def fetch(self) -> Outputs:
        return self._answers


reference: Backend = _EvaluatorBackend()
"""What entry point ``onnx`` of ``irbench.references`` names."""
