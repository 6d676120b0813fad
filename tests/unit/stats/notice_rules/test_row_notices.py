"""What is said of a leader follows from its direct comparison with its rival."""

from __future__ import annotations

from dataclasses import replace

import launches
import numpy as np
import pytest
from launches import MS, even, group, launch, measured, synchronous

from irbench.core.record import LaunchRecord, Round, WarmUp
from irbench.notices import Mark
from irbench.notices.marks import NoOutputs, RefusedInWarmUp
from irbench.notices.notes import BusyNeighbour, IrVersionLowered
from irbench.spec import Group, Program, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise

TIMING = Timing(burn_in_blocks=0)


def lead(asked, records):
    return summarise(asked, records, TIMING, Admission(), stopped_by="interrupt", seconds=60.0).lead


def test_a_preview_names_no_leader_whose_direct_ratio_says_the_opposite():
    blocks = {"a": (30, 12, 15), "b": (12, 12, 20), "c": (15, 10, 20)}
    told = [measured(cell, [synchronous(at, [ms * MS] * 3) for at, ms in enumerate(of)]) for cell, of in blocks.items()]
    found = lead(group("a", "b", "c"), [launch(0, told)])
    assert found.value >= 1
    assert found.reason == "preview"


def test_a_preview_of_one_launch_names_the_leader():
    found = lead(group("a", "b"), even({"a": [10.0], "b": [5.0]}))
    assert (found.cell, found.rival, found.value, found.launches) == ("b", "a", 2.0, 1)
    assert found.low == found.high


def test_one_cell_leads_nobody():
    assert lead(group("a"), even({"a": [10.0] * 6})) is None


def test_a_file_in_a_newer_format_than_the_runtime_reads_is_noted_once():
    facts = {"ir_version": 14, "lowered_ir_version": 13}
    records = [
        replace(
            record,
            cells=tuple(
                replace(cell, effective={**cell.effective, **facts}) if cell.cell == "b" else cell
                for cell in record.cells
            ),
        )
        for record in even({"a": [10.0] * 6, "b": [5.0] * 6})
    ]
    result = summarise(group("a", "b"), records, TIMING, Admission(), stopped_by="target", seconds=60.0)
    assert result.notes == (IrVersionLowered(cell="b", **facts),)


def test_a_table_that_was_measured_beside_a_busy_neighbour_says_so():
    records = even({"a": [10.0] * 6, "b": [5.0] * 6})
    beside = replace(TIMING, busy_processors=(1,))
    result = summarise(group("a", "b"), records, beside, Admission(), stopped_by="target", seconds=60.0)
    assert result.notes == (BusyNeighbour(processors=(1,)),)


def with_program(group: Group, program: Program) -> Group:
    first, *others = group.cells
    return replace(group, cells=(replace(first, program=program), *others))


def marks(
    program: Program, wall_ms: float = 10.0, warm_up: WarmUp | None = None, **effective: object
) -> tuple[Mark, ...]:
    """Return the marks of a row of four launches whose rounds hold 9 ms of calls in so much wall time."""
    completion = np.array([3, 6, 9], np.int64) * MS
    rounds = [
        Round(number, completion - 3 * MS, completion, launches.evidence(int(wall_ms * MS))) for number in range(5)
    ]
    said = {"precision": "fp32", "threads": 2, **effective}
    own = replace(launches.measured("own", rounds, effective=said), warm_up=warm_up)
    records: list[LaunchRecord] = [
        launches.launch(number, [own, launches.measured("ort", rounds)]) for number in range(4)
    ]
    table = summarise(
        with_program(launches.group("own", "ort"), program),
        records,
        Timing(),
        Admission(),
        stopped_by="launches",
        seconds=1.0,
    )
    rows = {row.id: row for row in table.cells}
    assert rows["own"].program == program
    assert rows["ort"].program is None
    assert not rows["ort"].marks
    return rows["own"].marks


def test_a_function_that_returns_outputs_has_no_mark() -> None:
    assert marks(Program("callable", "loop:infer"), returns_outputs=True) == ()


def test_a_function_that_returns_none_is_not_verified() -> None:
    assert marks(Program("callable", "loop:infer"), returns_outputs=False) == (NoOutputs(),)


def test_a_row_says_how_many_calls_of_its_warm_ups_a_server_refused() -> None:
    warm_up = WarmUp(calls=100, judged=False, steady_after=None, slower=0.0, refused=3)
    server = Program("server", "http://localhost:8000/v2/models/net")
    assert marks(server, warm_up=warm_up, returns_outputs=True) == (RefusedInWarmUp(calls=12),)
    assert marks(server, warm_up=replace(warm_up, refused=0), returns_outputs=True) == ()


@pytest.mark.parametrize(("wall_ms", "share"), [(10.0, 0.9), (900.0, 0.01)])
def test_a_command_times_itself_and_its_calls_have_a_share_of_its_time(wall_ms: float, share: float) -> None:
    (mark,) = marks(Program("command", "./loop"), wall_ms, returns_outputs=True)
    assert mark.code == "self-timed"
    assert mark.share == pytest.approx(share)
