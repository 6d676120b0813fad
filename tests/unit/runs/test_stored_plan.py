"""The options of a stored run ask for the same run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench.options.own_code import Metric
from irbench.options.run import RunOptions
from irbench.requests import run_requests as requests
from irbench.requests.run_requests import requested
from irbench.runs.stored_plan import stored_options
from irbench.spec import Bundle

BUNDLE = Bundle("net", (), (), source="/models/net.onnx")

ASKED = RunOptions(
    models=("/models/net.onnx",),
    backends=("fake-a", "fake-b"),
    batch=(1, 8),
    shape={"tokens": (1, 128)},
    data=Path("speech"),
    value={"sr": (16000,)},
    feedback={"h0": "h"},
    streams=(1, 4),
    precision=("fp32", "bf16"),
    baseline="fake-b@streams=1",
    threads=(2, 4),
    instances=(1, 2),
    objective="fps",
    max_latency=0.05,
    cpus=(0, 1),
    set={"fake-a": {"call_us": "7"}},
    io="bound",
    seed=3,
    within=0.01,
    budget=60.0,
    deadline=20.0,
    tail=True,
    sustain=3.0,
    energy=True,
    require_full=True,
    name="before",
    note="without the patch",
)


def stored(options: RunOptions) -> dict[str, Any]:
    """Return the plan that the document of a run with these options would hold."""
    return replace(requested(options), bundles=(BUNDLE,)).as_plan()


@pytest.fixture(autouse=True)
def any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "energy_notes", lambda asked: ())


@pytest.mark.parametrize(
    "asked",
    [
        ASKED,
        replace(ASKED, quick=True, tail=False),
        replace(ASKED, thorough=True, threads=("native",)),
        replace(ASKED, cpus=(0, 1), instances=(1, 2), threads=None),
        replace(
            ASKED, cold=True, energy=False, data=None, feedback={}, instances=(1,), objective=None, max_latency=None
        ),
        replace(ASKED, counters=("task-clock",), timeline=0.1, instances=(1,)),
        replace(ASKED, feedback={}, min_accuracy=0.99),
        replace(ASKED, feedback={}, metric=Metric("irbench.core.output_check:tolerance", "at-most", 0.1)),
        replace(ASKED, shapes=("length", ((128,), (64,))), shape={}),
    ],
    ids=[
        "everything",
        "quick",
        "thorough",
        "instances that share threads",
        "cold",
        "counters",
        "accuracy",
        "metric",
        "shapes",
    ],
)
def test_the_options_of_a_stored_run_are_those_that_it_was_called_with(asked: RunOptions) -> None:
    assert stored_options(stored(asked)) == asked


def test_a_run_that_is_asked_for_again_stores_the_same_plan() -> None:
    plan = stored(RunOptions(models=("/models/net.onnx",), backends=("fake-a",)))
    assert stored(stored_options(plan)) == plan


def test_a_model_whose_bundle_is_gone_is_named_by_its_source() -> None:
    plan = {"models": ["mine"], "sources": ["my_package.net:build"], "asked": {}}
    assert stored_options(plan).models == ("my_package.net:build",)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({}, "does not record"),
        ({"models": ["net"], "asked": {}, "data_in_memory": 2}, "arrays in memory"),
        ({"models": ["net"], "asked": {}, "environments": [{"key": "a"}]}, "compares versions"),
    ],
)
def test_a_plan_that_cannot_be_repeated_is_refused(plan: dict[str, Any], said: str) -> None:
    with pytest.raises(IrbenchError, match=said) as refused:
        stored_options(plan)
    assert refused.value.hint


@pytest.mark.parametrize("other", [{"io": "copy"}, {"threads": [7]}, {"set": {}}], ids=str)
def test_what_a_plan_shows_is_stored_nowhere_else(other: dict[str, Any]):
    plan = stored(ASKED)
    assert not other.keys() & plan["asked"].keys()
    with pytest.raises(IrbenchError, match="no option"):
        stored_options({**plan, "asked": {**plan["asked"], **other}})


def test_a_run_beside_a_busy_neighbour_cannot_be_asked_for_again():
    plan = stored(ASKED)
    plan["timing"] = {**plan["timing"], "busy_processors": [1]}
    with pytest.raises(IrbenchError, match="kept a processor busy") as refused:
        stored_options(plan)
    assert "--flip-map" in refused.value.hint


@pytest.mark.parametrize("models", [[{}], 7, [None], ["net", 3]], ids=str)
def test_a_plan_whose_values_have_other_types_is_refused(models: object) -> None:
    with pytest.raises(IrbenchError, match="in a form that irbench writes") as caught:
        stored_options({"models": models, "asked": {}, "timing": {}})
    assert "irbench results" in caught.value.hint
