"""TensorFlow for irbench: graphs with and without XLA, and the export to ONNX.

The module that freezes graphs is :mod:`irbench_tf.frozen`; ``graph`` here is the backend ``tf``.
"""

from irbench.spi import Backend
from irbench_tf.adapter import TensorFlowBackend

__all__ = ["graph", "xla"]

graph: Backend = TensorFlowBackend("tf", jit=False)
"""Runs a frozen graph with TensorFlow's own kernels."""

xla: Backend = TensorFlowBackend("tf-xla", jit=True)
"""Runs the same graph as one XLA computation."""
