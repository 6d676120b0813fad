"""What the tests of single backends do inside workers."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from irbench.onnx.reading import signature
from irbench.spec import Artifact, Load
from irbench.worker.inference import OpenSession

_DONE_WITHIN_S = 20
_REACHES_OUT = {"os.exec", "os.fork", "os.posix_spawn", "socket.connect", "socket.getaddrinfo", "subprocess.Popen"}


def what_importing_openvino_starts() -> list[str]:
    """Return the audited attempts to start a process or reach the network while OpenVINO is imported and used."""
    seen: list[str] = []
    sys.addaudithook(lambda event, _arguments: seen.append(event) if event in _REACHES_OUT else None)
    from irbench_openvino import runtime

    runtime.core()
    seen.extend(thread.name for thread in threading.enumerate() if thread is not threading.main_thread())
    return seen


def signals_after_sessions_of_openvino(path: Path) -> int:
    """Return how many signals arrived after two sessions that ended in the order in which they began."""
    from irbench_openvino import backend

    received: list[int] = []
    signal.signal(signal.SIGUSR1, lambda number, _frame: received.append(number))
    specs = signature.read(path)
    source = Artifact("onnx", path, specs.inputs, specs.outputs)
    first, second = (ExitStack() for _ in range(2))
    for room in (first, second):
        room.enter_context(OpenSession(backend, source, Load()))
    first.close()
    second.close()
    os.kill(os.getpid(), signal.SIGUSR1)
    return len(received)


def what_openvino_lets_one_set() -> set[str]:
    """Return the properties of CPUs that this version does not merely tell."""
    from irbench_openvino import runtime

    properties: dict[str, str] = runtime.core().get_property("CPU", "SUPPORTED_PROPERTIES")
    return {name for name, mutability in properties.items() if mutability != "RO"}


def openvino_slot_errors() -> list[Any]:
    """Queue a good, an impossible and a good inference on one slot; return what each call of ``done`` was given.

    A model with free dimensions is used because only it can fail after it was started.
    """
    from irbench_openvino import runtime
    from irbench_openvino.session import CopySlot, FailureWatch

    openvino = runtime.load()
    from openvino import opset13

    left, right = (opset13.parameter([-1, 4], np.float32) for _ in range(2))
    compiled = runtime.core().compile_model(openvino.Model([opset13.add(left, right)], [left, right]), "CPU")
    watch = FailureWatch(interval_s=0.05)
    slot = CopySlot(compiled.create_infer_request(), (0, 1), (0,), watch)
    received: list[Any] = []
    for rows in (3, 2, 3):
        called = threading.Event()

        def done(error: BaseException | None, called: threading.Event = called) -> None:
            received.append(None if error is None else str(error))
            called.set()

        slot.stage((np.ones((3, 4), np.float32), np.ones((rows, 4), np.float32)))
        slot.start(done)
        called.wait(_DONE_WITHIN_S)
    watch.close()
    return received


def threads_left_by_openvino(artifact: Artifact) -> list[str]:
    """Return the names of Python's threads after a session has queued requests and was closed."""
    import irbench_openvino

    backend = irbench_openvino.backend
    backend.import_runtime(Load(), "cpu")
    session = backend.compile(artifact, Load(), "cpu", lambda _phase: nullcontext())
    (slot,) = session.open_slots(1, "copy")
    called = threading.Event()
    slot.stage((np.zeros((2, 3, 8, 8), np.float32),))
    slot.start(lambda _error: called.set())
    called.wait(_DONE_WITHIN_S)
    session.close()
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("irbench")]


def effective(module: str, artifact: Artifact, load: Load, attribute: str = "backend") -> dict[str, Any] | str:
    """Return what a backend's session reads back, or the message of its refusal."""
    import importlib

    from irbench.spi import Refusal

    backend = getattr(importlib.import_module(module), attribute)
    try:
        backend.import_runtime(load, "cpu")
        return dict(backend.compile(artifact, load, "cpu", lambda _phase: nullcontext()).effective)
    except Refusal as refusal:
        return refusal.message


def effective_threads(module: str, artifact: Artifact, loads: Sequence[Load]) -> list[Any]:
    """Return how many threads a backend's session reads back for each load, one session after the other."""
    found = (effective(module, artifact, load) for load in loads)
    return [facts["threads"] if isinstance(facts, dict) else facts for facts in found]


def ort_intra_op_threads(loads: Sequence[Load]) -> list[int]:
    """Return what the session options of each load say."""
    return [_intra_op_threads(load) for load in loads]


def _intra_op_threads(load: Load) -> int:
    from irbench_ort.adapter import OrtBackend
    from irbench_ort.options import parse_options

    settings = OrtBackend()._settings(load, parse_options(load.options, "cpu", load.precision), "cpu", None)
    return int(settings.intra_op_num_threads)


def quantised_model(folder: Path) -> Artifact:
    """Write a dense layer in the quantise, dequantise form."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    from irbench.spec import TensorSpec

    random = np.random.default_rng(3)
    constants = {
        "scale": np.array(0.02, np.float32),
        "zero": np.array(128, np.uint8),
        "weight": random.integers(-100, 100, (32, 16)).astype(np.int8),
        "weight_scale": np.array(0.01, np.float32),
        "weight_zero": np.array(0, np.int8),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["quantised"]),
        helper.make_node("DequantizeLinear", ["quantised", "scale", "zero"], ["restored"]),
        helper.make_node("DequantizeLinear", ["weight", "weight_scale", "weight_zero"], ["restored_weight"]),
        helper.make_node("MatMul", ["restored", "restored_weight"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 16])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "quantised.onnx")
    specs = (TensorSpec("x", "float32", (4, 32)),), (TensorSpec("y", "float32", (4, 16)),)
    return Artifact("onnx", folder / "quantised.onnx", *specs, opset=17)
