"""PyTorch for irbench: modules as they are, modules that inductor compiled, and the export to ONNX.

``eager`` is the backend ``torch``, ``compiled`` is ``torch-compile``. Nothing here imports PyTorch before it is used.
"""

from irbench.spi import Backend
from irbench_torch.adapter import TorchBackend

__all__ = ["compiled", "eager"]

eager: Backend = TorchBackend("torch", compiles=False)
"""Runs a module operator by operator."""

compiled: Backend = TorchBackend("torch-compile", compiles=True)
"""Runs what ``torch.compile`` makes of a module with inductor."""
