"""Data, constants and feedback as users write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.errors import IrbenchError
from irbench.options.input_request import constants, data, feedback
from irbench.options.kinds import CONSTANTS, FEEDBACK, Kind
from irbench.options.values import feedback_of_text, value_of_text


def collected(kind: Kind, entries: list[Any]) -> Any:
    assert kind.collect is not None
    return kind.collect("--" + kind.example, entries)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sr=16000", ("sr", (16000,))),
        ("size=480, 640", ("size", (480, 640))),
        ("t=0.5", ("t", (0.5,))),
        ("train=False", ("train", (False,))),
        ("query=cat", ("query", ("cat",))),
        ("code=007,1.50,true,7", ("code", ("007", "1.50", "true", 7))),
    ],
)
def test_a_constant_is_written_as_text(text: str, expected: tuple[str, tuple[Any, ...]]) -> None:
    assert value_of_text(text) == expected


@pytest.mark.parametrize("text", ["sr", "=1", "sr="])
def test_half_a_constant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="lacks"):
        value_of_text(text)


def test_feedback_is_written_from_output_to_input() -> None:
    assert feedback_of_text("stateN=state") == ("stateN", "state")
    assert collected(FEEDBACK, [("stateN", "state")]) == feedback({"stateN": "state"}) == {"state": "stateN"}
    for wrong in ("state", "=state", "stateN="):
        with pytest.raises(ValueError, match="lacks"):
            feedback_of_text(wrong)


def test_what_is_given_twice_is_refused() -> None:
    assert collected(CONSTANTS, [("a", (1,)), ("a", (1,))]) == {"a": (1,)}
    with pytest.raises(IrbenchError, match="cannot be combined"):
        collected(CONSTANTS, [("a", (1,)), ("a", (2,))])
    with pytest.raises(IrbenchError, match="cannot be combined"):
        collected(FEEDBACK, [("h", "h0"), ("g", "h0")])
    with pytest.raises(ValueError, match="same input"):
        feedback({"h": "h0", "g": "h0"})


def test_data_are_a_path_or_arrays_by_input_or_several_of_those() -> None:
    assert data("speech") == data(Path("speech")) == Path("speech")
    (only,) = data({"x": [1, 2]})
    assert only["x"].tolist() == [1, 2]
    assert len(data({"x": np.zeros(1)} for _ in range(3))) == 3
    for wrong in (3, [np.zeros(3)], [{1: np.zeros(3)}]):
        with pytest.raises(TypeError):
            data(wrong)  # type: ignore[arg-type]


def test_constants_of_python_are_numbers_or_lists_of_them() -> None:
    assert constants({"sr": 16000, "size": np.array([1, 2])}) == {"sr": (16000,), "size": (1, 2)}
    for wrong in ({"sr": None}, {"sr": []}, {"sr": {}}):
        with pytest.raises(ValueError, match="neither a number"):
            constants(wrong)
