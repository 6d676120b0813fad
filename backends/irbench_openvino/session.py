"""Sessions: one compiled model, an infer request for each slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irbench.spec import Artifact, Io, Scalar, TensorSpec
from irbench.spi import Slot
from irbench_openvino.slots import BoundSlot, CopySlot, FailureWatch


class OpenVinoSession:
    """One compiled model; each slot is an infer request."""

    def __init__(self, compiled: Any, artifact: Artifact, effective: Mapping[str, Scalar]) -> None:
        self._compiled: Any = compiled
        self._inputs = input_indices(compiled.inputs, artifact.inputs)
        self._outputs = _indices(compiled.outputs, artifact.outputs)
        self._watch = FailureWatch()
        self.effective = effective

    def open_slots(self, count: int, io: Io) -> Sequence[Slot]:
        """Return slots that are ready for ``run`` and for ``start``."""
        kind = CopySlot if io == "copy" else BoundSlot
        requests = [self._create_request() for _ in range(count)]
        return [kind(request, self._inputs, self._outputs, self._watch) for request in requests]

    def _create_request(self) -> Any:
        return self._compiled.create_infer_request()

    def close(self) -> None:
        """Stop watching and drop the model; its memory goes with the last slot."""
        self._watch.close()
        self._compiled = None


def input_indices(ports: Sequence[Any], specs: Sequence[TensorSpec]) -> tuple[int | None, ...]:
    """Return, for each input of the artifact, the index of its port; ``None`` where OpenVINO dropped it as unused."""
    if len(ports) == len(specs):
        return _indices(ports, specs)
    by_name = {name: index for index, port in enumerate(ports) for name in port.get_names()}
    return tuple(by_name.get(spec.name) for spec in specs)


def _indices(ports: Sequence[Any], specs: Sequence[TensorSpec]) -> tuple[int, ...]:
    by_name = {name: index for index, port in enumerate(ports) for name in port.get_names()}
    return tuple(by_name.get(spec.name, position) for position, spec in enumerate(specs))
