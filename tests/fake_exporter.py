"""An exporter without a framework: models are a number that inputs are multiplied with, so that exports take a second.

A test registers it with :func:`register`. Its sources are those of every exporter: functions whose names begin with
``fake_`` and return the number, ``.fakenet`` files and folders with a ``fake.net`` that contain it, and zoo models.
Functions whose names begin with ``any_`` may be its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from irbench.core import feeds, registry
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec
from irbench.spi import Acceptance, Exporter, ExporterDescription, ExportRequest

_ROWS, _SCALED = TensorSpec("rows", "float32", ("batch", 4)), TensorSpec("scaled", "float32", ("batch", 4))


class FakeExporter:
    name = "fake"

    def describe(self) -> ExporterDescription:
        return ExporterDescription("Fake", distributions=("numpy",))

    def accepts(self, source: str) -> Acceptance:
        path = Path(source)
        function = source.rpartition(":")[2]
        is_own = (
            source in registry.names(registry.MODELS)
            or path.suffix == ".fakenet"
            or (path / "fake.net").is_file()
            or (":" in source and function.startswith("fake_"))
        )
        return "certain" if is_own else "perhaps" if function.startswith("any_") else "no"

    def owns(self, model: object, /) -> bool:
        return isinstance(model, float)

    def export(self, request: ExportRequest, say: Callable[[str], None], /) -> Bundle:
        sys.path.insert(0, "")
        for module in request.imports:
            importlib.import_module(module)
        scale = _scale(request.source)
        if request.weights is not None:
            scale *= float(Path(request.weights).read_text())
        _write(scale, request.directory / "model.onnx")
        inputs = (InputSpec(_ROWS, -1.0, 1.0),)
        (rows,) = feeds.generate(inputs, {"batch": feeds.POOL}, request.seed)
        np.savez(request.directory / "reference.npz", rows * np.float32(scale))
        return Bundle(
            name=_name(request.source),
            inputs=inputs,
            artifacts=(Artifact("onnx", Path("model.onnx"), (_ROWS,), (_SCALED,), opset=17),),
            defaults={"batch": 1},
            seed=request.seed,
            reference=Path("reference.npz"),
            source=request.source,
            details={"scale": scale, "nodes": 1},
        )


exporter: Exporter = FakeExporter()


def register(folder: Path, monkeypatch: pytest.MonkeyPatch, models: str = "") -> None:
    """Make the exporter known to this process and to its workers, in a distribution of its own.

    Args:
        folder: Where the metadata of the distribution is written.
        monkeypatch: Takes everything back.
        models: Lines of entry points of models.
    """
    metadata = folder / "fake_exports-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-exports\nVersion: 1.0\n")
    points = f"[irbench.exporters]\nfake = fake_exporter:exporter\n\n[irbench.models]\n{models}\n"
    (metadata / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    for cached in (registry._points, registry._models, registry._load):
        monkeypatch.setattr(registry, cached.__name__, cache(cached.__wrapped__))


def _scale(source: str) -> float:
    if source in registry.names(registry.MODELS):
        return float(registry.model(source).build())
    path = Path(source)
    if path.is_dir():
        return sum(float(file.read_text()) for file in sorted(path.rglob("*")) if file.is_file())
    if path.is_file():
        return float(path.read_text())
    module, _, function = source.rpartition(":")
    return float(getattr(_imported(module), function)())


def _imported(module: str) -> Any:
    if not module.endswith(".py"):
        return importlib.import_module(module)
    path = Path(module)
    sys.path.insert(0, str(path.parent.absolute()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = found
    spec.loader.exec_module(found)
    return found


def _name(source: str) -> str:
    return source.rpartition(":")[2] if ":" in source else Path(source).stem


def _write(scale: float, path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Mul", ["rows", "scale"], ["scaled"], "mul")],
        "scaled",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("scaled", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor("scale", TensorProto.FLOAT, [], [scale])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
