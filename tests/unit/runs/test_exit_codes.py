"""What a finished run tells its caller: the gravest of what happened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irbench.core.result import GroupResult, Lead, RunDocument, StoppedBy
from irbench.core.row import CellResult, Requested, Speedup, State, Verdict
from irbench.runs.exit_codes import exit_code


def document(*states: State, verdict: Verdict = "faster", stopped_by: StoppedBy = "target") -> RunDocument:
    speedup = Speedup(1.2, low=1.1, high=1.3, verdict=verdict, excludes_one=True, all_blocks_value=1.2)
    cells = tuple(
        CellResult(
            id=str(index),
            label="label",
            artifact="onnx",
            backend="ort",
            device="cpu",
            mode="sync",
            batch=1,
            io="copy",
            requested=Requested(1, 1, "fp32"),
            effective={},
            state=state,
            speedup=speedup if state == "ok" else None,
        )
        for index, state in enumerate(states)
    )
    group = GroupResult(
        model="model",
        batch=1,
        shapes={},
        baseline="0",
        launches=6,
        blocks_per_launch=8,
        blocks_excluded=0,
        blocks_measured=48,
        stopped_by=stopped_by,
        preview=False,
        seconds=1.0,
        winner=None,
        cells=cells,
    )
    return RunDocument(1, "id", "now", "0", {}, {}, (group,))


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (document("ok", "ok"), 0),
        (document("ok", "not-applicable"), 0),
        (document("ok", "failed"), 3),
        (document("ok", "failed", "mismatch"), 1),
        (document("ok", "failed", "mismatch", stopped_by="interrupt"), 130),
    ],
)
def test_the_gravest_event_decides(found: RunDocument, code: int) -> None:
    assert exit_code(found, strict=False) == code


@pytest.mark.parametrize("verdict", ["undecided", "preview"])
def test_indecision_matters_only_to_the_strict(verdict: Verdict) -> None:
    found = document("ok", verdict=verdict)
    assert exit_code(found, strict=False) == 0
    assert exit_code(found, strict=True) == 4
    assert exit_code(replace(found, groups=(*found.groups, *document("failed").groups)), strict=True) == 3


def test_what_holds_for_a_busy_machine_alone_is_undecided_to_the_strict() -> None:
    found = document("ok", "ok")
    lead = Lead("0", "1", 1.2, low=1.1, high=1.3, launches=6, condition="busy")
    busy = replace(found, groups=(replace(found.groups[0], lead=lead, condition="busy"),))
    assert (exit_code(busy, strict=False), exit_code(busy, strict=True)) == (0, 4)
    alone = replace(found, groups=(replace(found.groups[0], condition="busy"),))  # one row is compared with nothing
    assert exit_code(alone, strict=True) == 0
