"""Create sessions: what ONNX Runtime cannot load is refused with a way out, or given to it as it can."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irbench.errors import first_line
from irbench.onnx.rewriting.lower_ir_version import least_ir_version, lower_ir_version
from irbench.spi import Refusal
from irbench_ort import openvino_provider

_NEW_IR_VERSION = re.compile(r"Unsupported model IR version: (\d+), max supported IR version: (\d+)")
_NEW_OPSET = re.compile(r"Opset (\d+) .*domain ai\.onnx is till opset (\d+)", re.DOTALL)


def create_session(path: Path, settings: Any, providers: list[Any], folder: Path) -> tuple[Any, Mapping[str, int]]:
    """Return a session, and the IR version of the file with that of the graph it was given where it could not read it.

    Args:
        path: The model.
        settings: SessionOptions.
        providers: Execution providers with their options.
        folder: Where a copy of the model may be written; it may go once the session is there.
    """
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    try:
        return onnxruntime.InferenceSession(str(path), settings, providers=providers), {}
    except errors.NotImplemented as error:
        device = "the CPU" if len(providers) == 1 else str(providers[0][0]).removesuffix("ExecutionProvider")
        raise Refusal(
            f"ONNX Runtime has no kernel for some part of this graph on {device}: {first_line(error)}",
            hint="Export the model with another opset or precision.",
        ) from error
    except errors.Fail as error:
        newer = _NEW_IR_VERSION.search(str(error))
        if newer is None:
            raise _too_new_an_opset(error) or openvino_provider.refusal_of(error) or error from error
    held, readable = (int(version) for version in newer.groups())
    lowered = _lowered(path, held, readable, folder)
    session, _ = create_session(lowered, settings, providers, folder)
    return session, {"ir_version": held, "lowered_ir_version": readable}


def _lowered(path: Path, held: int, readable: int, folder: Path) -> Path:
    needed = least_ir_version(path)
    if needed > readable:
        raise Refusal(
            f"ONNX Runtime reads IR version {readable} at most, and the types of this graph need {needed}.",
            hint="Upgrade onnxruntime, or export the model without types of such few bits.",
        )
    target = folder / f"ir-{held}"
    target.mkdir()
    return lower_ir_version(path, readable, target)


def _too_new_an_opset(error: Exception) -> Refusal | None:
    found = _NEW_OPSET.search(str(error))
    if found is None:
        return None
    return Refusal(
        f"ONNX Runtime reads opset {found[2]} at most, and this graph has {found[1]}.",
        hint=f"Lower it: onnx.version_converter.convert_version(model, {found[2]}). Or upgrade onnxruntime.",
    )
