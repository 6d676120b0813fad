"""ONNX Runtime on CPUs and CUDA devices."""

from irbench.spi import Backend
from irbench_ort.adapter import OrtBackend

__all__ = ["backend", "reference"]

backend: Backend = OrtBackend()
"""What entry point ``ort`` of ``irbench.backends`` names."""

reference: Backend = OrtBackend(optimised=False)
"""Graph optimisations off, so that their faults do not affect its answers."""
