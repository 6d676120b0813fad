"""Every figure of a stored table follows from its raw samples and what the document says of the plan."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any, cast

import launches as made
import pytest
from documents import document
from launches import block, even, group
from stored_plans import stored_plan

from irbench.core.record import Failure, LaunchRecord, OutputError
from irbench.core.result import RunDocument
from irbench.core.row import GivenInputs
from irbench.core.stored_plan import StoredPlan
from irbench.errors import IrbenchError
from irbench.notices import Reference
from irbench.notices.marks import BeyondTolerance
from irbench.notices.notes import NativePrecision
from irbench.notices.warnings import Unverified
from irbench.spec import Accuracy, AccuracyLimit, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.observed import log_level
from irbench.stats.rederive import observed_launches, planned_timing, rederive, rederive_speeds
from irbench.stats.summary import summarise
from irbench.store.run_document import decode_document, encode_document

TIMING = Timing()
REMARK = Unverified(model="net", refusals=())
REFERENCE = Reference("export", "TensorFlow")
OWN_NOTE = NativePrecision(backend="ort", precision="bf16", measured=("fp32",))


def launches() -> list[LaunchRecord]:
    records = even({"base": [10.0, 10.3, 9.9, 10.1, 10.0, 10.2], "fast": [5.0] * 6, "wrong": [1.0] * 6}, blocks=8)
    records[0] = replace(records[0], failures={"broken": Failure("compile", "no such operator")})
    return [replace(record, blocks=tuple(block(n, throttled_ns=int(n < 3)) for n in range(8))) for record in records]


def stored(records: list[LaunchRecord]) -> RunDocument:
    asked = group("absent", "unmade", "base", "broken", "fast", "wrong", streams={"fast": 4}, baseline="broken")
    admission = Admission(
        absent={"absent": Failure("plan", "reads tf-graph"), "unmade": Failure("optimize", "a pass breaks it")},
        mismatches={"wrong": Failure("verify", "wrong outputs")},
    )
    table = summarise(
        asked,
        records,
        replace(TIMING, budget=70.0),
        admission,
        stopped_by="budget",
        seconds=60.0,
        remarks=[REMARK],
        references={**dict.fromkeys(("base", "broken", "fast"), REFERENCE), "wrong": Reference("backend", "ort")},
    )
    table = replace(table, notes=(*table.notes, OWN_NOTE))
    plan = {"timing": asdict(TIMING), "allow_mixed": False}
    return decode_document(encode_document(document(table, plan=plan)), "run.json")


def speeds(run: RunDocument) -> dict[str, tuple[float | None, float | None]]:
    return {row.id: (row.latency_ms.p50 if row.latency_ms else None, row.fps) for row in run.groups[0].cells}


def test_a_stored_table_follows_from_its_samples_again():
    records = launches()
    run = stored(records)
    assert {row.state for row in run.groups[0].cells} == {"ok", "failed", "mismatch", "not-applicable"}
    assert run.groups[0].warnings[0] == REMARK
    assert len(run.groups[0].warnings) > 1
    assert run.groups[0].verified_against == REFERENCE
    others = {row.id: row.verified_against for row in run.groups[0].cells if row.verified_against is not None}
    assert others == {"wrong": Reference("backend", "ort")}
    assert rederive(run, records) == run
    assert rederive_speeds(run, records) == (speeds(run),)


def test_accuracy_and_what_it_excluded_stay():
    limit = AccuracyLimit(0.9, function="metrics.py:own")
    asked = group("base", "off", "low")
    values = {"off": Accuracy(0.95, limit, 100, max_rel=0.4), "low": Accuracy(0.5, limit, 100)}
    cells = tuple(replace(cell, accuracy=values.get(cell.id)) for cell in asked.cells)
    error = OutputError(0.4, 0.4, 0.9, None)
    records = even({"base": [10.0] * 6, "off": [5.0] * 6}, blocks=8, output_error=error)
    admission = Admission(absent={"low": Failure("accuracy", "metrics.py:own is 0.5, below 0.9")})
    table = summarise(
        replace(asked, cells=cells), records, TIMING, admission, stopped_by="budget", seconds=60.0
    )  # fmt: skip
    plan = {"timing": asdict(TIMING), "allow_mixed": False}
    run = decode_document(encode_document(document(table, plan=plan)), "run.json")
    rows = {row.id: row for row in run.groups[0].cells}
    assert {row.id: row.accuracy for row in rows.values() if row.accuracy is not None} == values
    assert rows["low"].state == "mismatch"
    assert rows["off"].marks == (BeyondTolerance(max_rel=0.4, precision="fp32"),)
    assert rows["base"].marks == ()
    assert rederive(run, records) == run
    assert rederive_speeds(run, records) == (speeds(run),)


def test_inputs_of_a_row_stay_where_they_are_not_those_of_the_table():
    records = launches()
    run = stored(records)
    table = replace(run.groups[0], given_inputs=GivenInputs("one.npz", 1, {}, {}, {}))
    own = GivenInputs("one.npz", 1, {}, {}, {}, 1, 8)
    rows = tuple(replace(row, given_inputs=own) if row.id == "fast" else row for row in table.cells)
    run = replace(run, groups=(replace(table, cells=rows),))
    assert rederive(run, records) == run
    assert rederive_speeds(run, records) == (speeds(run),)


def test_other_samples_give_another_table():
    records = launches()
    fewer = rederive(stored(records), records[:3]).groups[0]
    assert (fewer.launches, fewer.preview) == (3, True)
    assert fewer.notes[-1] == OWN_NOTE


def test_the_samples_of_each_table_are_its_own():
    records = launches()
    run = stored(records)
    twice = replace(run, groups=run.groups * 2)
    others = [replace(record, group=1) for record in records]
    assert rederive(twice, [*records, *others]) == twice
    assert rederive(twice, records).groups[1].launches == 0


def test_a_table_that_does_not_say_what_it_was_made_from_is_refused():
    with pytest.raises(IrbenchError, match="does not record what it was derived from"):
        rederive(document(), [])


def test_a_table_that_was_made_from_rows_that_it_lacks_is_refused():
    records = launches()
    run = stored(records)
    table = run.groups[0]
    assert table.basis is not None
    strange = replace(table, basis=replace(table.basis, cells=(*table.basis.cells, "/etc/passwd")))
    with pytest.raises(IrbenchError, match="rows that it does not have"):
        rederive(replace(run, groups=(strange,)), records)


IMPOSSIBLE = (
    [], "fast", {"max_launches": 2**40}, {"min_launches": 0}, {"min_launches": 5, "max_launches": 4}, {"confidence": 1},
    {"confidence": "high"}, {"max_blocks": -1}, {"burn_in_blocks": -1}, {"within": -0.5},
)  # fmt: skip


@pytest.mark.parametrize("timing", IMPOSSIBLE, ids=str)
def test_a_plan_by_which_nothing_can_have_been_measured_is_refused(timing: object):
    with pytest.raises(IrbenchError, match="nothing of how it was measured") as caught:
        planned_timing(StoredPlan(timing=cast("Any", timing)))
    assert "other runs are not affected" in caught.value.hint


def test_a_run_whose_plan_does_not_say_when_launches_are_left_out_leaves_them_out_where_most_blocks_were_disturbed():
    assert planned_timing(stored_plan(timing={"min_blocks": 3})) == Timing(min_blocks=3, left_out_above=0.5)
    assert planned_timing(stored_plan(timing={"left_out_above": 0.0})) == Timing()


def test_the_time_of_a_row_does_not_depend_on_the_other_rows_of_its_table():
    """Alone, ort is compared by latency; beside a row with streams, by the time per completion."""
    ms = made.MS
    pauses = [made.streamed(block, [0, 12 * ms, 24 * ms], [10 * ms, 22 * ms, 34 * ms]) for block in range(5)]
    levels = []
    for names in (("ort",), ("ort", "tf")):
        compared = made.group(*names, streams={"tf": 4})
        records = [made.launch(number, [made.measured(name, pauses) for name in names]) for number in range(4)]
        table = summarise(compared, records, TIMING, Admission(), stopped_by="launches", seconds=1.0)
        row = next(row for row in table.cells if row.id == "ort")
        levels.append([log_level(launch, "ort") for launch in observed_launches(table, row, records, TIMING)])
    assert levels[0] == levels[1]
    assert levels[0][0] == pytest.approx(math.log(10 * ms))
