"""ONNX Runtime for irbench."""
