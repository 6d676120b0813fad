"""Values inside a graph: what a reference computes there for the inputs of the whole graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from irbench.core import registry
from irbench.core.graph_record import Uncuttable
from irbench.errors import IrbenchError, first_line
from irbench.features.reduce.files import save_model
from irbench.features.reduce.outline import Boundary
from irbench.onnx.reading.element_types import NAMES, numpy_dtype
from irbench.onnx.rewriting.subgraph import TensorType
from irbench.spec import Artifact, Bundle, Feeding, Load, TensorSpec
from irbench.spi import Array
from irbench.worker.feed_turns import turns_of_streams
from irbench.worker.inference import OpenSession

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True)
class GraphSource:
    """A graph with bound shapes, and what it is given.

    Attributes:
        artifact: It.
        bundle: The model that it is a form of.
        sizes: Every dynamic dimension bound.
        feeding: Where its inputs come from; the first sample is taken.
    """

    artifact: Artifact
    bundle: Bundle
    sizes: Mapping[str, int]
    feeding: Feeding


class Activations:
    """Values inside a graph, computed once and kept in a folder.

    Args:
        source: The graph, and what it is given.
        model: The graph with its weights; its outputs are replaced where something must be computed.
        folder: Where values are kept.
    """

    def __init__(self, source: GraphSource, model: onnx.ModelProto, folder: Path) -> None:
        self._source = source
        self._folder = folder
        self._model = model
        self._folder.mkdir(parents=True, exist_ok=True)

    def compute(self, names: Sequence[str]) -> None:
        """Compute what is not known yet, in one run of the whole graph that gives no other values.

        Raises:
            IrbenchError: No reference can run the graph.
        """
        (turns,) = turns_of_streams(
            self._source.bundle, self._source.sizes, self._source.feeding, self._source.artifact, streams=1
        )
        feed = turns.next()
        for spec, array in zip(self._source.artifact.inputs, feed, strict=True):
            self._keep(spec.name, array)
        missing = tuple(name for name in dict.fromkeys(names) if not self._file(name, ".json").exists())
        if missing:
            for name, value in zip(missing, self._answers(missing, feed), strict=True):
                self._keep(name, value)

    def problem(self, edge: Boundary) -> Uncuttable | None:
        """Return why values cannot be at the edge of a part; ``None`` where all can."""
        for name in (*edge.inputs, *edge.constants, *edge.outputs):
            if json.loads(self._file(name, ".json").read_bytes()) is None:
                return Uncuttable("no-tensor", name)
        for name in (*edge.inputs, *edge.constants):
            if not self.has_array(name):
                return Uncuttable("no-array", name)
        return None

    def type_of(self, name: str) -> TensorType:
        """Return the type of a tensor that was computed."""
        element, shape = json.loads(self._file(name, ".json").read_bytes())
        return TensorType(element, tuple(shape))

    def has_array(self, name: str) -> bool:
        """Whether a value that was computed is of a type that NumPy can store."""
        return self._file(name, ".npy").exists()

    def array(self, name: str) -> Array:
        """Return a tensor that was computed; strings are texts of NumPy's."""
        found: Array = np.load(self._file(name, ".npy"), allow_pickle=False)
        return found

    def weight(self, name: str) -> Array:
        """Return a tensor that was computed as ONNX makes a weight of it."""
        found = self.array(name)
        return found.astype(object) if found.dtype.kind == "U" else found

    def _answers(self, names: tuple[str, ...], feed: tuple[Array, ...]) -> Sequence[Array]:
        """Return the values of the first reference that can compute them.

        Raises:
            IrbenchError: None can.
        """
        artifact = self._with_outputs(names)
        load = Load(batch=self._source.sizes.get("batch", 1), threads=None, precision="native")
        problems: list[str] = []
        for name in registry.references_in_order():
            try:
                with OpenSession(registry.reference(name), artifact, load) as session:
                    return session.answer(feed)
            except Exception as error:  # noqa: BLE001 - every runtime says no in a way of its own
                problems.append(f"{name}: {first_line(error)}")
        raise IrbenchError(
            "The values inside the graph cannot be computed.",
            hint="A reference must be able to run the whole model.",
            details=problems,
        )

    def _with_outputs(self, names: tuple[str, ...]) -> Artifact:
        """Return the graph with other outputs, in a file of its own."""
        import onnx

        types = {value.name: value.type.tensor_type.elem_type for value in self._model.graph.value_info}
        del self._model.graph.output[:]
        self._model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        path = self._folder / "with-outputs.onnx"
        save_model(self._model, path)
        outputs = tuple(TensorSpec(name, NAMES.get(types.get(name, 1), "float32"), ()) for name in names)
        return replace(self._source.artifact, path=path, outputs=outputs)

    def _keep(self, name: str, value: object) -> None:
        known: tuple[int, tuple[int, ...]] | None = None
        if isinstance(value, np.ndarray):
            known = (_element_of(value), value.shape)
            if known[0] and value.dtype.isbuiltin != 2:  # what extensions of NumPy add is stored without its type
                np.save(self._file(name, ".npy"), value.astype(str) if value.dtype.hasobject else value)
        self._file(name, ".json").write_text(json.dumps(known))

    def _file(self, name: str, suffix: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}{suffix}"


def _element_of(array: Array) -> int:
    from onnx import TensorProto, helper

    if array.dtype.kind in "OSU":
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(numpy_dtype(array.dtype.name)))
