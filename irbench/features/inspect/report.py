"""What a graph contains, and how two graphs differ, as values and texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irbench.api.display import Displayable
from irbench.core.plain_text import plain
from irbench.errors import IrbenchError
from irbench.features.inspect.options import INSPECT
from irbench.onnx.reading.difference import InventoryDifference, difference
from irbench.onnx.reading.inventory import Inventory, NodeEntry
from irbench.onnx.reading.signature import Signature
from irbench.onnx.reading.value_shapes import ValueShape
from irbench.optimizer import Lineage, kept_for
from irbench.options.run import GraphSizes
from irbench.render.export_texts import export_notice_text
from irbench.requests.graph_costs import asked_sizes, with_shapes
from irbench.requests.graph_files import StoredGraph
from irbench.worker.model_files import problem_of_weights, read_inventory, read_signature

if TYPE_CHECKING:
    from rich.console import RenderableType

    from irbench.cost_model.costs import ModelCost


class GraphInspection(Displayable):
    """What an ONNX graph holds; weights are not read, but those in other files must be there.

    Attributes:
        name: What the graph is called.
        path: Its file.
        inventory: Nodes, operators, weights and operator sets.
        sizes: Of dynamic dimensions, by name; empty where none was asked for.
    """

    _command = INSPECT

    def __init__(self, graph: StoredGraph, sizes: GraphSizes) -> None:
        self._graph = graph
        self.name = graph.name
        self.path = graph.path
        self.inventory: Inventory = read_inventory(graph.path)
        self._file_bytes = graph.path.stat().st_size
        self.sizes: Mapping[str, int] = asked_sizes(graph, sizes.batch, sizes.shape) if sizes != GraphSizes() else {}

    @property
    def signature(self) -> Signature | None:
        """Inputs and outputs, of the sizes asked for; ``None`` where the graph takes what irbench cannot make."""
        signature = self._read[0]
        if signature is None or not self.sizes:
            return signature
        inputs = tuple(spec.bind(self.sizes) for spec in signature.inputs)
        outputs = tuple(spec.bind(self.sizes) for spec in signature.outputs)
        return replace(signature, inputs=inputs, outputs=with_shapes(outputs, self.values))

    @cached_property
    def values(self) -> tuple[ValueShape, ...]:
        """What the nodes compute, with the shapes that follow from the sizes asked for; empty where none was."""
        from irbench.requests.graph_costs import values_of

        signature = self._read[0]
        if signature is None or not self.sizes:
            return ()
        return values_of(self._graph, [spec.bind(self.sizes) for spec in signature.inputs])

    @property
    def problem(self) -> str:
        """Why there is no signature; empty where there is one."""
        return self._read[1]

    @cached_property
    def weights_problem(self) -> IrbenchError | None:
        """What is wrong with weights that lie in other files, as an error that was not raised; ``None`` without any."""
        return problem_of_weights(self.path)

    @cached_property
    def _read(self) -> tuple[Signature | None, str]:
        try:
            return read_signature(self.path), ""
        except IrbenchError as error:
            return None, error.message

    @property
    def work(self) -> ModelCost | None:
        """What it costs at the sizes asked for, else for one sample; ``None`` where ONNX infers no shapes."""
        return self._counted[0]

    @property
    def work_problem(self) -> str:
        """Why nobody knows what it costs; empty where it is known, and where a dimension has no size."""
        return self._counted[1]

    @cached_property
    def _counted(self) -> tuple[ModelCost | None, str]:
        from irbench.requests.graph_costs import cost_of

        try:
            return cost_of(self._graph, self.signature), ""
        except IrbenchError as error:
            return None, error.message

    def count(self) -> None:
        """Find out now what is otherwise found when it is first asked for: work, and shapes at the sizes asked for."""
        _ = self.work, self.values

    @property
    def outdated(self) -> str:
        """Which files changed since the model was exported, and what exports it again; empty where none has."""
        return "" if self._graph.outdated is None else export_notice_text(self._graph.outdated)

    @property
    def lineage(self) -> Lineage | None:
        """How the graph was optimised; ``None`` where it was not, or nobody knows."""
        return self._graph.lineage

    def to_dict(self) -> dict[str, Any]:
        """Return all that is known of the graph as JSON values."""
        from msgspec import to_builtins

        inventory, signature = self.inventory, self.signature
        bundle, artifact, lineage = self._graph.bundle, self._graph.artifact, self.lineage
        return {
            "name": self.name,
            "path": str(self.path),
            "file_bytes": self._file_bytes,
            "producer": inventory.producer,
            "ir_version": inventory.ir_version,
            "opsets": dict(inventory.opsets),
            "nodes": len(inventory.nodes),
            "inner_nodes": sum(node.inner for node in inventory.nodes),
            "operators": dict(inventory.operators),
            "parameters": inventory.parameters,
            "weights_bytes": dict(inventory.weights_bytes),
            "external_weights_bytes": sum(weight.size_bytes for weight in inventory.weights if weight.external),
            "weights_problem": None if self.weights_problem is None else self.weights_problem.message,
            "inputs": None if signature is None else [asdict(tensor) for tensor in signature.inputs],
            "outputs": None if signature is None else [asdict(tensor) for tensor in signature.outputs],
            "dynamic_dimensions": None if signature is None else _dynamic_dimensions(signature),
            "sizes": dict(self.sizes),
            "values": [asdict(value) for value in self.values] if self.sizes else None,
            "work": _work_json(self.work),
            "work_problem": self.work_problem or None,
            "source": None if bundle is None else bundle.source,
            "versions": None if bundle is None else dict(bundle.versions),
            "passes": None if artifact is None else list(artifact.passes),
            "lineage": None if lineage is None else to_builtins(lineage),
            "optimized": [{"path": str(path), **to_builtins(lineage)} for path, lineage in self._kept()],
        }

    def __repr__(self) -> str:
        """Return the graph's name and file."""
        return plain(f"<GraphInspection {self.name}: {self.path}>")

    def __rich__(self) -> RenderableType:
        """Return the view that ``irbench inspect`` prints; called by rich."""
        from rich.console import Group

        from irbench.features.inspect.view import graph_view

        return Group(graph_view(self, self._file_bytes, self._graph.bundle), *self._history())

    def _history(self) -> Iterator[RenderableType]:
        """Yield how the graph was made by the optimiser, or what the optimiser made of it."""
        from irbench.render.optimized_graphs import kept_view, lineage_lines

        if self.lineage is not None:
            yield from lineage_lines(self.lineage)
        elif kept := self._kept():
            yield from ("", kept_view([lineage for _, lineage in kept]))

    def _kept(self) -> Sequence[tuple[Path, Lineage]]:
        return kept_for(self._graph.artifact) if self._graph.artifact is not None else ()


class GraphDifference(Displayable):
    """What was done to one graph to make another.

    Attributes:
        before: The first graph.
        after: The second.
        changes: Operators, fusions, and nodes that were added, removed or changed.
    """

    def __init__(self, before: GraphInspection, after: GraphInspection) -> None:
        self.before = before
        self.after = after
        self.changes: InventoryDifference = difference(before.inventory, after.inventory)

    def to_dict(self) -> dict[str, Any]:
        """Return the differences as JSON values."""
        changes = self.changes
        return {
            "before": {"path": str(self.before.path), "nodes": len(self.before.inventory.nodes)},
            "after": {"path": str(self.after.path), "nodes": len(self.after.inventory.nodes)},
            "operators": {
                name: {"before": operator, "after": other} for name, (operator, other) in changes.operators.items()
            },
            "fused": [
                {"into": fusion.into, "of": dict(fusion.of), "times": times}
                for fusion, times in changes.fusions.items()
            ],
            "added": [_node_json(node) for node in changes.added],
            "removed": [_node_json(node) for node in changes.removed],
            "changed": [{"before": _node_json(old), "after": _node_json(new)} for old, new in changes.changed],
        }

    def __repr__(self) -> str:
        """Return the names of both graphs."""
        return plain(f"<GraphDifference {self.before.name} -> {self.after.name}>")

    def __rich__(self) -> RenderableType:
        """Return the view that ``irbench inspect --diff`` prints; called by rich."""
        from irbench.features.inspect.view import difference_view

        names = (self.before.name, self.after.name)
        view: RenderableType = difference_view(names, (self.before.inventory, self.after.inventory), self.changes)
        return view


def to_json(shown: Sequence[GraphInspection] | GraphDifference) -> str:
    """Return the document of ``irbench inspect --format json``."""
    if isinstance(shown, GraphDifference):
        return json.dumps(shown.to_dict(), indent=2)
    return json.dumps({"graphs": [graph.to_dict() for graph in shown]}, indent=2)


def _node_json(node: NodeEntry) -> dict[str, Any]:
    return {
        "name": node.name,
        "operator": node.operator,
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "inner": node.inner,
    }


def _work_json(work: ModelCost | None) -> dict[str, Any] | None:
    if work is None:
        return None
    inputs = {spec.name: list(spec.shape) for spec in work.inputs}
    return {"macs": work.macs, "inputs": inputs, "uncounted": list(work.without_macs)}


def _dynamic_dimensions(signature: Signature) -> list[str]:
    names = (name for spec in (*signature.inputs, *signature.outputs) for name in spec.dynamic_dimensions)
    return list(dict.fromkeys(names))
