"""What a finished run tells its caller: the gravest of what happened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irbench.api.exit_codes import exit_code
from irbench.result import GroupResult, Lead, RunDocument, StoppedBy
from irbench.row import CellResult, Requested, State
from irbench.row_figures import Speedup, Verdict


def document(*states: State, verdict: Verdict = "faster", stopped_by: StoppedBy = "target") -> RunDocument:
    speedup = Speedup(1.2, 1.1, 1.3, verdict, excludes_one=True, all_blocks_value=1.2)
    cells = tuple(
        CellResult(
            str(index), "label", "onnx", "ort", "cpu", "sync", 1, "copy", Requested(1, 1, "fp32"), {}, state,
            speedup=speedup if state == "ok" else None,
        )
        for index, state in enumerate(states)
    )  # fmt: skip
    group = GroupResult("model", 1, {}, "0", 6, 8, 0, 48, stopped_by, False, 1.0, None, cells)
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
    lead = Lead("0", "1", 1.2, 1.1, 1.3, 6, condition="busy")
    busy = replace(found, groups=(replace(found.groups[0], lead=lead, condition="busy"),))
    assert (exit_code(busy, strict=False), exit_code(busy, strict=True)) == (0, 4)
    alone = replace(found, groups=(replace(found.groups[0], condition="busy"),))  # one row is compared with nothing
    assert exit_code(alone, strict=True) == 0
