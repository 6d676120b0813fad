"""Which row is the winner, the baseline, and decided."""

from dataclasses import replace

import pytest
from launches import MS, block, even, group, launch, measured, synchronous
from summaries import rows, table

from irbench.core.record import Failure, Sustained
from irbench.notices import Context
from irbench.render.footer import footer
from irbench.stats.eligibility import Admission


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
