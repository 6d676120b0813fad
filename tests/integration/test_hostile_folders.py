"""Code that lies in the folder irbench is called in does not run, unless it was named to be exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import models
import pytest
from export_checks import MODELS_FILE
from fake_runs import FASTEST
from front_door import irbench
from stored_runs import measured

pytestmark = pytest.mark.usefixtures("known_backends")

SHADOWED = {
    "modules": ("numpy", "onnx", "msgspec", "psutil", "socket", "irbench_ort", "fake_backend"),
    "irbench": ("__init__", "worker/__init__", "worker/__main__", "measure/__init__", "measure/core_to_core"),
}
"""Modules that irbench, its workers or a backend import, and what is started as a process."""


@pytest.fixture(params=SHADOWED)
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with a model, and code that leaves a mark when it is imported."""
    here = tmp_path / "downloaded"
    for name in SHADOWED[request.param]:
        module = here / ("" if request.param == "modules" else request.param) / f"{name}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(f"with open({str(here / 'ran')!r}, 'a') as mark:\n    print(__name__, file=mark)\n")
    models.mlp(here)
    return here


def ran(folder: Path) -> list[str]:
    """Return which of the folder's modules were imported."""
    mark = folder / "ran"
    return mark.read_text().splitlines() if mark.exists() else []


def inspect(_: Path) -> tuple[object, ...]:
    return ("inspect", "mlp.onnx")


def run(_: Path) -> tuple[object, ...]:
    return ("run", "mlp.onnx", "--backends", "fake-a,fake-b", *FASTEST)


def verify(_: Path) -> tuple[object, ...]:
    return ("verify", "mlp.onnx", "--backends", "ort")


def bring_in(folder: Path) -> tuple[object, ...]:
    measured(folder / "elsewhere")
    return ("results", "import", "elsewhere")


@pytest.mark.ci
@pytest.mark.parametrize(
    "asked",
    [
        inspect,
        run,
        verify,
        bring_in,
    ],
    ids=lambda item: item.__name__,
)
def test_modules_beside_a_model_are_not_imported(folder: Path, asked: Callable[[Path], tuple[object, ...]]) -> None:
    called = irbench(*asked(folder), folder=folder)
    assert ran(folder) == []
    assert called.code == 0, called.err


@pytest.mark.ci
def test_a_function_in_the_folder_one_is_in_is_exported(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(f"import beside\n{MODELS_FILE}")
    (tmp_path / "beside.py").write_text("")
    (tmp_path / "onnx.py").write_text("raise RuntimeError('the converter imports what lies beside the function')")
    called = irbench("export", "nets:image_net", folder=tmp_path)
    assert called.code == 0, called.err
    assert "image_net" in called.out
