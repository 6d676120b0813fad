"""OpenVINO on CPUs and GPUs."""

from irbench.spi import Backend
from irbench_openvino.adapter import OpenVinoBackend

__all__ = ["backend"]

backend: Backend = OpenVinoBackend()
"""What entry point ``openvino`` of ``irbench.backends`` names."""
