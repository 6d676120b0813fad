"""What runs beside the models: pressure, models and commands, told apart by what is there."""

from __future__ import annotations

from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench.features.corun import run
from irbench.features.corun.options import CorunOptions
from irbench.options.run import RunOptions

MODELS = {"bert", "models/a.onnx", "my models/a.onnx", "cpu"}


@pytest.fixture(autouse=True)
def known_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a few names for models, and every word for a program but one."""

    def require(name: str, _imports: tuple[str, ...] = ()) -> None:
        if name not in MODELS:
            raise IrbenchError(f"{name} is unknown.", hint="Give another.")

    monkeypatch.setattr(run, "require_model", require)
    monkeypatch.setattr("shutil.which", lambda program: None if "missing" in program else program)


def kinds(*models: str, beside: tuple[str, ...] = (), **options: Any) -> list[str]:
    plan, _ = run.corun_plan(RunOptions(models=models), CorunOptions(beside=beside, **options), lambda _: None)
    return list(dict.fromkeys(neighbour.kind for neighbour in plan.neighbours))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cpu", "cpu"),
        ("bert", "model"),
        ("models/a.onnx", "model"),
        ("my models/a.onnx", "model"),
        ("sleep 100", "command"),
        ("./burn", "command"),
    ],
)
def test_a_model_that_is_there_comes_before_a_program_of_its_name(name: str, kind: str) -> None:
    assert kinds("lstm", beside=(name,)) == [kind]


def test_models_that_are_measured_beside_each_other_are_models_whatever_they_are_called() -> None:
    assert kinds("cpu", "sleep") == ["model"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing --at all", "There is no program missing."),
        ("missing models/a.onnx", "a.onnx is unknown"),
        ("missing", "nor a model nor a program"),
    ],
)
def test_what_is_neither_is_refused_by_what_it_looks_like(name: str, said: str) -> None:
    with pytest.raises(IrbenchError, match=said):
        kinds("lstm", beside=(name,))


def test_a_name_that_nothing_has_is_answered_by_the_nearest_and_by_examples_of_what_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(IrbenchError) as refused:
        kinds("lstm", beside=("bandwith",))
    assert refused.value.hint.startswith("Did you mean bandwidth? It takes cpu, l3, bandwidth, a model such as")


@pytest.mark.parametrize(
    ("beside", "options", "named"),
    [
        (("bert", "sleep 100"), {"intensity": (50,)}, "--intensity"),
        (("cpu",), {"rate": 20.0}, "--rate"),
        (("cpu", "bert"), {"neighbour_warmup": 5.0}, "--neighbour-warmup"),
        (("bert",), {"rate": 1.9}, "--rate 1.9"),
    ],
)
def test_an_option_that_nothing_beside_the_models_has_is_refused(
    beside: tuple[str, ...], options: dict[str, Any], named: str
) -> None:
    with pytest.raises(IrbenchError, match=named):
        kinds("lstm", beside=beside, **options)


@pytest.mark.parametrize("name", ["cpu", "burn {intensity}"])
def test_intensities_are_those_asked_for_else_five(name: str) -> None:
    def graded(**options: Any) -> list[int]:
        plan, _ = run.corun_plan(RunOptions(models=("lstm",)), CorunOptions(beside=(name,), **options), print)
        return [neighbour.intensity for neighbour in plan.neighbours]

    assert graded() == [0, 25, 50, 75, 100]
    assert graded(intensity=(10, 90)) == [10, 90]
