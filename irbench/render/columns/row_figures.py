"""Columns of what was measured: latency, throughput, comparison, outputs, phases, memory, energy, and the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from irbench.core.cold_row import ColdPhasesMs, ColdRow, ColdTable
from irbench.core.quantities import NOT_MEASURED, error_size, gigabytes, listing, significant
from irbench.core.quantities import percent as share
from irbench.core.record import OutputError
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, EnergyUse, LatencyMs, PacedLatency, PhasesMs, Spans, Speedup
from irbench.notices import Context, Reference
from irbench.render.accuracy_texts import accuracy_text, limit_text
from irbench.render.columns.cold_and_soak import ready_time
from irbench.render.columns.declaration import (
    COUNT,
    FACTS,
    FLAG,
    NUMBER,
    TEXT,
    AnyRow,
    Column,
    ComparedRow,
    Legend,
    OverLaunches,
    RowPart,
    ShownColumn,
    ShownSpeed,
    never,
)
from irbench.render.columns.neighbours import has_neighbours
from irbench.render.columns.row_facts import precisions_differ, row_counters
from irbench.render.figure_texts import are_ranges, ends_heading, ends_text, percent, seconds, speedup_cell
from irbench.spec import Accuracy, InferenceWork
from irbench.stats.figures import calls_to_bound
from irbench.stats.intervals import median

_SUSTAINED_MATTERS = 0.03
"""From this share on, the sustained FPS are shown beside those of the interleaved rounds."""


def _spread(cell: CellResult) -> float | None:
    return cell.launch_spread


def _any(fact: Callable[[CellResult], object]) -> Callable[[GroupResult], bool]:
    return lambda result: any(fact(cell) is not None for cell in result.cells)


def _compares(result: GroupResult) -> bool:
    return len(result.cells) > 1


def _compares_starts(table: ColdTable) -> bool:
    return len({row.id for row in table.rows}) > 1


def _latencies(result: GroupResult) -> list[LatencyMs]:
    return [cell.latency_ms for cell in result.cells if cell.latency_ms is not None]


def _has_p90(result: GroupResult) -> bool:
    latencies = _latencies(result)
    return not latencies or any(latency.p90 is not None for latency in latencies)


def _has_tail(result: GroupResult) -> bool:
    return any(latency.p99 is not None or latency.p99_9 is not None for latency in _latencies(result))


_has_pace = _any(lambda cell: cell.paced_ms)
_has_energy = _any(lambda cell: cell.energy)
_has_work = _any(lambda cell: cell.work)


def _slows_down(cell: CellResult) -> bool:
    if cell.sustained_fps is None or not cell.fps:
        return False
    return abs(cell.sustained_fps / cell.fps - 1) > _SUSTAINED_MATTERS


def _per_sample(cell: CellResult) -> int:
    """Return how much of what tables count in a second a sample is: its tokens, or itself."""
    return 1 if cell.generation is None else cell.generation.new_tokens


def _sustained(cell: CellResult, _result: GroupResult) -> str:
    rate = cell.sustained_fps
    return NOT_MEASURED if rate is None else significant(_per_sample(cell) * rate, cell.launch_spread)


def _sustained_spans(cell: CellResult) -> Spans | None:
    spans = cell.sustained_over_launches
    return None if spans is None else spans.scaled(_per_sample(cell))


def _spread_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if any(cell.launch_spread is not None for cell in result.cells):
        yield "spread: of launch medians"


def _ready_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if any(cell.phases_ms is not None and cell.phases_ms.ready is not None for cell in result.cells):
        yield "ready: to first output"


def _far_tail_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    latencies = _latencies(result)
    has_tail = any(latency.p99 is not None for latency in latencies)
    if has_tail and not any(latency.p99_9 is not None for latency in latencies):
        yield f"p99.9: needs {calls_to_bound(99.9):,} calls of a row, so more launches"


def _pace_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    paces = {cell.paced_ms.pace for cell in result.cells if cell.paced_ms is not None}
    yield from (f"paced: a call every {pace:g} ms" for pace in sorted(paces))


def _energy_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    """Yield which parts of the machine the energy of a table is of, and the power of the idle machine."""
    uses = [cell.energy for cell in result.cells if cell.energy is not None]
    if not uses:
        return
    yield f"J/inference: of {listing(_domains(uses))}, each row alone"
    idle = [use.idle_watts for use in uses if use.idle_watts is not None]
    if idle:
        yield f"above idle: without the {significant(median(idle))} W of the idle machine"


def _domains(uses: Sequence[EnergyUse]) -> list[str]:
    domains = dict.fromkeys(domain for use in uses for domain in use.watts_by_domain)
    return [
        domain if all(domain in use.watts_by_domain for use in uses) else f"{domain} (rows on an NVIDIA GPU)"
        for domain in domains
    ]


def _roof_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    """Yield of which peaks shares are, and when these were measured."""
    works = [cell.work for cell in result.cells if cell.roof_share is not None and cell.work is not None]
    for measured in sorted({work.peaks_measured or "" for work in works}):
        day = f" measured {measured[:10]}" if measured else ""
        yield f"of roof: share of the roof by this machine's peaks{day} (irbench doctor)"


def _p90_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if any(latency.calls_per_sample > 1 for latency in _latencies(result)):
        yield "p90: not available where a sample is several calls"


def _accuracy_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    limits = dict.fromkeys(cell.accuracy.limit for cell in result.cells if cell.accuracy is not None)
    yield from (f"accuracy: {limit_text(limit)}" for limit in limits)


def _error_legend(result: GroupResult, context: Context) -> Iterator[str]:
    """Yield what outputs were compared with, and which rows with something else."""
    if result.verified_against is not None:
        yield f"max err: against {result.verified_against.text()}"
    others: dict[Reference, list[str]] = {}
    for cell in result.cells:
        if cell.verified_against is not None:
            others.setdefault(cell.verified_against, []).append(context.name(cell.id))
    for reference, rows in others.items():
        yield f"max err of {listing(rows)}: against {reference.text()}"


def _speedup_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if result.lead is not None and result.lead.condition is not None:
        yield f"speedup: by mean times over all blocks; p50 and {result.throughput_unit} may differ"
    if result.unverified:
        yield "speedup ?: outputs not verified"


def _above_idle(cell: CellResult, _result: GroupResult) -> str:
    """Return the energy above that of the idle machine, with as many decimals: a difference of two such figures."""
    if cell.energy is None or cell.energy.joules_above_idle is None:
        return NOT_MEASURED
    decimals = len(significant(cell.energy.joules).partition(".")[2])
    return f"{cell.energy.joules_above_idle:.{decimals}f}"


def _accuracy(cell: CellResult, _result: GroupResult) -> str:
    return NOT_MEASURED if cell.accuracy is None else accuracy_text(cell.accuracy.value, cell.accuracy.limit)


def _speedup(cell: CellResult, result: GroupResult) -> str:
    marks_ranges = not are_ranges(row.speedup for row in result.cells)
    return speedup_cell(cell.speedup, is_baseline=cell.id == result.baseline, marks_ranges=marks_ranges)


def _speedup_of_start(row: ColdRow, table: ColdTable) -> str:
    marks_ranges = not are_ranges(other.speedup for other in table.rows)
    return speedup_cell(row.speedup, is_baseline=row.id == table.baseline, marks_ranges=marks_ranges)


def _verdict(cell: CellResult, _result: GroupResult) -> str:
    if cell.state != "ok":
        return cell.state.replace("-", " ")
    return NOT_MEASURED if cell.speedup is None else cell.speedup.verdict


def _ready(row: ColdRow, table: ColdTable) -> str:
    if row.ready_ms is None:
        return NOT_MEASURED
    marks_ranges = not are_ranges(other.ready_ms for other in table.rows)
    return f"{significant(row.ready_ms.value)}{ends_text(row.ready_ms.ends, marks_ranges=marks_ranges)}"


_latency = RowPart[CellResult, LatencyMs](lambda cell: cell.latency_ms)
_paced = RowPart[CellResult, PacedLatency](lambda cell: cell.paced_ms)
_compared = RowPart[ComparedRow, Speedup](lambda row: row.speedup)
_error = RowPart[AnyRow, OutputError](lambda row: row.output_error)
_phase = RowPart[ComparedRow, PhasesMs | ColdPhasesMs](lambda row: row.phases_ms)
_first_phase = RowPart[CellResult, PhasesMs](lambda cell: cell.phases_ms)
_quality = RowPart[CellResult, Accuracy](lambda cell: cell.accuracy)
_energy = RowPart[CellResult, EnergyUse](lambda cell: cell.energy)
_work = RowPart[CellResult, InferenceWork](lambda cell: cell.work)

_P50 = OverLaunches("p50", "_ms", lambda cell: cell.p50_over_launches,
    "Median over launches of the median latency, which the interval is about.",
    "Median latency with disturbed blocks included.")  # fmt: skip
_P90 = OverLaunches("p90", "_ms", lambda cell: cell.p90_over_launches, "Median over launches of the 90th percentile.",
    "90th percentile with disturbed blocks included.")  # fmt: skip
_FPS = OverLaunches("fps", "", lambda cell: cell.fps_over_launches,
    "Median over launches of samples per second, which the interval is about.",
    "Samples per second with disturbed blocks included.")  # fmt: skip
_SUSTAINED = OverLaunches("sustained_fps", "", lambda cell: cell.sustained_over_launches,
    "The same: median over launches.", "The same over all blocks; null, as it is not measured in blocks.")  # fmt: skip
_NEW_SHAPE = OverLaunches("new_shape", "_ms", lambda cell: cell.new_shape_over_launches,
    "The same: median over launches.", "The same over all blocks; null, as it is not measured in blocks.")  # fmt: skip
_PACED_P50 = OverLaunches("paced_p50", "_ms", lambda cell: cell.paced_p50_over_launches,
    "Median over launches of the median at the pace.", "The same with all blocks.")  # fmt: skip
_PACED_P90 = OverLaunches("paced_p90", "_ms", lambda cell: cell.paced_p90_over_launches,
    "Median over launches of the 90th percentile at the pace.", "The same with all blocks.")  # fmt: skip
_ENERGY = OverLaunches("energy_per_inference", "_j", lambda cell: cell.energy_over_launches,
    "Median over launches of the energy of one inference.", "Null: energy is not measured in blocks.")  # fmt: skip
_ABOVE_IDLE = OverLaunches("energy_above_idle_per_inference", "_j", lambda cell: cell.energy_above_idle_over_launches,
    "The same above idle: median over launches.", "Null: energy is not measured in blocks.")  # fmt: skip

LATENCY = (
    Column("p50_ms", NUMBER, "Median latency of one batch.", speed=_latency(lambda latency: latency.p50),
        soak=lambda row: row.p50_ms, in_python=True,
        in_speeds=ShownSpeed(50, "p50 ms", spread=_spread, spans=_P50.spans,
            explained="median latency of one batch, from issue to completion"),
        in_soaks=ShownColumn(30, "p50 ms", drops=2)),
    Column("p90_ms", NUMBER, "90th percentile of latency.", speed=_latency(lambda latency: latency.p90),
        in_python=True,
        in_speeds=ShownSpeed(70, "p90 ms", spread=_spread, drops=3, spans=_P90.spans, legend=Legend(70, _p90_legend),
            is_shown=_has_p90, when="if some row has enough calls",
            explained="the latency that 90 % of the calls stay below; `-` if a sample is several calls, or with "
            "fewer than 44 calls")),
    Column("p99_ms", NUMBER, "99th percentile, with --tail.", speed=_latency(lambda latency: latency.p99),
        in_python=True,
        in_speeds=ShownSpeed(80, "p99 ms", is_shown=_has_tail, when="with `--tail`",
            explained="from the row's own uninterrupted calls; the median over launches")),
    Column("p99_9_ms", NUMBER, "99.9th percentile, with --tail.", speed=_latency(lambda latency: latency.p99_9),
        in_python=True,
        in_speeds=ShownSpeed(90, "p99.9 ms", drops=4, is_shown=_has_tail, when="with `--tail`",
            legend=Legend(30, _far_tail_legend),
            explained="from the uninterrupted calls of all launches together; `-` with fewer than 4,603 calls, "
            "which takes 5 launches")),
    Column("min_ms", NUMBER, "Smallest latency.", speed=_latency(lambda latency: latency.min)),
    Column("mean_ms", NUMBER, "Mean latency.", speed=_latency(lambda latency: latency.mean), in_python=True),
    Column("samples", COUNT, "Latency samples that count.", speed=_latency(lambda latency: latency.count)),
    Column("calls_per_sample", COUNT, "Calls that a sample lasts: 1 unless calls are very short.",
        speed=_latency(lambda latency: latency.calls_per_sample)),
    *_P50.columns,
    *_P90.columns,
)  # fmt: skip
THROUGHPUT = (
    Column("fps", NUMBER, "Samples per second.", speed=lambda cell: cell.fps, in_python=True,
        in_speeds=ShownSpeed(130, lambda result, _: result.throughput_unit, documented="FPS",
            spread=_spread, spans=_FPS.spans,
            is_shown=lambda result: not result.is_generation, when="without `--generate`; `samples/s` of training",
            explained="batch x completions / wall time of the timed windows, slow calls included")),
    *_FPS.columns,
    Column("sustained_fps", NUMBER, "Samples per second where the row runs alone, with --sustain.",
        speed=lambda cell: cell.sustained_fps, in_python=True,
        in_speeds=ShownSpeed(140, "sustained", text=_sustained, drops=5, spans=_sustained_spans,
            is_shown=lambda result: any(map(_slows_down, result.cells)),
            when="with `--sustain`, if it differs from FPS by more than 3 % in some row",
            explained="FPS of each row when it runs alone and uninterrupted, or tokens/s with `--generate`; the median "
            "over launches")),
    *_SUSTAINED.columns,
)  # fmt: skip
MORE_LATENCY = (
    Column("new_shape_ms", NUMBER, "First call of a shape in a session that has met others, with --dynamic.",
        speed=lambda cell: cell.new_shape_ms,
        in_speeds=ShownSpeed(120, "new shape ms", spans=_NEW_SHAPE.spans,
            is_shown=_any(lambda cell: cell.new_shape_ms), when="with `--dynamic`",
            explained="the first call of this shape in a session that has met the other shapes; the median over "
            "launches ([shapes.md](shapes.md#what-a-new-shape-costs))")),
    *_NEW_SHAPE.columns,
    Column("pace_ms", NUMBER, "From one call to the next, with --pace.", speed=_paced(lambda paced: paced.pace)),
    Column("paced_p50_ms", NUMBER, "Median latency at the pace, from issue to completion.",
        speed=_paced(lambda paced: paced.p50), in_python=True,
        in_speeds=ShownSpeed(100, "paced p50 ms", drops=1, spans=_PACED_P50.spans, is_shown=_has_pace,
            when="with `--pace`", legend=Legend(40, _pace_legend),
            explained="median latency, from issue to completion, where calls come at a fixed interval "
            "([paced](protocol.md#estimates)); below the table it says how often: `paced: a call every "
            "10 ms`")),
    Column("paced_p90_ms", NUMBER, "90th percentile of that.", speed=_paced(lambda paced: paced.p90), in_python=True,
        in_speeds=ShownSpeed(110, "paced p90 ms", drops=4, spans=_PACED_P90.spans, is_shown=_has_pace,
            when="with `--pace`",
            explained="the latency that 90 % of these calls stay below; `-` with fewer than 44 calls")),
    Column("paced_p50_since_due_ms", NUMBER, "Median from when a call was due to its completion.",
        speed=_paced(lambda paced: paced.p50_since_due)),
    Column("paced_p90_since_due_ms", NUMBER, "90th percentile of that.",
        speed=_paced(lambda paced: paced.p90_since_due)),
    Column("paced_late_calls", COUNT, "Calls that were due while the one before was still running.",
        speed=_paced(lambda paced: paced.late)),
    Column("paced_lag_p99_ms", NUMBER,
        "99th percentile of the time from when a call was due and its slot was free until it was issued.",
        speed=_paced(lambda paced: paced.lag_p99)),
    Column("paced_calls", COUNT, "Calls at the pace.", speed=_paced(lambda paced: paced.count)),
    *_PACED_P50.columns,
    *_PACED_P90.columns,
    Column("launches", COUNT, "Launches that measured the row.", speed=lambda cell: cell.launches_measured,
        cold=lambda row: len(row.launches), in_python=True,
        in_speeds=ShownSpeed(220, "launches", str, drops=2,
            is_shown=lambda result: len({cell.launches_measured for cell in result.cells} - {None}) > 1,
            when="if rows differ",
            explained="the number of launches of the row: a row that is [decided](protocol.md#the-run) is not "
            "launched again")),
    Column("launch_spread", NUMBER, "Half the range of launch medians, as a fraction of their median.",
        speed=lambda cell: cell.launch_spread, in_python=True,
        in_speeds=ShownSpeed(60, "spread", percent, drops=2, legend=Legend(10, _spread_legend),
            is_shown=_any(lambda cell: cell.launch_spread),
            is_usual=lambda table: len(table.cells) == 1, when="with one row, or `--all-columns`",
            explained="half the range of the launch medians, relative to their median: how much restarting the "
            "same program changes the result")),
)  # fmt: skip
COMPARISON = (
    Column("speedup", NUMBER, "How many times as fast as the baseline.",
        compared=_compared(lambda speedup: speedup.value), in_python=True,
        in_speeds=ShownSpeed(200,
            lambda result, confidence: ends_heading("speedup", (cell.speedup for cell in result.cells), confidence),
            text=_speedup, words=True, is_shown=lambda result: _compares(result) and not has_neighbours(result),
            when="with two rows or more", documented="speedup [95 %]",
            legend=Legend(100, _speedup_legend),
            explained="how many times faster than the row marked `1 baseline`, with a confidence interval "
            "adjusted for the number of rows; `speedup [range]` where there are too few launches for "
            "one, and `speedup` after a single launch. A range among intervals is called `range`"),
        in_cold_starts=ShownColumn(80,
            lambda table, confidence: ends_heading("speedup", (row.speedup for row in table.rows), confidence),
            text=_speedup_of_start, words=True, is_shown=_compares_starts)),
    Column("speedup_low", NUMBER, "Lower end of its confidence interval; null without one.",
        compared=_compared(lambda speedup: speedup.low), in_python=True),
    Column("speedup_high", NUMBER, "Upper end of its confidence interval.",
        compared=_compared(lambda speedup: speedup.high), in_python=True),
    Column("verdict", TEXT, "faster, slower, same, undecided or preview.",
        compared=_compared(lambda speedup: speedup.verdict), in_python=True,
        in_speeds=ShownSpeed(210, "verdict", text=_verdict, words=True,
            is_shown=lambda result: _compares(result) or any(cell.state != "ok" for cell in result.cells),
            when="with two rows or more, or if a row failed", explained="what the interval says; see below"),
        in_cold_starts=ShownColumn(90, "verdict", str, words=True, is_shown=_compares_starts)),
    Column("speedup_excludes_one", FLAG, "Whether the interval leaves out 1.",
        compared=_compared(lambda speedup: speedup.excludes_one)),
    Column("speedup_all_blocks", NUMBER, "The speedup with disturbed blocks included.",
        compared=_compared(lambda speedup: speedup.all_blocks_value)),
    Column("speedup_mark", FACTS, "Why the speedup is marked.", compared=_compared(lambda speedup: speedup.reason)),
    Column("verdict_all_blocks", TEXT, "The verdict with disturbed blocks included.",
        compared=_compared(lambda speedup: speedup.all_blocks_verdict)),
    Column("speedup_verified", FLAG, "Whether the outputs of both rows were compared with a reference.",
        compared=_compared(lambda speedup: speedup.verified)),
    Column("speedup_launches", COUNT, "Launches that measured both rows.",
        compared=_compared(lambda speedup: speedup.launches)),
    Column("speedup_confidence", NUMBER,
        "Confidence of the interval, at which the row was tested (Holm's procedure).",
        compared=_compared(lambda speedup: speedup.confidence)),
    Column("speedup_direction_confidence", NUMBER, "Confidence at which this row alone is faster or slower.",
        compared=_compared(lambda speedup: speedup.direction_confidence)),
    Column("speedup_assumes_one_mode", FLAG, "Whether the interval assumes a unimodal distribution of launch speeds.",
        compared=_compared(lambda speedup: speedup.assumes_one_mode)),
    Column("speedup_table_confidence", NUMBER, "Confidence of all verdicts of the table together.",
        compared=_compared(lambda speedup: speedup.table_confidence)),
    Column("speedup_range_low", NUMBER, "Smallest launch, where there are too few for an interval.",
        compared=_compared(lambda speedup: speedup.range_low)),
    Column("speedup_range_high", NUMBER, "Largest launch, likewise.",
        compared=_compared(lambda speedup: speedup.range_high)),
    Column("max_abs_error", NUMBER, "Largest difference from the reference.",
        any_row=_error(lambda error: error.max_abs)),
    Column("max_rel_error", NUMBER, "Largest difference from the reference, relative to the largest reference value.",
        any_row=_error(lambda error: error.max_rel), in_python=True,
        in_speeds=ShownSpeed(240, "max err", error_size, drops=6, legend=Legend(90, _error_legend),
            is_shown=lambda result: not result.is_training, is_usual=precisions_differ,
            when="if precisions differ, or with `--all-columns`; never for training steps",
            explained="largest absolute difference from the reference / largest absolute reference value (of "
            "[very small outputs](#degenerate-outputs): / a thousandth of the largest input); `0` is "
            "exact agreement")),
    Column("output_cosine", NUMBER, "Cosine of the angle between outputs and reference.",
        any_row=_error(lambda error: error.cosine)),
    Column("top1_agreement", NUMBER, "Share of equal top classes, or of equal tokens until one differs.",
        any_row=_error(lambda error: error.top1_agreement)),
)  # fmt: skip
PHASES = (
    Column("import_ms", NUMBER, "Import of the runtime.", compared=_phase(lambda phases: phases.import_),
        in_cold_starts=ShownColumn(30, "import ms", drops=2)),
    Column("load_ms", NUMBER, "Loading the model.", compared=_phase(lambda phases: phases.load),
        in_cold_starts=ShownColumn(40, "load ms", drops=4)),
    Column("compile_ms", NUMBER, "Compilation.", compared=_phase(lambda phases: phases.compile), in_python=True,
        in_cold_starts=ShownColumn(50, "compile ms", drops=1)),
    Column("first_inference_ms", NUMBER, "First inference.", compared=_phase(lambda phases: phases.first_inference),
        in_cold_starts=ShownColumn(60, "first ms", drops=5)),
    Column("warm_up_ms", NUMBER, "Warm-up.", speed=_first_phase(lambda phases: phases.warm_up)),
    Column("ready_ms", NUMBER, "Process start to first output; of a cold start the median over launches.",
        speed=_first_phase(lambda phases: phases.ready), cold=ready_time(lambda spans: spans.value), in_python=True,
        in_speeds=ShownSpeed(250, "ready s", seconds, drops=7, legend=Legend(20, _ready_legend),
            is_usual=never, when="with `--all-columns`",
            explained="from process start to the first output, in the first launch, where each row starts alone"),
        in_cold_starts=ShownColumn(70,
            lambda table, confidence: ends_heading("ready ms", (row.ready_ms for row in table.rows), confidence),
            text=_ready, words=True)),
)  # fmt: skip
ACCURACY = (
    Column("accuracy", NUMBER,
        "How good outputs are by the measure of --min-accuracy or --metric; null without either.",
        speed=_quality(lambda accuracy: accuracy.value),
        in_speeds=ShownSpeed(230, "accuracy", text=_accuracy, is_shown=_any(lambda cell: cell.accuracy),
            when="with `--min-accuracy` or `--metric`", legend=Legend(80, _accuracy_legend),
            explained="the share of samples whose largest class is that of the reference, or what your own "
            "function returned ([tuning.md](tuning.md#outputs-that-are-good-enough)); below the table "
            "it says which, and the limit: `accuracy: top-1 agreement at least 99 %`")),
    Column("accuracy_limit", NUMBER, "The least, or the largest, value that was asked for.",
        speed=_quality(lambda accuracy: accuracy.limit.limit)),
    Column("accuracy_bound", TEXT, "Which of the two: at-least or at-most.",
        speed=_quality(lambda accuracy: accuracy.limit.bound)),
    Column("accuracy_metric", TEXT, "Your own function (--metric); empty for top-1 agreement.",
        speed=_quality(lambda accuracy: accuracy.limit.function)),
    Column("accuracy_samples", COUNT, "Samples that the value was computed from.",
        speed=_quality(lambda accuracy: accuracy.samples)),
    Column("accuracy_max_rel", NUMBER,
        "Largest difference from the reference over them, relative to the largest reference value.",
        speed=_quality(lambda accuracy: accuracy.max_rel)),
    Column("accuracy_misses_tolerance", FLAG, "Whether that is above the tolerance of the precision.",
        speed=_quality(lambda accuracy: accuracy.misses_tolerance)),
)  # fmt: skip
ENERGY = (
    Column("energy_per_inference_j", NUMBER,
        "Energy of one inference of one batch while the row runs alone, with --energy.",
        speed=_energy(lambda energy: energy.joules), in_python=True,
        in_speeds=ShownSpeed(150, "J/inference", spans=_ENERGY.spans, is_shown=_has_energy, when="with `--energy`",
            legend=Legend(50, _energy_legend),
            explained="energy of one inference of one batch, of the processors, their memory and the GPUs of "
            "rows on GPUs ([energy.md](energy.md)); the median over launches")),
    Column("energy_above_idle_per_inference_j", NUMBER, "The same without what the idle machine uses in that time.",
        speed=_energy(lambda energy: energy.joules_above_idle),
        in_speeds=ShownSpeed(160, "above idle", text=_above_idle, drops=4, spans=_ABOVE_IDLE.spans,
            is_shown=_has_energy, when="with `--energy`",
            explained="the same without what the idle machine uses in that time")),
    Column("power_w", NUMBER, "Mean power while the row runs alone.", speed=_energy(lambda energy: energy.watts),
        in_python=True,
        in_speeds=ShownSpeed(170, "W", drops=4, is_shown=_has_energy, when="with `--energy`",
            explained="mean power while the row ran alone")),
    Column("idle_power_w", NUMBER, "Mean power while nothing runs and all rows are loaded.",
        speed=_energy(lambda energy: energy.idle_watts)),
    Column("power_by_domain_w", FACTS, "Mean power of each part of the machine that is counted.",
        speed=_energy(lambda energy: energy.watts_by_domain)),
    *_ENERGY.columns,
    *_ABOVE_IDLE.columns,
)  # fmt: skip
PRIVATE_MEMORY = (
    Column("private_memory_by_phase_bytes", FACTS, "Memory at the end of each phase that no other process shares.",
        speed=lambda cell: cell.private_memory_bytes),
)  # fmt: skip
WORK = (
    Column("work_operations", COUNT,
        "Arithmetic operations of an inference; null where no peak of the machine was known.",
        speed=_work(lambda work: work.operations)),
    Column("work_moved_bytes", COUNT, "Its weights, inputs and outputs.", speed=_work(lambda work: work.moved_bytes)),
    Column("work_roofs", FACTS, "What the machine attains at most for that, by precision: irbench doctor --peak.",
        speed=_work(lambda work: work.roofs)),
    Column("work_peaks_measured", TEXT, "When the peaks were measured that these follow from.",
        speed=_work(lambda work: work.peaks_measured)),
    Column("work_peaks_version", TEXT,
        "Version of the backend that they were measured with; empty if without it, null if unknown.",
        speed=_work(lambda work: work.peaks_version)),
    Column("gflop_per_s", NUMBER, "10^9 operations per second.", speed=lambda cell: cell.gflop_per_s, in_python=True,
        in_speeds=ShownSpeed(180, "GFLOP/s", spread=_spread, drops=4, is_shown=_has_work,
            when="with `--roofline`",
            explained="operations of the row's graph in 10^9 per second, from `FPS`, where the peaks of the machine "
            "are known (`irbench doctor --peak`); `-` where some cannot be "
            "counted, such as for your own code ([roofline.md](roofline.md#the-roof-of-a-run))")),
    Column("roof_share", NUMBER, "Share of what the machine attains at most for the model.",
        speed=lambda cell: cell.roof_share, in_python=True,
        in_speeds=ShownSpeed(190, "of roof", lambda fraction: share(fraction, 0), drops=4, is_shown=_has_work,
            when="likewise", legend=Legend(60, _roof_legend),
            explained="the share of what the machine attains at most for that graph in the row's precision with "
            "its threads, by the peaks of the date that the legend gives; above 100 % where the row "
            "does fewer operations or moves fewer bytes than the graph says")),
)  # fmt: skip
MEMORY = (
    Column("peak_memory_bytes", COUNT, "Resident peak of the process.",
        speed=lambda cell: (cell.peak_memory_bytes or {}).get("process"), in_python=True,
        in_speeds=ShownSpeed(260, "GB", gigabytes, drops=8, is_usual=never, when="with `--all-columns`",
            explained="peak resident memory of the row's process, in 10^9 bytes; the largest of all launches. "
            "With `--instances` the sum of all processes, in which memory that they share counts "
            "several times")),
    Column("gpu_memory_bytes", COUNT, "Peak of the GPU's memory that the row takes, by NVML; null on other devices.",
        speed=lambda cell: (cell.peak_memory_bytes or {}).get("gpu"), in_python=True,
        in_speeds=ShownSpeed(265, "GPU GB", gigabytes, drops=8,
            is_shown=lambda table: any("gpu" in (row.peak_memory_bytes or {}) for row in table.cells),
            is_usual=never, when="with `--all-columns` and a row on an NVIDIA GPU",
            explained="what the row takes of the GPU's memory at most, in 10^9 bytes, as NVML tells: what was in use "
            "after its turns, less what was before them; the largest of all launches")),
    Column("peak_memory_by_phase_bytes", FACTS, "Resident peak of each phase.",
        speed=lambda cell: cell.peak_memory_bytes),
    Column("counters", FACTS, "What --counters counted: figures by phase, over launches of their own; null without.",
        source=row_counters, kinds=("speed",)),
)  # fmt: skip
