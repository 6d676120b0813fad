"""Write a model's functions out where they are called: some runtimes know none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.reading import external_data
from irbench.onnx.reading.check import shorten_own_domain, spells_own_domain
from irbench.onnx.reading.protobuf import Model, fields, mapped

if TYPE_CHECKING:
    import onnx


def inline_functions(path: Path) -> bytes | None:
    """Return a model without functions, weights included, and ONNX's own domain under its short name.

    Functions of another operator set are converted to that of the model. Where ONNX's converter cannot do it, functions
    of other operator sets stay.

    Returns:
        The serialised model; ``None`` where it has no functions and names the domain as usual, or is too large for one
        message.
    """
    from google.protobuf.message import EncodeError

    with mapped(path) as data:
        has_functions = any(field.number == Model.FUNCTIONS for field in fields(data))
    if not has_functions and not spells_own_domain(path):
        return None
    model = external_data.load(path)
    shorten_own_domain(model)
    _import_what_functions_do(model)
    try:
        content: bytes = _inlined(model).SerializeToString()
    except (EncodeError, ValueError):
        return None
    return content


def _inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    from onnx import inliner

    try:
        return inliner.inline_local_functions(model, convert_version=True)
    except RuntimeError:  # the converter has no adapter for one of the operations
        return inliner.inline_local_functions(model)


def _import_what_functions_do(model: onnx.ModelProto) -> None:
    known = {opset.domain for opset in model.opset_import}
    imports = [opset for function in model.functions for opset in function.opset_import if opset.domain not in known]
    latest = {opset.domain: opset for opset in sorted(imports, key=lambda opset: opset.version)}
    model.opset_import.extend(latest.values())
