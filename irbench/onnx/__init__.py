"""ONNX files and graphs.

- :mod:`irbench.onnx.reading` answers questions about a file and changes nothing; it is safe on files of unknown origin.
- :mod:`irbench.onnx.rewriting` makes another graph or file out of one: bound shapes, folded constants, a later opset.
- :mod:`irbench.onnx.shapes` infers shapes, with dynamic dimensions as products of names (:mod:`irbench.onnx.sizes`).
- :mod:`irbench.onnx.contributed` infers those of the operators that ONNX Runtime adds.
- :mod:`irbench.onnx.operator_classes` tells to which class of work an operator belongs.
- :mod:`irbench.onnx.evaluator` runs a graph by ONNX's own reference evaluator.
- :mod:`irbench.onnx.probe_graph` writes a small graph that a runtime is tried on.

Which representation of a model each of them works on, and why there are three, stands in
``docs/adr/0019-three-representations-of-an-onnx-model.md``.
"""
