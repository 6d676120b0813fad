"""Python that uses ONNX Runtime without irbench, for exactly the settings of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from irbench.spec import Load, TensorSpec
from irbench.spi import Refusal, Usage, UsedModel
from irbench_ort import devices
from irbench_ort.options import OrtOptions

_LEVELS = {"disabled": "DISABLE_ALL", "basic": "ENABLE_BASIC", "extended": "ENABLE_EXTENDED", "all": "ENABLE_ALL"}
_WITHOUT_ARRAYS = ("bfloat16", "float8", "float4", "int4", "uint4")
"""How the names of types begin of which ONNX Runtime neither accepts nor returns arrays of NumPy."""

_LOAD = """\
def load(path):
    \"\"\"Return a session of the model, with the settings that were measured.\"\"\"
    options = onnxruntime.SessionOptions()
{settings}
{session}"""

_CALLER = """\
class Caller:
    \"\"\"Runs one inference at a time. Callers of one session may run side by side, each in a thread of its own.\"\"\"

    def __init__(self, session):
        self.session = session

    def stage(self, inputs):
        self.inputs = inputs

    def run(self):
        self.outputs = self.session.run(None, self.inputs)

    def fetch(self):
        return self.outputs"""

_BOUND_CALLER = """\
class Caller:
    \"\"\"Runs one inference at a time on bound buffers: `run` copies nothing, `stage` and `fetch` do.\"\"\"

    def __init__(self, session):
        self.session = session
        self.binding = session.io_binding()
        self.inputs = {{
{inputs}
        }}
{outputs}

    def stage(self, inputs):
        for name, buffer in self.inputs.items():
            buffer.update_inplace(inputs[name])
            self.binding.bind_ortvalue_input(name, buffer)
        self.binding.synchronize_inputs()

    def run(self):
        self.session.run_with_iobinding(self.binding)
        self.binding.synchronize_outputs()

    def fetch(self):
        return [numpy.array(value.numpy()) for value in self.binding.get_outputs()]"""


def usage(
    model: UsedModel, load: Load, device: str, options: OrtOptions, level: str, entries: Mapping[str, str]
) -> Usage:
    """Return Python that makes a session and runs it.

    Args:
        model: What is compiled.
        load: How it is driven.
        device: Where.
        options: What the user's options mean.
        level: How far graphs are optimised.
        entries: Further entries of the configuration, which the device needs.

    Raises:
        Refusal: NumPy has no type for an input or output.
    """
    for spec in (*model.inputs, *model.outputs):
        if spec.dtype.startswith(_WITHOUT_ARRAYS):
            raise Refusal(
                f"{spec.name} is {spec.dtype}, of which ONNX Runtime accepts and returns no NumPy arrays.",
                hint="Export the model with inputs and outputs of another type.",
            )
    memory = "cuda" if device == "cuda" else "cpu"
    return Usage(
        imports="import numpy\nimport onnxruntime" if model.io == "bound" else "import onnxruntime",
        load=_LOAD.format(
            settings="\n".join(f"    {line}" for line in _settings(load, options, level, entries)),
            session="\n".join(f"    {line}" for line in _session(load, device, options)),
        ),
        caller=_bound_caller(model, memory) if model.io == "bound" else _CALLER,
    )


def _settings(load: Load, options: OrtOptions, level: str, entries: Mapping[str, str]) -> Iterator[str]:
    if load.threads is not None:
        pool = max(1, load.threads - load.streams + 1)
        why = "threads of the pool and one caller" if load.streams > 1 else "threads"
        yield f"options.intra_op_num_threads = {pool}  # {why}; {load.threads} in all"
    yield "options.inter_op_num_threads = 1"
    yield f"options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_{_LEVELS[level]}"
    for name, value in options.attributes:
        yield f"options.{name} = {value}"
    for key, text in (*options.config_entries, *entries.items()):
        yield f"options.add_session_config_entry({key!r}, {text!r})"


def _session(load: Load, device: str, options: OrtOptions) -> Iterator[str]:
    providers = devices.providers(device, load, options.provider)
    if device == "cuda":
        yield "onnxruntime.preload_dlls()  # the libraries of CUDA and cuDNN"
    if device == "cpu":
        yield f"return onnxruntime.InferenceSession(str(path), options, providers={providers!r})"
        return
    (name, settings), *others = providers
    yield f"settings = {settings!r}"
    yield f"providers = [({name!r}, settings), {', '.join(map(repr, others))}]"
    yield "session = onnxruntime.InferenceSession(str(path), options, providers=providers)"
    yield f"if {name!r} not in session.get_providers():  # ONNX Runtime falls back to the CPU silently"
    yield f'    raise SystemExit("{name} did not start: its libraries or its driver are missing.")'
    yield "return session"


def _bound_caller(model: UsedModel, memory: str) -> str:
    inputs = [f"            {spec.name!r}: {_buffer(spec, memory)}," for spec in model.inputs]
    return _BOUND_CALLER.format(inputs="\n".join(inputs), outputs="\n".join(_bound_outputs(model.outputs, memory)))


def _bound_outputs(outputs: Sequence[TensorSpec], memory: str) -> Iterator[str]:
    for spec in outputs:
        if spec.dynamic_dimensions:
            yield f"        self.binding.bind_output({spec.name!r}, {memory!r})  # its size is known after each run"
        else:
            yield f"        self.binding.bind_ortvalue_output({spec.name!r}, {_buffer(spec, memory)})"


def _buffer(spec: TensorSpec, memory: str) -> str:
    dtype = "bool" if spec.dtype == "bool" else f"numpy.{spec.dtype}"
    return f"onnxruntime.OrtValue.ortvalue_from_shape_and_type({list(spec.shape)}, {dtype}, {memory!r}, 0)"
