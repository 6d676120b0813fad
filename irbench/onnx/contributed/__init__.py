"""Shapes of the operators that ONNX Runtime adds to ONNX's, for ONNX's own shape inference.

- :mod:`irbench.onnx.contributed.schemas` registers them while a model is inferred.
- The other modules say what each computes, from the types of its inputs alone.
"""

from __future__ import annotations

from irbench.onnx.contributed.schemas import contributed_schemas

__all__ = ["contributed_schemas"]
