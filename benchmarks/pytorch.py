"""What PyTorch's own ways and other runtimes make of models of transformers: ``make bench-pytorch``.

Each model is one table: eager, compiled, ONNX Runtime with and without the optimiser, OpenVINO; PyTorch is the
baseline. For two of them the rows ``torch`` and ``torch-compile`` also stand beside loops that call the module without
irbench: they may differ by one per cent.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.output import refuse_unwritable
from benchmarks.stored import run_stored
from benchmarks.workbench import MEASURED, CommandFailed, Workbench
from irbench.core.quantities import significant
from irbench.core.result import GroupResult
from irbench.core.row import CellResult
from irbench.errors import ExitCode, IrbenchError
from irbench.measure.clock import Stopwatch
from irbench.render.table import Row, TableColumn, TextTable
from irbench.terminal.console import print_data, to_text

SOURCES = Path(__file__).with_name("pytorch_models.py")
MODELS = ("resnet50", "mobilenet_v2", "convnext_tiny", "vit_tiny", "bert_mini", "llama_mini")
_ROWS = ("torch", "torch-compile", "ort", "ort+extended", "openvino")
_PARITY: Mapping[str, Mapping[str, str]] = {
    model: {"torch": f"bare_{model}", "torch-compile": f"bare_compiled_{model}"} for model in ("resnet50", "bert_mini")
}
"""By the model, which function is the bare loop of a backend."""
_ALLOWED = 0.01


@dataclass(frozen=True)
class Compared:
    """One table of a model.

    Attributes:
        model: Its name.
        table: What was measured; ``None`` where nothing could be.
        failure: Why.
    """

    model: str
    table: GroupResult | None = None
    failure: str = ""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, type=click.Choice(MODELS), help="May be repeated.  [default: all]")
@click.option("--budget", default="90s", show_default=True, help="Time to measure one table for.")
@click.option("--format", "form", type=click.Choice(["table", "md"]), default="table", help="How to print it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead.")
def main(only: Sequence[str], budget: str, form: str, output: Path | None) -> None:
    """Compare PyTorch, torch.compile, ONNX Runtime and OpenVINO on models of transformers with random weights.

    Exits with 1 where a row is more than one per cent away from its bare loop, or was not measured.
    """
    refuse_unwritable(output)
    names, compared, parity = only or MODELS, [], []
    with tempfile.TemporaryDirectory(prefix="irbench-pytorch-") as folder:
        bench, watch = Workbench(Path(folder), quick=False), Stopwatch()
        for name in names:
            click.echo(f"{watch.elapsed_s:5.0f} s  {name}", err=True)
            backends = ("--backends", "torch,torch-compile,ort,openvino", "--optimize", "none,extended")
            compared.append(_measured(bench, name, *backends, "--baseline", "torch", "--budget", budget))
            for backend, loop in _PARITY.get(name, {}).items():
                cell = f"bare={SOURCES}:{loop}"
                asked = ("--backends", backend, "--cell", cell, "--baseline", "bare", "--budget", budget)
                parity.append((name, backend, _measured(bench, name, *asked)))
            print_data(_text(compared, parity, form, to_file=output is not None), output)
    beyond = list(_beyond(parity))
    for sentence in (*beyond, *(f"{own.model}: {own.failure}" for own in compared if own.failure)):
        click.echo(f"missed: {sentence}", err=True)
    sys.exit(ExitCode.DIFFERENT if beyond or any(own.failure for own in compared) else ExitCode.OK)


def _measured(bench: Workbench, name: str, *asked: object) -> Compared:
    try:
        run = run_stored(bench, ("irbench",), f"{SOURCES}:{name}", *asked, accept=MEASURED)
    except (CommandFailed, IrbenchError) as error:
        return Compared(name, failure=str(error))
    return Compared(name, run.table)


def _rows_of(table: GroupResult) -> Mapping[str, CellResult]:
    return {cell.label: cell for cell in table.cells}


def _text(
    compared: Sequence[Compared], parity: Sequence[tuple[str, str, Compared]], form: str, *, to_file: bool
) -> str:
    columns = (TableColumn("model", words=True), TableColumn("torch ms"), *(TableColumn(name) for name in _ROWS[1:]))
    rows = []
    for own in compared:
        if own.table is None:
            rows.append(Row((own.model,), sentence=f"failed: {own.failure}"))
            continue
        cells = _rows_of(own.table)
        latency = cells["torch"].latency_ms if "torch" in cells else None
        shown = "-" if latency is None else significant(latency.p50)
        rows.append(Row((own.model, shown, *(_speedup(cells.get(name)) for name in _ROWS[1:]))))
    tables = [TextTable(columns, tuple(rows))]
    if parity:
        heads = (
            TableColumn("model", words=True),
            TableColumn("row", words=True),
            TableColumn("speedup over a bare loop"),
        )
        found = tuple(
            Row((model, backend, "-" if own.table is None else _speedup(_rows_of(own.table).get(backend))))
            for model, backend, own in parity
        )
        tables.append(TextTable(heads, found))
    parts = (table.as_markdown() if form == "md" else to_text(table, to_file=to_file) for table in tables)
    return "\n".join(parts)


def _speedup(cell: CellResult | None) -> str:
    if cell is None or cell.speedup is None or cell.speedup.value is None:
        return "-" if cell is None or cell.failure is None else f"failed: {cell.failure.message}"
    speedup = cell.speedup
    interval = "" if speedup.low is None or speedup.high is None else f" [{speedup.low:.2f}, {speedup.high:.2f}]"
    return f"{speedup.value:.2f}{interval}"


def _beyond(parity: Sequence[tuple[str, str, Compared]]) -> Iterator[str]:
    """Yield each row whose interval shows that it is more than one per cent away from its bare loop."""
    for model, backend, own in parity:
        cell = None if own.table is None else _rows_of(own.table).get(backend)
        speedup = None if cell is None else cell.speedup
        if speedup is None or speedup.low is None or speedup.high is None:
            yield f"{model}, {backend}: no interval, {own.failure or 'too few launches'}"
        elif speedup.low > 1 + _ALLOWED or speedup.high < 1 - _ALLOWED:
            yield f"{model}, {backend}: {_speedup(cell)} times as fast as a bare loop"


if __name__ == "__main__":
    main()
