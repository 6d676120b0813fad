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


@pytest.mark.parametrize("scale", [100, 200, 400, 1000, 2000])
def test_calls_that_get_faster_slowly_are_not_steady_yet(scale):
    course = course_of(1e6 * (1 + np.exp(-np.arange(300) / scale)))
    assert course is not None
    assert course.after is None


def test_calls_that_get_faster_in_a_straight_line_are_not_steady_before_its_end():
    line = 1e6 * np.maximum(1, 2 - np.arange(2400) / 1000)
    early, late = course_of(line[:300]), course_of(line)
    assert early is not None
    assert early.after is None
    assert late is not None
    assert late.after is not None
    assert 900 <= late.after <= 1100


def test_an_exponential_that_has_come_to_rest_is_steady():
    course = course_of(1e6 * (1 + np.exp(-np.arange(600) / 100)))
    assert course is not None
    assert course.after is not None
    assert 250 <= course.after <= 325


def test_of_few_calls_nothing_is_said():
    assert course_of(times((FEWEST_JUDGED - 1, 1.0))) is None


def test_later_launches_take_a_margin():
    assert (calls_of_later_launches(0), calls_of_later_launches(200)) == (0, 250)


def ends_with_the_last_slow_chunk(seen):
    """Return a course that is taken to end there, though what follows still falls."""
    chunks = np.array_split(seen, 24)
    slow = [place for place, chunk in enumerate(chunks) if np.median(chunk) > 1.05 * np.median(seen[-len(seen) // 8 :])]
    after = sum(chunk.size for chunk in chunks[: slow[-1] + 1]) if slow else 0
    return Course(after if after <= 0.75 * len(seen) else None, 0.0)


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
            ends_with_the_last_slow_chunk, "exponential of 400 calls, 2x", id="does-not-ask-whether-the-end-falls"
        ),
        pytest.param(
            ends_with_the_last_slow_chunk, "straight line over 1,000 calls, 2x", id="nor-whether-a-line-has-ended"
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
