"""An expectation is written as people say it, and what is none is refused with what is wrong."""

from __future__ import annotations

import pytest

from irbench.features.reduce.expectation import (
    USUAL_FACTOR,
    Expectation,
    Failing,
    SlowerThan,
    WrongAnswers,
    parse_expectation,
)

SLOWER = SlowerThan("ort", "openvino", 1.5)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ort slower than openvino by 1.5x", SLOWER),
        ("ort is slower than openvino by at least 1.5 x", SLOWER),
        ("ort 1.5x slower than openvino", SLOWER),
        ("ort slower than openvino by 50%", SLOWER),
        ("openvino faster than ort by 1.5 times", SLOWER),
        ("openvino  50 percent faster  than ort", SLOWER),
        ("ort slower than openvino", SlowerThan("ort", "openvino", USUAL_FACTOR)),
        ("tf-xla slower than ort:cuda by 2x", SlowerThan("tf-xla", "ort:cuda", 2.0)),
        ("openvino wrong", WrongAnswers("openvino")),
        ("openvino is wrong", WrongAnswers("openvino")),
        ("openvino answers wrongly", WrongAnswers("openvino")),
        ("ort fails", Failing("ort")),
        ("ort crashes", Failing("ort")),
    ],
)
def test_the_same_thing_can_be_said_in_several_ways(text: str, meant: Expectation):
    assert parse_expectation(text) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "does not say what to expect"),
        ("ort slow", "does not say what to expect"),
        ("ort slower than openvino by 1.5", "does not say what to expect"),
        ("ort slower than ort by 2x", "ort cannot be slower than itself"),
        ("ort slower than openvino by 0.5x", "0.5x is not a difference"),
        ("ort slower than openvino by 0%", "0% is not a difference"),
        ("ort 2x slower than openvino by 3x", "has two numbers"),
    ],
)
def test_what_is_no_expectation_is_refused(text: str, said: str):
    with pytest.raises(ValueError, match=said):
        parse_expectation(text)
