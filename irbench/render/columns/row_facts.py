"""Columns of what a row is: its run, its table, what was asked of it, what it ran, and whether that went well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irbench.core.cold_row import ColdRow, ColdTable, cold_names
from irbench.core.quantities import NOT_MEASURED
from irbench.core.record import Failure
from irbench.core.result import GroupResult, Lead
from irbench.core.row import CellResult, distinguish, name_of
from irbench.core.serving_row import serving_names
from irbench.core.soak_row import SoakRow, SoakTable
from irbench.render.columns.declaration import (
    COUNT,
    COUNT_ALWAYS,
    FACTS,
    FLAG,
    FLAG_ALWAYS,
    NUMBER,
    TEXT,
    TEXT_ALWAYS,
    AnyRow,
    Column,
    RowPart,
    RowSource,
    ShownColumn,
    ShownSpeed,
)
from irbench.render.table_title import command_text, is_confined, is_own_code, machine_text, versions
from irbench.spec import Disagreement, GraphFiles, Program, PythonEnvironment


def computed_precision(row: AnyRow) -> str:
    """Return the precision that a row's runtime computed in, as tables for people show it."""
    return str(row.effective.get("precision") or NOT_MEASURED)


def precisions_differ(table: GroupResult) -> bool:
    """Whether rows with figures computed in other precisions."""
    return len({computed_precision(cell) for cell in table.cells if cell.latency_ms is not None}) > 1


def _is_precision_news(table: GroupResult) -> bool:
    """Whether the title, which has what was asked for, does not say what all rows computed in."""
    return precisions_differ(table) or any(
        computed_precision(cell) not in (NOT_MEASURED, cell.requested.precision)
        for cell in table.cells
        if cell.latency_ms is not None
    )


def _differ(fact: Callable[[CellResult], object]) -> Callable[[GroupResult], bool]:
    return lambda result: len({fact(cell) for cell in result.cells}) > 1


def _is_confined(source: RowSource) -> bool | None:
    confined = is_confined(source.document)
    return confined and not is_own_code(source.row.backend, source.document.plan)


def _threads(row: AnyRow) -> int | None:
    threads = row.effective.get("threads") or row.requested.threads
    return threads if isinstance(threads, int) else None


def _is_winner(source: RowSource) -> bool:
    return source.table.winner is not None and bool(source.row.id == source.table.winner.cell)


def row_counters(source: RowSource) -> Any:
    """Return the figures of the row's counters; ``None`` where nothing was counted."""
    tables = (table for table in source.document.counters if table.table == source.table_number)
    rows = (row for table in tables for row in table.rows if row.id == source.row.id)
    return next((row.figures for row in rows if row.figures), None)


def _shown_threads(cell: CellResult) -> str:
    return str(cell.effective.get("threads") or cell.requested.threads or "native")


_threads_differ = _differ(lambda cell: cell.requested.threads)


def _speed_name(cell: CellResult, result: GroupResult) -> str:
    """Return the row's label, with what was asked for where the columns do not tell two rows apart.

    A row that failed has nothing in the column of precisions.
    """
    with_precision = cell.effective.get("precision") is not None
    with_threads = _threads_differ(result)
    shown = _shown_as(cell, precision=with_precision, threads=with_threads)
    rows = (row for row in result.cells if _shown_as(row, precision=with_precision, threads=with_threads) == shown)
    name = distinguish({row.id: name_of(row) for row in rows})[cell.id]
    return f"{name} *" if cell.marks else name


def _shown_as(cell: CellResult, *, precision: bool, threads: bool) -> tuple[object, ...]:
    computed = cell.effective.get("precision") if precision else None
    return cell.label, cell.model, cell.batch, _shown_threads(cell) if threads else None, computed


def _cold_name(row: ColdRow, table: ColdTable) -> str:
    return cold_names(table)[row.id, row.cache]


def _soak_name(row: SoakRow, table: SoakTable) -> str:
    return distinguish({other.id: name_of(other) for other in table.rows})[row.id]


_lead = RowPart[GroupResult, Lead](lambda result: result.lead)
_failure = RowPart[AnyRow, Failure](lambda row: row.failure)
_disagreement = RowPart[CellResult, Disagreement](lambda cell: cell.disagreement)
_program = RowPart[CellResult, Program](lambda cell: cell.program)
_files = RowPart[CellResult, GraphFiles](lambda cell: cell.graph_files)
_environment = RowPart[CellResult, PythonEnvironment](lambda cell: cell.environment)

RUN = (
    Column("run_id", TEXT_ALWAYS, "The run's ULID.", run=lambda run: run.run_id, in_python=True),
    Column("run_name", TEXT_ALWAYS, "Name given to the run; empty without one.",
        run=lambda run: run.plan.name, in_python=True),
    Column("run_note", TEXT_ALWAYS, "Note given to the run; empty without one.",
        run=lambda run: run.plan.note, in_python=True),
    Column("created", TEXT_ALWAYS, "When the run began, ISO 8601, UTC.", run=lambda run: run.created),
    Column("irbench_version", TEXT_ALWAYS, "The irbench that measured.", run=lambda run: run.irbench_version),
    Column("machine", TEXT_ALWAYS, "Processor, and how many processors and cores could be used.", run=machine_text),
    Column("confined", FLAG,
        "Whether the row was confined (IRBENCH_CONFINE=1), as own code never is; null in older documents.",
        source=_is_confined),
    Column("versions", FACTS, "Versions of the kernel, Python and the distributions that took part, by name.",
        run=versions),
    Column("command", TEXT_ALWAYS, "The command line.", run=command_text),
)  # fmt: skip
TABLE = (
    Column("kind", TEXT_ALWAYS, "What the table is about: speed, cold-start, soak or load.",
        source=lambda source: source.kind),
    Column("table", COUNT_ALWAYS, "Number of the table in its run, counted from 0.",
        source=lambda source: source.table_number, in_python=True),
    Column("model", TEXT_ALWAYS, "The model.", source=lambda source: source.model, in_python=True,
        in_speeds=ShownSpeed(20, "model", text=lambda cell, _: cell.model or NOT_MEASURED, words=True,
            is_shown=_differ(lambda cell: cell.model), when="if rows run different models",
            explained="what the row runs")),
    Column("batch", COUNT_ALWAYS, "Samples per inference.", any_row=lambda row: row.batch, in_python=True,
        in_speeds=ShownSpeed(30, "batch", str, is_shown=_differ(lambda cell: cell.batch), when="if rows differ",
            explained="samples per inference; speedups then compare FPS, that is, time per sample")),
    Column("shapes", TEXT_ALWAYS, "Shapes of the inputs.", source=lambda source: source.shapes, in_python=True),
    Column("stopped_by", TEXT_ALWAYS, "Why the measurement of the table ended.",
        source=lambda source: str(source.table.stopped_by)),
    Column("objective", TEXT_ALWAYS, "What speedups are ratios of: latency, fps or cost (processor time per sample).",
        group=lambda result: result.objective),
    Column("table_launches", COUNT_ALWAYS, "Launches of the table.", group=lambda result: result.launches),
    Column("preview", FLAG_ALWAYS, "Whether there are too few launches for intervals.",
        group=lambda result: result.preview, cold_table=lambda table: table.preview),
    Column("condition", TEXT,
        "busy where all that the table says is of the machine as loaded as it was; null elsewhere.",
        group=lambda result: result.condition, in_python=True),
    Column("blocks_measured", COUNT_ALWAYS, "Blocks of the table, in all launches.",
        group=lambda result: result.blocks_measured, in_python=True),
    Column("blocks_disturbed", COUNT, "How many of them something outside disturbed; null in older documents.",
        group=lambda result: result.blocks_disturbed, in_python=True),
    Column("no_winner", TEXT,
        "Why no row is the fastest, for example undecided or busy; null where one is, or none is compared.",
        group=_lead(lambda lead: lead.reason), in_python=True),
)  # fmt: skip
ROW = (
    Column("label", TEXT_ALWAYS, "What the table calls the row; unique in its table.",
        source=lambda source: source.label, in_python=True,
        in_speeds=ShownSpeed(0, "backend", text=_speed_name, words=True, explained="the row's name"),
        in_cold_starts=ShownColumn(0, "row", text=_cold_name, words=True),
        in_soaks=ShownColumn(0, "row", text=_soak_name, words=True),
        in_loads=ShownColumn(0, "row", text=lambda row, table: serving_names(table)[row.id], words=True)),
    Column("precision", TEXT_ALWAYS, "What the runtime computed in, or was asked to where it did not run.",
        any_row=lambda row: str(row.effective.get("precision", row.requested.precision)), in_python=True,
        in_speeds=ShownSpeed(10, "prec", text=lambda cell, _: computed_precision(cell), words=True,
            is_usual=_is_precision_news, when="if rows differ, or computed in another than was asked for",
            explained="the precision that the runtime computed in, as it reported it"),
        in_cold_starts=ShownColumn(10, "prec", text=lambda row, _: computed_precision(row), words=True, drops=6),
        in_soaks=ShownColumn(10, "prec", text=lambda row, _: computed_precision(row), words=True, drops=3)),
    Column("threads", COUNT,
        "Threads of each process as the runtime reports them, or as requested where it reports none.",
        any_row=_threads, in_python=True,
        in_speeds=ShownSpeed(40, "threads",
            text=lambda cell, _: _shown_threads(cell), is_shown=_threads_differ, when="if rows were asked to differ",
            explained="threads of the process, as the runtime reports them")),
    Column("is_baseline", FLAG_ALWAYS, "Whether speedups are relative to this row.",
        source=lambda source: bool(source.row.id == source.table.baseline), kinds=("speed", "cold-start"),
        in_python=True),
    Column("is_winner", FLAG_ALWAYS, "Whether it is the fastest, under the condition of its table.",
        source=_is_winner, kinds=("speed",), in_python=True),
)  # fmt: skip
ASKED = (
    Column("cell", TEXT_ALWAYS, "The row's id in its table.", any_row=lambda row: row.id),
    Column("artifact", TEXT_ALWAYS, "Kind of graph that it ran.", any_row=lambda row: row.artifact),
    Column("backend", TEXT_ALWAYS, "The backend.", any_row=lambda row: row.backend, in_python=True),
    Column("device", TEXT_ALWAYS, "The backend's device.", any_row=lambda row: row.device, in_python=True),
    Column("mode", TEXT_ALWAYS, "sync, streams for concurrent inferences, or instances for several processes.",
        speed=lambda cell: cell.mode),
    Column("io", TEXT_ALWAYS, "Whether copies of inputs and outputs are timed (copy) or not (bound).",
        any_row=lambda row: row.io),
    Column("threads_requested", COUNT, "Threads of each process that were requested; null for native.",
        any_row=lambda row: row.requested.threads, in_python=True),
    Column("streams", COUNT_ALWAYS, "Inferences that each process keeps in flight.",
        any_row=lambda row: row.requested.streams, in_python=True),
    Column("precision_requested", TEXT_ALWAYS, "Precision that was requested.",
        any_row=lambda row: row.requested.precision),
    Column("instances", COUNT_ALWAYS, "Processes that run the model side by side.",
        any_row=lambda row: row.requested.instances, in_python=True),
    Column("options", FACTS, "Options of the backend in which rows of the table differ (--vary).",
        any_row=lambda row: row.requested.options),
    Column("effective", FACTS, "Settings that the runtime reports.", any_row=lambda row: row.effective),
    Column("state", TEXT_ALWAYS, "ok, mismatch, failed, not-applicable, interrupted or not-measured.",
        any_row=lambda row: row.state, in_python=True),
    Column("failure_stage", TEXT, "At which stage the row failed.", any_row=_failure(lambda failure: failure.stage)),
    Column("failure", TEXT, "Why there are no figures.", any_row=_failure(lambda failure: failure.message),
        in_python=True),
    Column("hint", TEXT, "What to do about that.", any_row=_failure(lambda failure: failure.hint), in_python=True),
    Column("failure_budget_allowed_s", NUMBER, "How long the budget let a step take, where that ended it.",
        any_row=_failure(lambda failure: failure.budget_allowed_s)),
)  # fmt: skip
GRAPH = (
    Column("marks", FACTS, "Codes with facts of what must be said of the row.", speed=lambda cell: cell.marks),
    Column("disagreement_measure", TEXT, "In what a converted graph differs from the graph in fp32.",
        speed=_disagreement(lambda disagreement: disagreement.measure)),
    Column("disagreement_value", NUMBER, "By how much it differs.",
        speed=_disagreement(lambda disagreement: disagreement.value)),
    Column("disagreement_limit", NUMBER, "The limit that it misses.",
        speed=_disagreement(lambda disagreement: disagreement.limit)),
    Column("disagreement_samples", COUNT, "On how many inputs that was measured.",
        speed=_disagreement(lambda disagreement: disagreement.samples)),
    Column("disagreement_source", TEXT, "Whether they were `generated`, or samples of `data`.",
        speed=_disagreement(lambda disagreement: disagreement.source)),
    Column("dynamic", FLAG_ALWAYS, "Whether it ran the graph with dynamic shapes.", speed=lambda cell: cell.dynamic),
    Column("vendors", FACTS, "Operator sets outside ONNX in its graph.", speed=lambda cell: cell.vendors),
    Column("graph_precision", TEXT_ALWAYS, "Narrowest precision that its ONNX graph holds.",
        speed=lambda cell: cell.graph_precision),
    Column("program_kind", TEXT, "callable, command or server, for code of your own (--cell); null for a backend.",
        speed=_program(lambda program: program.kind)),
    Column("program_target", TEXT, "The function or the command line.",
        speed=_program(lambda program: program.target)),
    Column("stages", FACTS,
        "Stages of your own code, in order: each with its name, its time of a call (`ms`) and its share of all.",
        speed=lambda cell: cell.stages, in_python=True),
    Column("step_parts", FACTS,
        "A training step and its parts: each with its name and its time (`ms`). `whole`, `input` and `compute` are "
        "means of all steps; `host`, `forward`, `backward` and `optimizer` are of steps on a batch in memory; `beside` "
        "is by how much compute takes longer while the input pipeline works.",
        speed=lambda cell: cell.step_parts, in_python=True),
    Column("loss", FACTS,
        "How the loss went before training steps were timed: of each step, the means of the `first` and the `last` "
        "quarter, and what that was compared with.",
        speed=lambda cell: cell.loss, in_python=True),
    Column("graph_files_sha256", TEXT, "Digest of the graph and its weights, before shapes are bound.",
        speed=_files(lambda files: files.sha256)),
    Column("graph_files_size_bytes", COUNT, "Their size.", speed=_files(lambda files: files.size_bytes)),
    Column("environment_key", TEXT, "Its part of the cell's id.",
        speed=_environment(lambda environment: environment.key)),
    Column("environment", TEXT,
        "What the table calls the Python whose runtime was measured; null for the one that irbench ran in.",
        speed=_environment(lambda environment: environment.label), in_python=True),
    Column("environment_python", TEXT, "Its interpreter; null for the one that irbench ran in.",
        speed=_environment(lambda environment: environment.python)),
    Column("environment_requirement", TEXT, "What irbench built it from; empty where the user brought it.",
        speed=_environment(lambda environment: environment.requirement)),
    Column("environment_runtime", TEXT, "The runtime's distribution.",
        speed=_environment(lambda environment: environment.runtime)),
    Column("environment_python_version", TEXT, "Version of its interpreter.",
        speed=_environment(lambda environment: environment.python_version)),
    Column("environment_distributions", FACTS, "Versions of the runtime and of what workers need.",
        speed=_environment(lambda environment: environment.distributions)),
    Column("environment_indexes", FACTS, "The package indexes that irbench built it from.",
        speed=_environment(lambda environment: environment.indexes)),
)  # fmt: skip
