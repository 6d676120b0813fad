"""Transformations of a loose ONNX model: one per file, each ``pass(model) -> whether it changed something``."""
