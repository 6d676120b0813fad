"""Importing OpenVINO without its telemetry, and saying what it means when it fails."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from irbench.spi import Refusal

__all__ = ["load", "plain_reasons"]

_WHERE = re.compile(r"Exception from |Check '.*' failed at |FrontEnd API failed|Model wasn't fully converted|Summary:")
_MOST_REASONS = 3


def load() -> Any:
    """Import openvino and return the module.

    Importing it starts a child process that tries to reach the network. Without the module
    ``openvino_telemetry`` it uses a stub of its own instead, so that module is declared absent first.
    """
    if "openvino" not in sys.modules:
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # how Python marks a module as absent
    import openvino

    return openvino


@contextmanager
def plain_reasons() -> Iterator[None]:
    """Refuse what OpenVINO fails at by its reasons, without the lines that say where in its source they arose.

    Raises:
        Refusal: OpenVINO raised a RuntimeError.
    """
    try:
        yield
    except RuntimeError as error:
        lines = [line.strip(" -") for line in str(error).splitlines() if line.strip()]
        reasons = [line for line in lines if not _WHERE.match(line)] or lines[-1:]
        raise Refusal(
            f"OpenVINO cannot run this model: {'; '.join(reasons[:_MOST_REASONS])}",
            hint="Another backend may: irbench backends lists them.",
        ) from error
