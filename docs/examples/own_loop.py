"""Your own code as a row, timed by irbench: two ways to write a function for ``--cell``.

irbench run model.onnx --backends ort --cell plain=docs/examples/own_loop.py:infer
irbench run model.onnx --backends ort --cell mine=docs/examples/own_loop.py:load --threads 2
"""

import os

import onnxruntime

_sessions = {}


def infer(inputs):
    """Run one inference: the function itself is timed. It must know the model, here from a variable."""
    path = os.environ["MODEL"]
    if path not in _sessions:
        _sessions[path] = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return _sessions[path].run(None, inputs)


def load(cell):
    """Return the function that is timed, for the model, the threads and the streams that irbench asks for."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = cell.threads or 0
    session = onnxruntime.InferenceSession(str(cell.model), settings, providers=["CPUExecutionProvider"])

    def call(inputs):
        return session.run(None, inputs)

    call.effective = {"precision": "fp32", "threads": cell.threads}
    return call
