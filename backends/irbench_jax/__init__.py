"""JAX for irbench: functions compiled by XLA for the CPU, and their export to ONNX. Nothing here imports JAX early."""

from irbench.spi import Backend
from irbench_jax.adapter import JaxBackend

__all__ = ["backend"]

backend: Backend = JaxBackend()
