"""Options that cannot be obeyed are refused before anything is looked up."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from irbench.errors import IrbenchError
from irbench.options.own_code import Metric
from irbench.options.run import RunOptions
from irbench.requests import run_requests as requests
from irbench.requests.run_requests import refuse_contradictions, requested
from irbench.spec import Program


@pytest.mark.parametrize(
    "options",
    [
        RunOptions(quick=True, thorough=True),
        RunOptions(cold=True, min_accuracy=0.9),
        RunOptions(feedback={"h0": "h"}, min_accuracy=0.9),
        RunOptions(shapes=("length", ((1,),)), metric=Metric("metrics:own", "at-least", 0.9)),
        RunOptions(cells={"mine": Program("callable", "loop:infer")}, min_accuracy=0.9),
        RunOptions(models=("resnet50", "")),
        RunOptions(name="two\nlines"),
        RunOptions(name=" "),
        RunOptions(name="x" * 101),
        RunOptions(name="latest"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(options: RunOptions):
    with pytest.raises(IrbenchError) as caught:
        refuse_contradictions(options)
    assert caught.value.hint


def test_anything_else_passes():
    options = RunOptions(models=("resnet50",), backends=("fake-a",), name="after the patch, Ü", quick=True)
    refuse_contradictions(options)
    found = requested(options)
    assert found.asked == options
    assert found.timing.max_launches == 3


@pytest.mark.parametrize("name", ["tail", "within", "deadline", "sustain"])
def test_timing_that_a_stored_run_could_not_be_read_with_is_refused_before_it_is_measured(name: str):
    wrong: Any = {name: "no"}
    with pytest.raises(IrbenchError, match=rf"timing is not valid: .*\$\.{name}") as caught:
        requested(RunOptions(backends=("fake-a",), **wrong))
    assert caught.value.hint


def test_energy_is_measured_of_rows_that_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "energy_notes", lambda asked: ())
    plain, metered = (requested(RunOptions(backends=("fake-a",), energy=energy)).timing for energy in (False, True))
    assert (plain.energy, plain.sustain) == (False, 0.0)
    assert (metered.energy, metered.sustain) == (True, 3.0)
    longer = requested(RunOptions(backends=("fake-a",), energy=True, sustain=10.0)).timing
    assert longer.sustain == 10.0


@pytest.mark.parametrize(("kind", "target"), [("command", "cat"), ("server", "http://localhost:8000/v2/models/net")])
def test_what_is_called_for_single_inferences_does_not_generate(
    kind: Literal["command", "server"], target: str
) -> None:
    options = RunOptions(backends=("fake-a",), cells={"mine": Program(kind, target)}, generate=4)
    refuse_contradictions(options)
    with pytest.raises(IrbenchError, match="--generate does not apply to mine") as caught:
        requested(options)
    assert "function" in str(caught.value.hint)
