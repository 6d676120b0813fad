"""Reading ONNX files: signature, inventory, precision, external data, differences, and whether they are valid.

Most modules walk over the bytes of the mapped file (:mod:`~irbench.onnx.reading.protobuf`): they read no weight, and
a hostile file cannot make them allocate memory. Only :mod:`~irbench.onnx.reading.check` and
:mod:`~irbench.onnx.reading.value_shapes` let ONNX's own code parse it; files of unknown origin go there in a worker.
"""
