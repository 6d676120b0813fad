"""Importing OpenVINO without its telemetry."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["load"]


def load() -> Any:
    """Import openvino and return the module.

    Importing it starts a child process that tries to reach the network. Without the module
    ``openvino_telemetry`` it uses a stub of its own instead, so that module is declared absent first.
    """
    if "openvino" not in sys.modules:
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # how Python marks a module as absent
    import openvino

    return openvino
