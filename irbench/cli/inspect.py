"""``irbench inspect``: what an ONNX graph holds, and how two graphs differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from irbench.cli.completing import GRAPH
from irbench.cli.formats import OUTPUT
from irbench.errors import IrbenchError

if TYPE_CHECKING:
    from irbench.cli.graphs import StoredGraph
    from irbench.onnx.reading.difference import Difference
    from irbench.onnx.reading.inventory import Inventory, NodeEntry
    from irbench.onnx.reading.signature import Signature
    from irbench.optimizer import Lineage
    from irbench.render.inspect import CountedMacs

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench inspect resnet50
  irbench inspect model.onnx --format json
  irbench inspect resnet50+basic:batch=1
  irbench inspect --diff resnet50 resnet50+extended
  irbench inspect --diff model.onnx optimised.onnx
"""


@click.command("inspect", short_help="Show what a graph holds, or how two graphs differ.", epilog=_EXAMPLES)
@click.argument("models", nargs=-1, required=True, type=GRAPH, metavar="MODEL[+VARIANT]|FILE.onnx...")
@click.option("--diff", "compares", is_flag=True, help="Say what was done to the first graph to make the second.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@OUTPUT
def command(models: tuple[str, ...], compares: bool, form: Literal["table", "json"], output: Path | None) -> None:
    """Show what ONNX graphs hold: signature, multiply-accumulates, operators, weights and origin.

    MODEL is an exported bundle's name or folder, or an ONNX file; resnet50+basic is what `irbench optimize` made of it,
    and resnet50+basic:batch=1 what it made with that size bound. Weights are not read, so a file of gigabytes takes
    no longer than a small one. With --diff nodes are the same when they have the same name; nodes that one new node
    took the place of are shown as fused.
    """
    from irbench.cli.console import print_data, to_text
    from irbench.cli.graphs import find_graph

    if compares and len(models) != 2:
        raise IrbenchError(f"--diff compares two graphs, not {len(models)}.", hint="irbench inspect --diff A B")
    found = [find_graph(model) for model in models]
    if form == "json":
        document = _difference_json(found) if compares else {"graphs": [_as_json(item) for item in found]}
        print_data(json.dumps(document, indent=2), output)
        return
    views = [_difference_view(found)] if compares else [_view(item) for item in found]
    print_data("\n".join(to_text(view, to_file=output is not None) for view in views), output)


def _view(graph: StoredGraph) -> Any:
    from rich.console import Group

    from irbench.cli.macs import work_of
    from irbench.onnx.reading.inventory import take_inventory
    from irbench.render.inspect import graph_view

    inventory, signature = take_inventory(graph.path), _signature(graph)
    work = work_of(graph, signature)
    view = graph_view(graph.name, inventory, signature, work, graph.path, graph.bundle)
    return Group(view, *_history(graph))


def _history(graph: StoredGraph) -> Iterator[Any]:
    """Yield how a graph was made by the optimiser, or what the optimiser made of it."""
    from irbench.cli.lineages import kept_view, lineage_lines

    if graph.lineage is not None:
        yield from lineage_lines(graph.lineage)
    elif kept := _kept(graph):
        yield from ("", kept_view([lineage for _, lineage in kept]))


def _kept(graph: StoredGraph) -> Sequence[tuple[Path, Lineage]]:
    from irbench.optimizer import kept_for

    return kept_for(graph.artifact) if graph.artifact is not None else ()


def _signature(graph: StoredGraph) -> Signature | None:
    """Return the signature; ``None``, and a warning, where the graph takes what irbench cannot make."""
    from irbench.onnx.reading import signature

    try:
        return signature.read(graph.path)
    except IrbenchError as error:
        click.echo(f"warning: {error.message}", err=True)
        return None


def _compared(found: list[StoredGraph]) -> tuple[Inventory, Inventory, Difference]:
    from irbench.onnx.reading.difference import difference
    from irbench.onnx.reading.inventory import take_inventory

    before, after = (take_inventory(item.path) for item in found)
    return before, after, difference(before, after)


def _difference_view(found: list[StoredGraph]) -> Any:
    from irbench.render.inspect import difference_view

    before, after, changes = _compared(found)
    return difference_view((found[0].name, found[1].name), (before, after), changes)


def _difference_json(found: list[StoredGraph]) -> dict[str, Any]:
    before, after, changes = _compared(found)
    return {
        "before": {"path": str(found[0].path), "nodes": len(before.nodes)},
        "after": {"path": str(found[1].path), "nodes": len(after.nodes)},
        "operators": {
            name: {"before": operator, "after": other} for name, (operator, other) in changes.operators.items()
        },
        "fused": [
            {"into": fusion.into, "of": dict(fusion.of), "times": times} for fusion, times in changes.fusions.items()
        ],
        "added": [_node_json(node) for node in changes.added],
        "removed": [_node_json(node) for node in changes.removed],
        "changed": [{"before": _node_json(item), "after": _node_json(other)} for item, other in changes.changed],
    }


def _node_json(node: NodeEntry) -> dict[str, Any]:
    return {
        "name": node.name,
        "operator": node.operator,
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "inner": node.inner,
    }


def _as_json(graph: StoredGraph) -> dict[str, Any]:
    from msgspec import to_builtins

    from irbench.cli.macs import work_of
    from irbench.onnx.reading.inventory import take_inventory

    inventory, signature = take_inventory(graph.path), _signature(graph)
    bundle, artifact, lineage = graph.bundle, graph.artifact, graph.lineage
    return {
        "name": graph.name,
        "path": str(graph.path),
        "file_bytes": graph.path.stat().st_size,
        "producer": inventory.producer,
        "ir_version": inventory.ir_version,
        "opsets": dict(inventory.opsets),
        "nodes": len(inventory.nodes),
        "inner_nodes": sum(node.inner for node in inventory.nodes),
        "operators": dict(inventory.operators),
        "parameters": inventory.parameters,
        "weights_bytes": dict(inventory.weights_bytes),
        "external_weights_bytes": sum(weight.size_bytes for weight in inventory.weights if weight.external),
        "inputs": None if signature is None else [asdict(tensor) for tensor in signature.inputs],
        "outputs": None if signature is None else [asdict(tensor) for tensor in signature.outputs],
        "dynamic_dimensions": None if signature is None else _free(signature),
        "work": _work_json(work_of(graph, signature)),
        "source": None if bundle is None else bundle.source,
        "versions": None if bundle is None else dict(bundle.versions),
        "passes": None if artifact is None else list(artifact.passes),
        "lineage": None if lineage is None else to_builtins(lineage),
        "optimized": [{"path": str(path), **to_builtins(item)} for path, item in _kept(graph)],
    }


def _work_json(work: CountedMacs | None) -> dict[str, Any] | None:
    if work is None:
        return None
    inputs = {spec.name: list(spec.shape) for spec in work.inputs}
    return {"macs": work.count.macs, "inputs": inputs, "uncounted": list(work.count.uncounted)}


def _free(signature: Signature) -> list[str]:
    names = (name for spec in (*signature.inputs, *signature.outputs) for name in spec.dynamic_dimensions)
    return list(dict.fromkeys(names))
