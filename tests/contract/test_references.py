"""The references of irbench keep the contract of all references."""

from __future__ import annotations

from irbench.testing import ReferenceContract


class TestOrt(ReferenceContract):
    reference = "ort"


class TestOnnx(ReferenceContract):
    reference = "onnx"
