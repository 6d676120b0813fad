"""When calls stop getting faster."""

from __future__ import annotations

import numpy as np
import pytest
from simulation.warm_ups import kept

from irbench.stats.warm_up import FEWEST_JUDGED, Course, calls_of_later_launches, course_of


def times(*parts: tuple[int, float]) -> np.ndarray:
    return np.concatenate([np.full(calls, 1e6 * factor) for calls, factor in parts])


def test_calls_that_are_alike_are_warm_from_the_first_one_on():
    assert course_of(times((300, 1.0))) == Course(0, 0.0)


def test_a_step_is_found_within_a_chunk_of_where_it_is():
    course = course_of(times((200, 3.0), (100, 0.8)))
    assert course is not None
    assert course.after is not None
    assert 200 <= course.after <= 213
    assert course.slower == pytest.approx(2.75)


def test_a_step_near_the_end_is_not_steady_yet():
    course = course_of(times((280, 1.25), (20, 1.0)))
    assert course is not None
    assert course.after is None


def test_calls_that_become_slower_are_no_warm_up():
    assert course_of(times((200, 1.0), (100, 1.5))) == Course(0, 0.0)


def test_slow_calls_in_the_middle_are_no_warm_up():
    assert course_of(times((100, 1.0), (60, 2.0), (140, 1.0))) == Course(0, 0.0)


def test_of_few_calls_nothing_is_said():
    assert course_of(times((FEWEST_JUDGED - 1, 1.0))) is None


def test_later_launches_take_a_margin():
    assert (calls_of_later_launches(0), calls_of_later_launches(200)) == (0, 250)


@pytest.mark.ci
def test_the_rule_keeps_its_promise_in_every_regime():
    assert kept(course_of, 200) == []


@pytest.mark.ci
@pytest.mark.parametrize(
    ("rule", "regime"),
    [
        pytest.param(lambda _: Course(0, 0.0), "step after 200 calls, 1.25x", id="never-sees-a-warm-up"),
        pytest.param(lambda seen: course_of(seen[:60]), "step after 200 calls, 1.25x", id="looks-at-60-calls"),
        pytest.param(
            lambda seen: Course(int(np.flatnonzero(seen > 1.1 * np.median(seen[-75:])).max(initial=-1)) + 1, 0.0),
            "heavy tails",
            id="takes-the-last-slow-call",
        ),
        pytest.param(
            lambda seen: Course(0, 0.0) if abs(seen[-30:].mean() / seen[:30].mean() - 1) < 0.05 else Course(None, 0.1),
            "slower later",
            id="compares-both-ends",
        ),
    ],
)
def test_a_broken_rule_is_rejected(rule, regime):
    assert regime in kept(rule, 60)
