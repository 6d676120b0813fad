"""Reading and rewriting ONNX: binding shapes, telling precision, transforming graphs, judging cost."""
