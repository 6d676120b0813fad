"""OpenVINO on CPUs and GPUs."""

from irbench.spi import Backend
from irbench_openvino.backend import OpenVinoBackend

__all__ = ["backend"]

backend: Backend = OpenVinoBackend()
"""What entry point ``openvino`` of ``irbench.backends`` names."""
