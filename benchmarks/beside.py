"""Whether ``irbench corun`` finds slowdowns that are known beforehand: ``make bench-corun``, on a quiet machine.

Real programs, whose slowdowns follow from what they do. A scheduler divides a processor by weights, so a row that
computes takes twice as long beside a neighbour that wants all of its processor, at least 1 / (1 - share) times as long
beside one that wants a share, and about as long as alone beside one that gives way (``nice``). A row whose data stay in
the caches of its own processor does not care how much memory others copy; one that streams memory does.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import click
import onnx
from onnx import TensorProto, helper

from benchmarks.workbench import MEASURED, Workbench
from irbench.core.result import GroupResult
from irbench.core.row import Spans
from irbench.errors import ExitCode
from irbench.render.columns.neighbours import slowdown_of
from irbench.store.run_document import decode_document
from irbench.system import host

_COMPUTES, _STREAMS = "computes", "streams"
_SIDE, _PRODUCTS = 192, 200
"""Of square matrices that a second-level cache holds, and how often they are multiplied in a call."""
_STREAMED = 48 << 20
"""Floats that a call reads, and writes the sum of: 192 MiB each."""
_NEAR = 0.08
"""How far a slowdown may be from what the scheduler's weights say, as a fraction."""
_UNMOVED = 0.05
"""How much slower a row may become that nothing should slow down."""
_WIDEST = 1.2
"""How many times the lower end of an interval its upper one may be: a wider one says nothing."""
Outcome: TypeAlias = Literal["right", "wrong", "open"]


@dataclass(frozen=True)
class Found:
    """A slowdown as it was measured, and between which values it is known to lie."""

    row: str
    beside: str
    slowdown: Spans
    least: float
    most: float

    @property
    def outcome(self) -> Outcome:
        """Whether it lies there; open where its interval, or the lack of one, leaves it open."""
        ends = self.slowdown.ends
        if ends is None or ends.is_range or ends.high / ends.low > _WIDEST:
            return "open"
        return "right" if ends.low <= self.most and ends.high >= self.least else "wrong"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--budget", default="90s", show_default=True, help="Of each table.")
def main(budget: str) -> None:
    """Measure rows beside pressure, and hold their slowdowns against what is known of them.

    Exits with 1 where an interval lies elsewhere or is too wide to say, and with 2 where there are fewer than two
    processors.
    """
    processors = host.allowance().cpus
    if len(processors) < 2:
        click.echo("Two processors are needed: one for the rows, one for what runs beside them.", err=True)
        sys.exit(ExitCode.USAGE)
    click.echo("| row | beside | slowdown | known to be | outcome |\n| --- | --- | ---: | ---: | --- |")
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="irbench-corun-") as folder:
        bench = Workbench(Path(folder), quick=False)
        for each in _found(bench, processors[0], budget):
            wrong += each.outcome != "right"
            click.echo(_line(each))
    sys.exit(ExitCode.DIFFERENT if wrong else ExitCode.OK)


def _found(bench: Workbench, processor: int, budget: str) -> Iterator[Found]:
    models = [_computing(bench.scratch), _streaming(bench.scratch)]
    asked = ("--backends", "ort", "--cpus", processor, "--budget", budget)
    yield from _of_shares(_corun(bench, models[:1], "--with", "cpu", "--intensity", "0,25,100", "--isolate", "nice",
                                 *asked)[_COMPUTES])  # fmt: skip
    tables = _corun(bench, models, "--with", "bandwidth", "--intensity", "100", *asked)
    computes, streams = (_slowdowns(tables[name])["bandwidth 100%"] for name in (_COMPUTES, _STREAMS))
    yield Found(_COMPUTES, "bandwidth 100%", computes, 1 - _UNMOVED, 1 + _UNMOVED)
    yield Found(_STREAMS, "bandwidth 100%", streams, (1 + _UNMOVED) * computes.value, float("inf"))


def _of_shares(table: GroupResult) -> Iterator[Found]:
    known = {"cpu 0%": (1.0, 1.0), "cpu 25%": (1 / (1 - 0.25), 2.0), "cpu 100%": (2.0, 2.0)}
    slowdowns = _slowdowns(table)
    for beside, (least, most) in known.items():
        yield Found(_COMPUTES, beside, slowdowns[beside], least * (1 - _NEAR), most * (1 + _NEAR))
    gives_way = "cpu (nice) 100%"
    yield Found(_COMPUTES, gives_way, slowdowns[gives_way], 1 - _UNMOVED, 1 + _NEAR)


def _corun(bench: Workbench, models: list[Path], *arguments: object) -> Mapping[str, GroupResult]:
    done = bench.irbench("corun", *models, *arguments, "--format", "json", accept=MEASURED)
    return {table.model: table for table in decode_document(done.out.encode(), "the run").groups}


def _slowdowns(table: GroupResult) -> Mapping[str, Spans]:
    return {
        beside.label: slowdown
        for cell in table.cells
        if (beside := cell.requested.beside) is not None and (slowdown := slowdown_of(cell)) is not None
    }


def _computing(folder: Path) -> Path:
    """Write a graph of products of small matrices, one after the other."""
    nodes = [
        part
        for place in range(_PRODUCTS)
        for part in (
            helper.make_node("Gemm", [f"x{place}", "x0"], [f"y{place}"], alpha=_SIDE**-0.5),
            helper.make_node("Tanh", [f"y{place}"], [f"x{place + 1}"]),
        )
    ]
    return _written(folder, _COMPUTES, nodes, [_SIDE, _SIDE], f"x{_PRODUCTS}", [_SIDE, _SIDE])


def _streaming(folder: Path) -> Path:
    """Write a graph that adds a number to a vector that no cache of one processor holds, and adds up the result."""
    size = helper.make_tensor("size", TensorProto.INT64, [1], [_STREAMED])
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    nodes = [
        helper.make_node("Constant", [], ["length"], value=size),
        helper.make_node("ConstantOfShape", ["length"], ["vector"], value=one),
        helper.make_node("Add", ["vector", "x0"], ["sums"]),
        helper.make_node("ReduceMean", ["sums"], ["y"], keepdims=1),
    ]
    return _written(folder, _STREAMS, nodes, [1], "y", [1])


def _written(
    folder: Path, name: str, nodes: list[onnx.NodeProto], given: list[int], output: str, shape: list[int]
) -> Path:
    inputs = [helper.make_tensor_value_info("x0", TensorProto.FLOAT, given)]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, name, inputs, outputs)
    path = folder / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def _line(found: Found) -> str:
    known = f"{found.least:.2f} or more" if found.most == float("inf") else f"{found.least:.2f} to {found.most:.2f}"
    slowdown = found.slowdown
    ends = "" if slowdown.ends is None else f" [{slowdown.ends.low:.3f}, {slowdown.ends.high:.3f}]"
    return f"| {found.row} | {found.beside} | {slowdown.value:.3f}{ends} | {known} | {found.outcome} |"


if __name__ == "__main__":
    main()
