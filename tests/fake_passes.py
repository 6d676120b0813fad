"""Passes that do what a test asks for: something harmless, something wrong, something invalid, or nothing."""

from __future__ import annotations

import os
import signal
from typing import Any

from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass


def _insert_identity(model: Any) -> bool:
    import onnx_ir as ir

    node = next(node for node in model.graph if node.op_type == "Relu")
    (old,) = node.inputs
    name = f"inserted_{len(model.graph)}"
    identity = ir.node("Identity", [old], name=name)
    identity.outputs[0].name = name
    model.graph.insert_before(node, identity)
    node.replace_input_with(0, identity.outputs[0])
    return True


def _smooth(model: Any) -> bool:
    node = next(node for node in model.graph if node.op_type == "Relu")
    node.op_type = "Sigmoid"
    return True


def _misspell(model: Any) -> bool:
    node = next(node for node in model.graph if node.op_type == "Relu")
    node.op_type = "Rilu"
    return True


def _fail(model: Any) -> bool:
    raise KeyError("relu")


def _crash(model: Any) -> bool:
    """End the process as a runtime does that fails on the graph."""
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)
    return True


def _brand(model: Any) -> bool:
    """Let ONNX Runtime's own operator do what Conv does."""
    node = next(node for node in model.graph if node.op_type == "Conv")
    node.op_type, node.domain = "FusedConv", "com.microsoft"
    model.opset_imports["com.microsoft"] = 1
    return True


harmless: Pass = Rewrite("fake-harmless", "insert a node that does nothing", _insert_identity)
wrong: Pass = Rewrite("fake-wrong", "compute something else", _smooth)
invalid: Pass = Rewrite("fake-invalid", "use an operator that is none", _misspell)
failing: Pass = Rewrite("fake-failing", "raise", _fail)
crashing: Pass = Rewrite("fake-crashing", "end the process", _crash)
idle: Pass = Rewrite("fake-idle", "find nothing to do", lambda _: False)
later: Pass = Rewrite("fake-later", "need a later operator set", _insert_identity, opset=20)
vendors: Pass = Rewrite("fake-vendors", "write a vendor's operator", _brand, vendor="com.microsoft")
