"""The options of a stored run ask for the same run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stored_plans import stored_plan

from irbench.core import registry
from irbench.core.run_kinds import RUN_KINDS
from irbench.core.stored_plan import StoredPlan
from irbench.errors import IrbenchError
from irbench.options.own_code import Metric
from irbench.options.run import RunOptions
from irbench.requests import run_requests as requests
from irbench.requests.run_requests import requested
from irbench.runs.repetition import environments_obstacle, own_code_obstacle, refuse_stored_folders, stored_options
from irbench.spec import Bundle
from irbench.spi import Description

BUNDLE = Bundle("net", (), (), source="/models/net.onnx")
OF_OTHER_COMMANDS = [kind for kind in RUN_KINDS if not kind.is_in_plans]

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


def stored(options: RunOptions) -> StoredPlan:
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
    plan = stored_plan(models=["mine"], sources=["my_package.net:build"], asked={})
    assert stored_options(plan).models == ("my_package.net:build",)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({}, "does not record"),
        ({"models": ["net"], "asked": {}, "data_in_memory": 2}, "arrays in memory"),
        ({"models": ["net"], "asked": {}, "environments": [{"key": "a"}]}, "compares versions"),
        *[({"models": ["net"], "asked": {}, kind.asked_by: {"of": 1}}, kind.measures) for kind in OF_OTHER_COMMANDS],
        ({"models": ["net"], "asked": {}, "is_part_of": "search"}, "a part of a search"),
    ],
)
def test_a_plan_that_cannot_be_repeated_is_refused(plan: dict[str, Any], said: str) -> None:
    with pytest.raises(IrbenchError, match=said) as refused:
        stored_options(stored_plan(**plan))
    assert refused.value.hint


@pytest.mark.parametrize("other", [{"io": "copy"}, {"threads": [7]}, {"set": {}}], ids=str)
def test_what_a_plan_shows_is_stored_nowhere_else(other: dict[str, Any]):
    plan = stored(ASKED)
    assert not other.keys() & (plan.asked or {}).keys()
    with pytest.raises(IrbenchError, match="no option"):
        stored_options(replace(plan, asked={**(plan.asked or {}), **other}))


@pytest.mark.parametrize(
    ("called", "hint"),
    [
        ({"command": ["irbench", "serve", "my net.onnx"]}, "Measure it again: irbench serve 'my net.onnx'"),
        ({"command": ["python", "serve.py"]}, "Measure it again: irbench serve"),
        ({}, "Measure it again: irbench serve"),
        ({"is_part_of": "tune"}, "Measure it again: irbench tune"),
    ],
    ids=["called as", "by another program", "by Python", "a confirmation"],
)
def test_what_no_plan_asks_for_names_the_command_that_measures_it_again(called: dict[str, Any], hint: str) -> None:
    with pytest.raises(IrbenchError) as refused:
        stored_options(stored_plan(models=["net"], asked={}, serving={"rates": [5]}, **called))
    assert refused.value.hint == hint


def test_a_run_beside_a_busy_neighbour_cannot_be_asked_for_again():
    plan = stored(ASKED)
    plan = replace(plan, timing={**plan.timing, "busy_processors": [1]})
    with pytest.raises(IrbenchError, match="kept a processor busy") as refused:
        stored_options(plan)
    assert "--flip-map" in refused.value.hint


def test_a_plan_whose_options_have_other_types_is_refused() -> None:
    with pytest.raises(IrbenchError, match="in a form that irbench writes") as caught:
        stored_options(stored_plan(models=["net"], asked={"budget": "long"}))
    assert "irbench results" in caught.value.hint


@pytest.mark.parametrize(
    "stored",
    [
        RunOptions(set={"openvino": {"CACHE_DIR": "/home/you"}}),
        RunOptions(vary={"openvino": {"CACHE_DIR": ("a", "/home/you")}}),
    ],
    ids=["set", "varied"],
)
def test_a_stored_plan_chooses_no_folder_for_a_confined_model(
    monkeypatch: pytest.MonkeyPatch, stored: RunOptions
) -> None:
    monkeypatch.delenv("IRBENCH_CONFINE", raising=False)
    refuse_stored_folders(stored)
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    refuse_stored_folders(RunOptions(set={"ort": {"intra_op.allow_spinning": "1"}}))
    with pytest.raises(IrbenchError, match="/home/you"):
        refuse_stored_folders(stored)


@pytest.mark.parametrize("value", ["", "7"])
def test_options_that_name_no_file_are_no_obstacle(value: str) -> None:
    assert own_code_obstacle(RunOptions(set={"openvino": {"CACHE_DIR": "", "KEY_CACHE_GROUP_SIZE": value}})) is None


@pytest.mark.parametrize(
    ("requirement", "python", "is_foreign"),
    [
        ("onnxruntime==1.22.0", "/cache/bin/python", False),
        ("", None, False),
        ("", "/tmp/bin/python", True),
        ("/tmp/onnxruntime-1.22.0-py3-none-any.whl", "/cache/bin/python", True),
        ("another-package==1.0", "/cache/bin/python", True),
        ("onnxruntime=/../../tmp/evil", "/cache/bin/python", True),
        ("onnxruntime~/x/python", "/cache/bin/python", True),
        ("onnxruntime>=1.22", "/cache/bin/python", True),
    ],
    ids=["release", "installed", "python", "wheel", "package", "hidden path", "home", "bounds"],
)
def test_a_stored_plan_starts_no_python_and_installs_no_package_of_its_own(
    requirement: str, python: str | None, is_foreign: bool
) -> None:
    found = environments_obstacle([{"requirement": requirement, "python": python}])
    assert (found is not None) is is_foreign


@pytest.mark.parametrize(
    ("files", "value", "is_foreign"),
    [
        (None, "plugin.so", True),
        (None, "1", True),
        (None, "", False),
        ((), "plugin", False),
        (("other",), "plugin", False),
        (("library",), "plugin", True),
    ],
)
def test_an_option_of_a_backend_that_does_not_say_which_name_files_may_name_one(
    files: tuple[str, ...] | None, value: str, is_foreign: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = Description("someones", "someones-runtime", "1", files=files)
    monkeypatch.setattr(registry, "names", lambda _: ("someones",))
    monkeypatch.setattr(registry, "describe", lambda *_: described)
    found = own_code_obstacle(RunOptions(set={"someones:gpu": {"library": value}}))
    assert (found is not None) is is_foreign


def test_the_backends_of_irbench_say_which_options_name_files() -> None:
    for name in ("tf", "tf-xla", "ort", "openvino"):
        assert registry.describe(registry.BACKENDS, name).files is not None
