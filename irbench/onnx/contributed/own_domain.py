"""Operators that ONNX Runtime registers in ONNX's own domain, where ONNX has none of that name or a later one."""

from __future__ import annotations

MICROSOFT = "com.microsoft"
"""Where ONNX Runtime's other operators are."""

_DEFINED_FROM = {"LayerNormalization": 17, "SimplifiedLayerNormalization": None}
"""The operator set in which ONNX defines an operator; ``None`` for one that it does not define.

The builders of onnxruntime-genai write ``SimplifiedLayerNormalization``, ONNX Runtime's fusions both.
"""


def is_contributed(domain: str, operator: str, opset: int) -> bool:
    """Return whether an operator of ONNX's own domain is ONNX Runtime's in a graph of an operator set."""
    if domain not in ("", "ai.onnx") or operator not in _DEFINED_FROM:
        return False
    defined = _DEFINED_FROM[operator]
    return defined is None or opset < defined
