"""Whether runtimes compute what the standard says: one model against expected outputs, or ONNX's own test suite."""
