"""TensorFlow for irbench: graphs with and without XLA, and the export to ONNX."""
