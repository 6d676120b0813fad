"""ONNX Runtime without irbench: Python that runs a model as a load asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from irbench.spec import Load
from irbench.spi import Usage, UsedModel
from irbench_ort.devices import providers
from irbench_ort.options import OrtOptions

_LEVELS = {
    "disabled": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}


def usage(model: UsedModel, load: Load, device: str, options: OrtOptions) -> Usage:
    """Return Python that makes a session and calls it.

    Args:
        model: What is compiled.
        load: How it is driven.
        device: ``cpu``, ``cuda`` or ``openvino``.
        options: What its options mean.
    """
    settings = (*_sizes(model), *_settings(load, options))
    session = _session(model.path, providers(device, load, options.provider))
    setup = (*_imports(load), "", "options = onnxruntime.SessionOptions()", *settings, *session, _inputs(load))
    return Usage("\n".join(setup), "\n".join(_calls(load)))


def _imports(load: Load) -> Iterator[str]:
    if load.streams > 1:
        yield "from concurrent.futures import ThreadPoolExecutor"
        yield ""
    yield "import onnxruntime"


def _sizes(model: UsedModel) -> Iterator[str]:
    for name, size in model.sizes.items():
        yield f"options.add_free_dimension_override_by_name({name!r}, {size})"


def _settings(load: Load, options: OrtOptions) -> Iterator[str]:
    if load.threads is not None:
        pool = max(1, load.threads - load.streams + 1)
        yield f"options.intra_op_num_threads = {pool}"
    if options.level is not None:
        yield f"options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.{_LEVELS[options.level]}"
    for name, value in options.attributes:
        yield f"options.{name} = {value}"
    for key, text in options.config_entries:
        yield f"options.add_session_config_entry({key!r}, {text!r})"


def _session(model: str, asked: list[Any]) -> Iterator[str]:
    yield f"session = onnxruntime.InferenceSession({model!r}, options, providers={asked!r})"


def _inputs(load: Load) -> str:
    return "# inputs: arrays by input name" if load.streams == 1 else "# batches: of each, arrays by input name"


def _calls(load: Load) -> Iterator[str]:
    if load.streams == 1:
        yield "outputs = session.run(None, inputs)"
        return
    yield f"with ThreadPoolExecutor({load.streams}) as callers:"
    yield "    outputs = list(callers.map(lambda inputs: session.run(None, inputs), batches))"
