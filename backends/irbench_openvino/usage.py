"""Python that uses OpenVINO without irbench, for exactly the settings of a row."""

from __future__ import annotations

from irbench.spec import Load
from irbench.spi import Refusal, Usage, UsedModel
from irbench_openvino.properties import pinned_properties

_WITHOUT_ARRAYS = ("bfloat16", "float8", "float4", "int4", "uint4", "string")
"""How the names of types begin whose arrays OpenVINO does not accept as they are."""

_LOAD = """\
def load(path):
    \"\"\"Return the compiled model, with the properties that were measured.\"\"\"
    core = openvino.Core()
    model = core.read_model(path)
    return core.compile_model(model, {target!r}, {{
{properties}
    }})"""

_CALLER = """\
class Caller:
    \"\"\"Runs one inference at a time, with a request of its own. Each thread needs one.\"\"\"

    def __init__(self, model):
        self.request = model.create_infer_request()
        self.names = {{name for port in model.inputs for name in port.get_names()}}  # without unused inputs
        self.outputs = range(len(model.outputs))

    def stage(self, inputs):
        {comment}
        for name in self.names & inputs.keys():
            {stage}

    def run(self):
        self.request.infer()

    def fetch(self):
        return [self.request.get_output_tensor(place).data.copy() for place in self.outputs]"""

_STAGES = {
    "copy": (
        "self.arrays = inputs  # which the request reads in place",
        "self.request.set_tensor(name, openvino.Tensor(inputs[name], shared_memory=True))",
    ),
    "bound": (
        "# the only copy: a run reads and writes the request's own buffers",
        "self.request.get_tensor(name).data[...] = inputs[name]",
    ),
}

_RUN_ALL = """\
def run_all(model, batches):
    \"\"\"Return the outputs of many inputs, in their order, with {streams} requests in flight.\"\"\"
    names = {{name for port in model.inputs for name in port.get_names()}}  # without unused inputs
    requests = [model.create_infer_request() for _ in range({streams})]
    outputs = []
    for place in range(len(batches) + len(requests)):
        request = requests[place % len(requests)]
        if place >= len(requests):
            request.wait()  # for the oldest; a callback in Python could keep OpenVINO's threads from ending
            outputs.append([tensor.data.copy() for tensor in request.output_tensors])
        if place < len(batches):
            inputs = batches[place]
            request.start_async({{name: inputs[name] for name in names & inputs.keys()}}, share_inputs=True)
    return outputs"""


def usage(model: UsedModel, load: Load, target: str) -> Usage:
    """Return Python that compiles a model for a device of OpenVINO, and runs it.

    Raises:
        Refusal: OpenVINO does not accept arrays of an input's or output's type.
    """
    for spec in (*model.inputs, *model.outputs):
        if spec.dtype.startswith(_WITHOUT_ARRAYS):
            raise Refusal(
                f"{spec.name} is {spec.dtype}, of which OpenVINO accepts no NumPy arrays as they are.",
                hint="Export the model with inputs and outputs of another type.",
            )
    properties = {**pinned_properties(load), **load.options}
    comment, stage = _STAGES[model.io]
    return Usage(
        imports="import openvino",
        load=_LOAD.format(
            target=target, properties="\n".join(f"        {key!r}: {value!r}," for key, value in properties.items())
        ),
        caller=_CALLER.format(comment=comment, stage=stage),
        run_all=_RUN_ALL.format(streams=load.streams) if load.streams > 1 else "",
    )
