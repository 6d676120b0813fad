"""TensorFlow and Keras models, exported to a form that every backend can run.

A bundle has an ONNX file, a TensorFlow graph and expected outputs; each form is run once, and kept only if its
outputs match those of the original model. Nothing is timed. docs/security.md says what an export may run,
docs/shapes.md how dimensions stay dynamic.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("export", "Models", "Export PyTorch, TensorFlow and JAX models to ONNX.", rank=0),)
PAGE = "docs/exporting-models.md"
