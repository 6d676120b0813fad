import math
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from launches import MS, block, even, group, launch, measured, streamed, synchronous
from summaries import EVERYONE, TIMING, alone, rows, table

from irbench.core.record import Failure, GpuReading, LaunchRecord, OutputError, Round, Sustained
from irbench.core.result import GroupResult
from irbench.core.row import CellResult
from irbench.notices import Context, Reference
from irbench.notices.marks import ClocksNotLocked, GpuNotRead, GpuThrottled, NodesElsewhere, Oversubscribed
from irbench.notices.warnings import Unverified
from irbench.render.footer import footer
from irbench.spec import Artifact, Cell, Feeding, Load, TensorSpec, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.figures import calls_to_bound
from irbench.stats.summary import summarise


def test_fps_never_exceeds_batch_over_minimum_latency_in_sync_mode():
    latencies = np.random.default_rng(0).integers(MS, 3 * MS, 25)
    row = alone([synchronous(0, latencies)], batch=8)
    assert row.fps <= 8 / (row.latency_ms.min / 1e3)


def test_with_stalls_fps_is_calls_times_batch_over_their_sum():
    row = alone([synchronous(0, [1 * MS, 1 * MS, 98 * MS])], batch=4)
    assert row.fps == pytest.approx(3 * 4 / 0.1)
    assert row.latency_ms.p50 == 1.0


def test_with_streams_completed_requests_are_counted_and_not_issued_ones():
    # two in flight, 10 ms each: four completions within 20 ms, however many were issued by then
    row = alone([streamed(0, [-5 * MS, 0, 5 * MS, 10 * MS], [5 * MS, 10 * MS, 15 * MS, 20 * MS])], streams=2)
    assert row.fps == pytest.approx(200)
    assert row.latency_ms.p50 == 10.0
    assert row.fps > 1 / (row.latency_ms.min / 1e3)
    assert row.mode == "streams"


def test_short_calls_are_counted_one_by_one_and_have_no_percentiles_beside_the_median():
    row = alone([synchronous(0, [50_000, 60_000, 70_000])], calls_per_sample=10)
    assert row.latency_ms.p50 == pytest.approx(0.006)
    assert row.latency_ms.mean == pytest.approx(0.006)
    assert (row.latency_ms.p90, row.latency_ms.min) == (None, None)
    assert row.latency_ms.calls_per_sample == 10
    assert row.fps == pytest.approx(30 / 180e-6)


def test_latencies_come_from_clean_blocks_alone():
    rounds = [synchronous(index, [10 * MS] * 3) for index in range(4)] + [synchronous(4, [90 * MS] * 3)]
    blocks = tuple(block(index, throttled_ns=int(index == 4)) for index in range(5))
    result = table(group("only"), [launch(0, [measured("only", rounds)], blocks=blocks)])
    row = rows(result)["only"]
    assert (row.latency_ms.p50, row.latency_ms.mean, row.latency_ms.count) == (10.0, 10.0, 12)
    assert row.fps == pytest.approx(100)
    assert (result.blocks_measured, result.blocks_excluded, result.blocks_per_launch) == (5, 1, 4)
    assert result.blocks_range == (4, 4)


def test_tails_are_shown_only_when_every_launch_took_a_thousand_uninterrupted_calls():
    def with_tails(*sizes):
        records = even({"only": [10.0] * len(sizes)})
        tails = [np.arange(1, size + 1) * MS for size in sizes]
        longer = [
            replace(record, cells=(replace(record.cells[0], tail_ns=tail),))
            for record, tail in zip(records, tails, strict=True)
        ]
        return rows(table(group("only"), longer))["only"].latency_ms

    assert with_tails(1000, 1000).p99 == pytest.approx(990.01)
    assert with_tails(1000, 1000).p99_9 is None
    assert with_tails(*[1000] * 5).p99_9 == pytest.approx(1000, rel=0.01)
    assert with_tails(1000, 999).p99 is None
    assert rows(table(group("only"), even({"only": [10.0]})))["only"].latency_ms.p99 is None


def test_a_percentile_is_shown_only_where_so_many_calls_bound_it():
    assert [calls_to_bound(percent) for percent in (90, 99, 99.9)] == [44, 459, 4603]
    few, enough = ([synchronous(index, [10 * MS] * 3) for index in range(count)] for count in (14, 15))
    assert alone(few).latency_ms.p90 is None
    assert alone(enough).latency_ms.p90 == 10.0


def test_p50_p90_and_fps_have_intervals_over_launches_and_a_companion_over_all_blocks():
    rounds = [synchronous(index, [10 * MS] * 3) for index in range(15)] + [synchronous(15, [40 * MS] * 3)]
    blocks = tuple(block(index, throttled_ns=int(index == 15)) for index in range(16))
    quicker = [
        replace(round_, completion_ns=round_.completion_ns // 2, issue_ns=round_.issue_ns // 2) for round_ in rounds
    ]
    records = [
        launch(number, [measured("only", quicker if number == 3 else rounds)], blocks=blocks) for number in range(6)
    ]
    row = rows(table(group("only"), records))["only"]
    assert (row.p50_over_launches.low, row.p50_over_launches.high) == pytest.approx((5.0, 10.0))
    assert row.p90_over_launches.high == pytest.approx(10.0)
    assert (row.fps_over_launches.low, row.fps_over_launches.high) == pytest.approx((100, 200))
    assert row.fps_over_launches.all_blocks_value < row.fps


def test_each_row_says_in_how_many_launches_it_ran():
    records = even({"a": [8.0] * 6, "b": [10.0] * 6})
    raced = [replace(record, cells=record.cells[: 2 if record.launch < 4 else 1]) for record in records]
    assert {row.id: row.launches_measured for row in table(group("a", "b"), raced).cells} == {"a": 6, "b": 4}


def test_a_cell_that_failed_in_a_later_launch_has_no_figures():
    records = even({"base": [10.0] * 6, "cell": [9.0] * 6})
    records[3:] = [replace(record, cells=record.cells[:1]) for record in records[3:]]
    records[3] = replace(records[3], failures={"cell": Failure("measure", "killed by SIGSEGV")})
    row = rows(table(group("base", "cell"), records))["cell"]
    assert (row.state, row.failure.message, row.latency_ms, row.speedup) == ("failed", "killed by SIGSEGV", None, None)


def test_the_table_says_what_outputs_were_verified_against():
    records = even({"only": [10.0]})
    source = Reference("export", "TensorFlow")
    verified = summarise(
        group("only"), records, TIMING, EVERYONE, stopped_by="target", seconds=1.0, references={"only": source}
    )
    assert verified.verified_against == source
    assert verified.cells[0].verified_against is None
    assert table(group("only"), records).verified_against is None


def test_a_row_says_what_its_outputs_were_verified_against_where_that_is_not_the_tables():
    asked, records = group("a", "b", "c", baseline="b"), even({"a": [10.0], "b": [10.0], "c": [10.0]})
    export, backend = Reference("export", "TensorFlow"), Reference("backend", "ort")
    found = summarise(
        asked, records, TIMING, EVERYONE, stopped_by="target", seconds=1.0,
        references={"a": export, "b": backend, "c": backend},
    )  # fmt: skip
    assert found.verified_against == backend
    assert {row.id: row.verified_against for row in found.cells} == {"a": export, "b": None, "c": None}


def test_a_row_says_what_inputs_it_was_given_where_those_are_not_the_tables():
    asked = group("one", "eight")
    (workload,) = asked.workloads
    joined = Feeding(samples=(Path("sample.npz"),), source="data", rows=1, rows_per_call=8)
    single = replace(joined, rows=0, rows_per_call=0)
    workloads = (replace(workload, feeding=single), replace(workload, sizes={"batch": 8}, feeding=joined))
    cells = (asked.cells[0], replace(asked.cells[1], workload=1))
    found = table(replace(asked, workloads=workloads, cells=cells), even({"one": [10.0], "eight": [10.0]}))
    assert (found.given_inputs.source, found.given_inputs.rows_per_call) == ("data", 0)
    given = rows(found)
    assert given["one"].given_inputs is None
    assert (given["eight"].given_inputs.rows, given["eight"].given_inputs.rows_per_call) == (1, 8)


def test_a_cell_that_cannot_run_the_model_says_so():
    admission = Admission(absent={"tf": Failure("plan", "reads tf-graph, the model is onnx")})
    row = rows(table(group("ort", "tf"), even({"ort": [10.0] * 6}), admission))["tf"]
    assert (row.state, row.failure.message) == ("not-applicable", "reads tf-graph, the model is onnx")


def test_one_cell_alone_has_figures_and_no_ratio():
    result = table(group("only"), even({"only": [10.0] * 6}))
    row = rows(result)["only"]
    assert (row.speedup, row.latency_ms.p50, result.winner, result.preview) == (None, 10.0, None, False)


def test_an_interrupt_before_the_first_launch_leaves_rows_without_figures():
    result = table(group("a", "b"), [], stopped_by="interrupt")
    assert [row.state for row in result.cells] == ["interrupted", "interrupted"]
    assert (result.baseline, result.launches, result.preview, result.warnings) == (None, 0, True, ())


def test_an_interrupt_after_three_launches_leaves_a_preview():
    result = table(group("a", "b"), even({"a": [10.0] * 3, "b": [5.0] * 3}), stopped_by="interrupt")
    assert result.preview
    assert rows(result)["b"].speedup.verdict == "preview"
    assert result.winner is None
    assert (result.lead.cell, result.lead.reason, result.lead.launches) == ("b", "preview", 3)


def test_the_spread_is_half_the_range_of_launches_over_their_median():
    row = rows(table(group("only"), even({"only": [10.0, 10.2, 9.9]})))["only"]
    assert row.launch_spread == pytest.approx(0.015)
    assert rows(table(group("only"), even({"only": [10.0]})))["only"].launch_spread is None


def test_phases_are_those_of_the_first_launch():
    records = even({"only": [10.0] * 2})
    warm = replace(records[1].cells[0], phases_ns={"import": 1, "ready": 1})
    row = rows(table(group("only"), [records[0], replace(records[1], cells=(warm,))]))["only"]
    assert (row.phases_ms.import_, row.phases_ms.ready, row.phases_ms.warm_up) == (5.0, 11.0, None)


def test_the_cost_of_a_new_shape_is_the_median_of_all_launches_that_timed_it():
    records = even({"only": [10.0] * 5})
    assert rows(table(group("only"), records))["only"].new_shape_ms is None
    for number, cost_ns in enumerate([2_000_000, 9_000_000, 3_000_000, 4_000_000]):
        timed = replace(records[number].cells[0], phases_ns={"new_shape": cost_ns})
        records[number] = replace(records[number], cells=(timed,))
    row = rows(table(group("only"), records))["only"]
    assert row.new_shape_ms == pytest.approx(3.5)
    assert row.new_shape_over_launches.low <= 3.5 <= row.new_shape_over_launches.high


def test_peak_memory_is_the_largest_over_launches():
    records = even({"only": [10.0] * 2})
    larger = replace(records[1].cells[0], peak_memory_bytes={"process": 5000, "load": 7})
    row = rows(table(group("only"), [records[0], replace(records[1], cells=(larger,))]))["only"]
    assert row.peak_memory_bytes == {"process": 5000, "load": 7}


def test_sustained_fps_counts_samples_over_the_wall_time_alone():
    records = even({"only": [10.0] * 6})
    records[-1] = replace(records[-1], sustained=(Sustained("only", 300, 3_000_000_000),))
    assert rows(table(group("only", batch=8), records))["only"].sustained_fps == pytest.approx(800)


def test_shapes_are_bound_and_labels_name_the_artifact():
    artifact = Artifact("onnx", Path("m.onnx"), (TensorSpec("x", "float32", (1,)),), ())
    asked = group("only", batch=4)
    asked = replace(asked, cells=(Cell("only", artifact, "ort", "cuda", Load(batch=4)),))
    result = table(asked, even({"only": [10.0]}))
    assert result.shapes == {"image": (4, 3, 8, 8)}
    assert (result.cells[0].artifact, result.cells[0].label) == ("onnx", "ort:cuda")


@pytest.mark.parametrize("effective", [2, 4])
def test_more_streams_than_threads_were_asked_for_are_marked_also_where_callers_compute(effective):
    rounds = [streamed(0, [0, 0, 0, 0], [MS, 2 * MS, 3 * MS, 4 * MS])]
    row = alone(rounds, streams=4, effective={"precision": "fp32", "threads": effective})
    assert row.marks == (Oversubscribed(streams=4, threads=effective, requested_threads=2),)


def test_the_error_of_outputs_is_shown_where_a_launch_verified():
    error = OutputError(1e-7, 1e-6, 1.0, 1.0)
    assert alone([synchronous(0, [MS] * 3)], output_error=error).output_error == error


def test_the_callers_warnings_come_first():
    remark = Unverified(model="net", refusals=())
    assert table(group("only"), even({"only": [10.0] * 6}), remarks=[remark]).warnings[0] == remark


def test_a_table_survives_json_and_holds_no_number_that_json_cannot():
    result = table(group("a", "b"), even({"a": [10.0, 10.1] * 3, "b": [5.0] * 6}))
    text = msgspec.json.encode(result)
    assert msgspec.json.decode(text, type=GroupResult) == result
    assert all(math.isfinite(row.fps) for row in result.cells)


def test_a_row_has_the_shapes_of_its_own_batch():
    small, large = group("small"), group("large", batch=8)
    (cell,) = large.cells
    both = replace(
        small, workloads=(*small.workloads, *large.workloads), cells=(*small.cells, replace(cell, workload=1))
    )
    records = [
        launch(0, [measured(name, [synchronous(at, [MS] * 3) for at in range(4)]) for name in ("small", "large")])
    ]
    found = table(both, records)
    assert {row.id: row.shapes for row in found.cells} == {
        "small": {"image": (1, 3, 8, 8)},
        "large": {"image": (8, 3, 8, 8)},
    }
    assert found.shapes == {"image": (1, 3, 8, 8)}


def on_gpu(*clocks: int | None) -> list[Round]:
    idle = GpuReading(345, None)
    return [
        replace(synchronous(place, [MS] * 3), gpu=(idle, GpuReading(clock, None))) for place, clock in enumerate(clocks)
    ]


def test_a_gpu_whose_clock_changed_is_marked_with_how_to_lock_it():
    (mark,) = alone(on_gpu(1_980, 1_755, 1_980)).marks
    assert mark == ClocksNotLocked(lowest_mhz=1_755, highest_mhz=1_980)
    assert "sudo nvidia-smi -lgc 1755" in mark.text()


def test_a_gpu_whose_clock_stood_still_or_is_unknown_has_no_mark():
    assert alone(on_gpu(1_755, 1_755, 1_755)).marks == ()
    assert alone(on_gpu(None, None, None)).marks == ()


def test_nodes_that_run_elsewhere_are_marked_with_what_they_are():
    facts = {"nodes": 120, "nodes_elsewhere": 3, "operators_elsewhere": "NonZero,Unique"}
    rounds = [synchronous(0, [MS] * 3)]
    marked = alone(rounds, effective={"precision": "fp32", "threads": 2, **facts}).marks
    assert marked == (NodesElsewhere(device="cpu", **facts),)
    assert alone(rounds, effective={"precision": "fp32", "threads": 2, "nodes": 120, "nodes_elsewhere": 0}).marks == ()


def test_private_memory_is_that_of_the_launches_that_know_it():
    records = even({"only": [10.0] * 2})
    assert rows(table(group("only"), records))["only"].private_memory_bytes is None
    known = replace(records[1].cells[0], private_memory_bytes={"import": 4, "run": 9})
    row = rows(table(group("only"), [records[0], replace(records[1], cells=(known,))]))["only"]
    assert row.private_memory_bytes == {"import": 4, "run": 9}


def test_private_memory_is_that_of_one_launch_so_that_growths_are_within_it():
    phases = ({"import": 50, "compile": 60, "run": 200}, {"import": 40, "compile": 190, "run": 195}, {})
    records = [
        replace(record, cells=(replace(record.cells[0], private_memory_bytes=sizes),))
        for record, sizes in zip(even({"only": [10.0] * 3}), phases, strict=True)
    ]
    assert rows(table(group("only"), records))["only"].private_memory_bytes == phases[0]


def test_a_run_whose_blocks_were_mostly_disturbed_has_no_winner():
    def run(disturbed):
        records = even({"a": [8.0] * 6, "b": [10.0] * 6}, blocks=8)
        seen = tuple(block(index, throttled_ns=int(index < disturbed)) for index in range(8))
        return table(group("a", "b"), [replace(record, blocks=seen) for record in records])

    assert run(4).winner.cell == "a"
    busy = run(5)
    assert (busy.winner, busy.lead.reason, busy.blocks_disturbed, busy.blocks_excluded) == (None, "busy", 30, 0)


def test_a_leader_whose_rival_completes_more_per_second_is_no_winner():
    # the median of every round says 8 ms against 10, but each third call of the cell takes 40
    rounds = {"cell": [8 * MS, 8 * MS, 40 * MS], "base": [10 * MS] * 3}
    records = [
        launch(
            number, [measured(name, [synchronous(index, own) for index in range(8)]) for name, own in rounds.items()]
        )
        for number in range(6)
    ]
    found = table(group("base", "cell"), records)
    assert (found.lead.cell, found.lead.reason, found.winner) == ("cell", "throughput-disagrees", None)


def test_a_leader_that_the_disturbed_blocks_turn_round_is_no_winner():
    def record(number):
        cells = [
            measured("base", [synchronous(index, [10 * MS] * 3) for index in range(9)]),
            measured("cell", [synchronous(index, [(8 if index < 5 else 30) * MS] * 3) for index in range(9)]),
        ]
        return launch(number, cells, blocks=tuple(block(index, throttled_ns=int(index > 4)) for index in range(9)))

    found = table(group("base", "cell"), [record(number) for number in range(6)])
    assert found.lead.reason == "all-blocks-disagree" or found.all_blocks_value > 1


def test_a_leader_that_is_slower_alone_is_no_winner():
    records = even({"a": [8.0] * 6, "b": [10.0] * 6}, blocks=8)
    ran = (Sustained("a", 200, 3_000_000_000), Sustained("b", 300, 3_000_000_000))
    found = table(group("a", "b"), [replace(record, sustained=ran) for record in records])
    assert found.lead.reason == "sustained-disagrees"


def test_runs_alone_in_too_few_launches_contradict_nobody():
    records = even({"a": [8.0] * 6, "b": [10.0] * 6}, blocks=8)
    ran = (Sustained("a", 200, 3_000_000_000), Sustained("b", 300, 3_000_000_000))
    records[-1] = replace(records[-1], sustained=ran)
    assert table(group("a", "b"), records).winner.cell == "a"


def test_a_row_with_wrong_outputs_is_not_called_decided():
    records = even({"a": [8.0] * 6, "b": [10.0] * 6, "wrong": [1.0] * 6})
    raced = [replace(record, cells=record.cells[: 3 if record.launch < 1 else 2]) for record in records]
    found = table(group("a", "b", "wrong"), raced, Admission(mismatches={"wrong": Failure("verify", "wrong outputs")}))
    assert not any("decided rows left" in line for line in footer(found, Context()))


def test_rows_stand_fastest_first_then_wrong_and_failed_ones():
    asked = group("base", "broken", "wrong", "fast", "slow")
    records = even({"base": [10.0] * 6, "wrong": [1.0] * 6, "fast": [5.0] * 6, "slow": [20.0] * 6})
    records[0] = replace(records[0], failures={"broken": Failure("compile", "no such operator")})
    result = table(asked, records, Admission(mismatches={"wrong": Failure("verify", "wrong outputs")}))
    assert [row.id for row in result.cells] == ["fast", "base", "slow", "broken", "wrong"]
    assert {row.id: row.state for row in result.cells} == {
        "fast": "ok", "base": "ok", "slow": "ok", "broken": "failed", "wrong": "mismatch",
    }  # fmt: skip


def test_wrong_outputs_keep_their_time_and_get_no_speedup():
    asked = group("base", "wrong")
    admission = Admission(mismatches={"wrong": Failure("verify", "wrong outputs")})
    result = table(asked, even({"base": [10.0] * 6, "wrong": [1.0] * 6}), admission)
    row = rows(result)["wrong"]
    assert (row.speedup, row.latency_ms.p50, row.failure.message) == (None, 1.0, "wrong outputs")
    assert result.winner is None


def test_outputs_that_cannot_be_compared_are_a_mismatch_too():
    records = even({"base": [10.0] * 6})
    records[0] = replace(records[0], failures={"odd": Failure("verify", "output 0 has shape 3, the reference 4")})
    row = rows(table(group("base", "odd"), records))["odd"]
    assert (row.state, row.latency_ms) == ("mismatch", None)


def test_when_the_baseline_failed_the_next_healthy_cell_takes_its_place_and_it_is_said():
    records = even({"b": [10.0] * 6, "c": [5.0] * 6})
    records[0] = replace(records[0], failures={"a": Failure("import", "no module")})
    result = table(group("a", "b", "c"), records)
    assert result.baseline == "b"
    assert rows(result)["c"].speedup.value == pytest.approx(2.0)
    assert "baseline-replaced" in {warning.code for warning in result.warnings}


def test_a_baseline_with_wrong_outputs_is_replaced_too():
    admission = Admission(mismatches={"a": Failure("verify", "wrong outputs")})
    assert table(group("a", "b"), even({"a": [10.0] * 6, "b": [9.0] * 6}), admission).baseline == "b"


EXACT = OutputError(0, 0, 1, None)
LEVELS_MS = {"slow": [2] * 6, "quick": [1] * 6}


def verified_table(records: list[LaunchRecord]) -> GroupResult:
    return summarise(group(*LEVELS_MS), records, Timing(), Admission(), stopped_by="target", seconds=60.0)


def quick(result: GroupResult) -> CellResult:
    return next(row for row in result.cells if row.id == "quick")


@pytest.mark.parametrize(("errors", "verified"), [({}, False), ({"output_error": EXACT}, True)])
def test_a_speedup_says_whether_anything_was_held_against_the_answers(errors, verified):
    result = verified_table(even(LEVELS_MS, **errors))
    assert quick(result).speedup.verified is verified
    assert result.unverified is not verified


def test_a_speedup_over_a_baseline_that_was_not_verified_is_not_verified():
    records = [
        replace(item, cells=(item.cells[0], replace(item.cells[1], output_error=EXACT))) for item in even(LEVELS_MS)
    ]
    assert quick(verified_table(records)).speedup.verified is False


def test_a_gpu_that_heat_slows_down_in_most_rounds_is_marked():
    hot = GpuReading(1_700, None, ("software-thermal", "power-cap"))
    rounds = [replace(synchronous(place, [MS] * 3), gpu=(hot, hot)) for place in range(3)]
    (mark,) = alone(rounds).marks
    assert mark == GpuThrottled(rounds=3, throttled=3, limits=("software-thermal",))
    assert "throttled in 3 of 3 rounds (software thermal)" in mark.text()


def test_a_row_whose_gpu_could_not_be_read_says_why():
    (mark,) = alone([synchronous(0, [MS] * 3)], effective={"precision": "fp32", "gpu_unread": "unknown-order"}).marks
    assert mark == GpuNotRead(reason="unknown-order")
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in mark.text()
