"""A reduction as the text of a bug report, in Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from irbench.core.quantities import plural
from irbench.features.reduce.files import EXPECTED_FILE, INPUTS_FILE, MODEL_FILE
from irbench.features.reduce.report import ReducedGraph, ReductionReport, TensorFacts
from irbench.features.reduce.view import conclusion_text, difference_text, doubts_text, evidence_table, shown_text
from irbench.render.table import Column, Row, TextTable
from irbench.render.text_formats import bullets, code_block, heading, markdown_text
from irbench.spec import shape_text

_MOST_NODES = 60


def bug_report(report: ReductionReport) -> str:
    """Return what happens, how to repeat it, the graph, the machine and the versions."""
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: ReductionReport) -> Iterator[str]:
    yield heading(_title(report), 1)
    if report.full is not None:
        yield markdown_text(_happens(report))
    yield from (table.as_markdown() for table in evidence_table(report))
    yield from map(markdown_text, doubts_text(report))
    if report.reduced is not None:
        yield "## How to repeat it"
        expected = f" `{EXPECTED_FILE}` has what the reference answers." if report.reduced.has_expected else ""
        yield f"In the folder of `{MODEL_FILE}` and `{INPUTS_FILE}`, with irbench (`pip install irbench`):{expected}"
        yield code_block(shlex.join(report.repeat), "sh")
        yield from _without_irbench(report.code)
        yield from _graph(report, report.reduced)
    yield "## Environment"
    yield bullets(_environment(report.environment))
    if report.command:
        yield "Reduced with:"
        yield code_block(shlex.join(report.command), "sh")


def _title(report: ReductionReport) -> str:
    text = difference_text(report.expected)
    if report.reduced is None or report.reduced.confirmation not in ("shows", None):
        return f"{Path(report.model).name}: {conclusion_text(report)}"
    operators = dict.fromkeys(node.op_type for node in report.reduced.nodes)
    shown = ", ".join(list(operators)[:4]) + (", ..." if len(operators) > 4 else "")
    return f"{text} on a graph of {plural(len(report.reduced.nodes), 'node')}: {shown}"


def _happens(report: ReductionReport) -> str:
    assert report.full is not None
    whole = f"On {Path(report.model).name} ({plural(report.nodes, 'node')}): {shown_text(report.full)}."
    if report.reduced is None:
        return whole if report.nodes else f"On {Path(report.model).name}: {shown_text(report.full)}."
    kept = plural(len(report.reduced.nodes), "node")
    return f"{whole} On the reduced graph ({kept}): {shown_text(report.reduced.evidence)}."


def _without_irbench(code: Mapping[str, str]) -> Iterator[str]:
    for backend, lines in code.items():
        yield markdown_text(f"{backend} without irbench:")
        yield code_block(lines, "python")


def _graph(report: ReductionReport, reduced: ReducedGraph) -> Iterator[str]:
    yield "## The graph"
    yield (
        f"{plural(len(reduced.nodes), 'node')} of {report.nodes}, {reduced.size_bytes:,} bytes. Inputs hold the values"
        " that the whole model computes there; what the nodes read of its shapes and constants is a weight."
    )
    rows = tuple(Row((node.op_type, node.domain or "ai.onnx", node.name)) for node in reduced.nodes[:_MOST_NODES])
    columns = tuple(Column(name, words=True) for name in ("operator", "domain", "node"))
    yield TextTable(columns, rows).as_markdown()
    if len(reduced.nodes) > _MOST_NODES:
        yield f"and {plural(len(reduced.nodes) - _MOST_NODES, 'node')} more"
    roles = {"input": reduced.inputs, "output": reduced.outputs}
    tensors = [_tensor(role, tensor) for role, held in roles.items() for tensor in held]
    described = tuple(Column(name, words=True) for name in ("", "name", "type", "shape"))
    yield TextTable(described, tuple(tensors)).as_markdown()


def _tensor(role: str, tensor: TensorFacts) -> Row:
    return Row((role, tensor.name, tensor.dtype, shape_text(tensor.shape) or "scalar"))


def _environment(environment: Mapping[str, Any]) -> Iterator[str]:
    cpu = environment.get("cpu", {})
    yield f"CPU: {cpu.get('Model name', 'unknown')}, {environment.get('physical_cores_allowed')} cores used"
    if cpu.get("Flags"):
        yield f"CPU flags: {cpu['Flags']}"
    if cpu.get("Hypervisor vendor"):
        yield f"Hypervisor: {cpu['Hypervisor vendor']}"
    memory = environment.get("memory_bytes")
    if memory:
        yield f"Memory: {memory / 1e9:.0f} GB"
    yield f"System: {environment.get('system')} {environment.get('kernel')}, Python {environment.get('python')}"
    if environment.get("confined"):
        yield "Workers: confined (IRBENCH_CONFINE=1)"
    versions = environment.get("distributions", {})
    yield f"Versions: {', '.join(f'{name} {version}' for name, version in sorted(versions.items()) if version)}"
