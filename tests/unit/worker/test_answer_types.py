"""What a confined worker may answer: figures are derived from it without looking again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from irbench.record import Evidence, PacedRun, Round, Sustained
from irbench.worker.answer_types import check_of_method
from irbench.worker.cell import Prepared, Warmed
from irbench.worker.instance import Share
from irbench.worker.profiling import ProfiledRun
from irbench.worker.soak import SoakBlock

EVIDENCE = Evidence(9, 9, None, 0, 0, 0, 0)
TIMES = np.array([1, 2, 3], np.int64)
NO_TIMES = np.empty(0, np.int64)
ROUND = Round(0, TIMES - 1, TIMES, EVIDENCE)
WARMED = Warmed(5.0, 5.0, 1, {}, {})
PACED = PacedRun(10, 1, TIMES - 1, TIMES)
SHARE = Share(np.ones((3, 2), np.int64), EVIDENCE)
BLOCK = SoakBlock(3, 9, 3, None)
SOUND: dict[str, Any] = {
    "prepare": Prepared({}, (), 0.5),
    "take_round": ROUND,
    "tail": TIMES,
    "warm_up": WARMED,
    "paced": PACED,
    "take_share": SHARE,
    "take_paced_share": np.ones((3, 3), np.int64),
    "alone": Sustained("a", 1, 1),
    "block": BLOCK,
    "profile": ProfiledRun({}, (1, 2), ()),
}


@pytest.mark.parametrize("method", SOUND)
def test_what_a_host_returns_is_taken(method: str) -> None:
    assert check_of_method(method)(SOUND[method])


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("take_round", replace(ROUND, completion_ns=TIMES[:-1])),
        ("take_round", replace(ROUND, issue_ns=NO_TIMES, completion_ns=NO_TIMES)),
        ("take_round", replace(ROUND, completion_ns=TIMES.astype(np.float64))),
        ("take_round", replace(ROUND, completion_ns=TIMES[::-1])),
        ("take_round", replace(ROUND, completion_ns=TIMES - 3)),
        ("take_round", replace(ROUND, issue_ns=TIMES[:, None], completion_ns=TIMES[:, None])),
        ("tail", np.zeros((3, 3, 3), "U4")),
        ("tail", NO_TIMES),
        ("tail", np.array(1, np.int64)),
        ("prepare", Prepared({}, (), float("inf"))),
        ("prepare", Prepared({}, (), -1.0)),
        ("warm_up", replace(WARMED, call_ns=float("nan"))),
        ("warm_up", replace(WARMED, completion_ns=0.0)),
        ("warm_up", replace(WARMED, calls_per_sample=0)),
        ("paced", replace(PACED, pace_ns=0)),
        ("paced", replace(PACED, issue_ns=TIMES[:-1])),
        ("take_share", replace(SHARE, times_ns=TIMES)),
        ("take_paced_share", np.ones((3, 2), np.int64)),
        ("alone", Sustained("a", 0, 1)),
        ("block", replace(BLOCK, calls=0)),
        ("profile", ProfiledRun({}, (), ())),
        ("profile", ProfiledRun({}, (1, 2), (), ((1, 1),))),
    ],
)
def test_times_from_which_no_figure_follows_are_refused(method: str, answer: Any) -> None:
    assert not check_of_method(method)(answer)
