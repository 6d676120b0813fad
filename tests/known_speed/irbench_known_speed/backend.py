"""The seam of irbench in front of a clock and the answers of ONNX's own evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from irbench.spec import Artifact, Io, Load, Scalar
from irbench.spi import Array, Availability, Description, Feed, Outputs, Phases, Refusal, Session, Slot
from irbench_known_speed.pace import Pace
from irbench_known_speed.script import Script, read_script

_DISTRIBUTION = "irbench-known-speed"


class KnownSpeed:
    """A backend whose calls last as long as its options say, and whose answers are right unless they say otherwise."""

    consumes: tuple[str, ...] = ("onnx",)

    def __init__(self, name: str) -> None:
        self.name = name

    def describe(self) -> Description:
        """Say which version of the plugin is installed; it needs nothing beside it."""
        return Description(self.name, _DISTRIBUTION, version(_DISTRIBUTION))

    def probe(self) -> Availability:
        """Answer without looking: a clock is everywhere."""
        return Availability(("cpu",), {"cpu": ("fp32",)}, {"cpu": "fp32"}, {})

    def import_runtime(self, load: Load, device: str) -> None:
        """Import the evaluator.

        Raises:
            Refusal: The device, the precision or an option is not one of this backend's.
        """
        if device != "cpu":
            raise Refusal(f"{self.name} has no device '{device}'.", hint="It runs on the CPU only.")
        if load.precision not in ("fp32", "native"):
            raise Refusal(f"{self.name} does not compute in {load.precision}.", hint="Use --precision fp32.")
        read_script(self.name, load.options)
        import onnx.reference  # noqa: F401 - importing is the point

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Read the graph; there is nothing to compile."""
        from onnx.reference import ReferenceEvaluator

        with phases("load"):
            evaluator = ReferenceEvaluator(str(artifact.path))
        with phases("compile"):
            effective = {
                "precision": "fp32",
                "threads": load.threads,
                "streams": load.streams,
                "device": device,
                "version": version(_DISTRIBUTION),
            }
            answers = _Answers(evaluator, artifact, read_script(self.name, load.options))
            return _KnownSession(answers, Pace(read_script(self.name, load.options)), effective)


class _Answers:
    """What the evaluator answers, computed once for each feed."""

    def __init__(self, evaluator: Any, artifact: Artifact, script: Script) -> None:
        self._evaluator = evaluator
        self._names = [spec.name for spec in artifact.inputs]
        self._script = script
        self._known: dict[bytes, tuple[Array, ...]] = {}

    def to(self, feed: Feed) -> tuple[Array, ...]:
        key = b"".join(array.tobytes() for array in feed)
        if key not in self._known:
            self._known[key] = tuple(self._compute(feed))
        return self._known[key]

    def _compute(self, feed: Feed) -> list[Array]:
        outputs = self._evaluator.run(None, dict(zip(self._names, feed, strict=True)))
        return [np.asarray(tensor) * np.asarray(self._script.wrong, tensor.dtype) for tensor in outputs]


class _KnownSession:
    def __init__(self, answers: _Answers, pace: Pace, effective: Mapping[str, Scalar]) -> None:
        self._answers = answers
        self._pace = pace
        self.effective = effective

    def open_slots(self, count: int, _io: Io) -> Sequence[Slot]:
        return [_KnownSlot(self._answers, self._pace) for _ in range(count)]

    def close(self) -> None: ...


class _KnownSlot:
    def __init__(self, answers: _Answers, pace: Pace) -> None:
        self._answers = answers
        self._pace = pace
        self._feed: Feed = ()
        self._outputs: Outputs = ()

    def stage(self, feed: Feed) -> None:
        self._feed = feed

    def run(self) -> None:
        """Find the answer within the call's own time, so that nothing of it shows outside."""
        began_ns = self._pace.begin()
        self._outputs = self._answers.to(self._feed)
        self._pace.last(began_ns)

    def fetch(self) -> Outputs:
        return self._outputs
