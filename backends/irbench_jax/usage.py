"""Python that uses JAX without irbench, for exactly the settings of a row."""

from __future__ import annotations

import re
from collections.abc import Mapping

from irbench.spi import Refusal, Usage, UsedModel

_IMPORTS = """\
import jax
import numpy
from jax import export"""

_LOAD = """\
def load(path):
    \"\"\"Return the program, compiled for the shapes of INPUTS; it returns a flat list of outputs.\"\"\"
    jax.config.update("jax_enable_x64", True)  # the program holds its types; this lets inputs of 64 bits in
    with open(path, "rb") as file:
        program = export.deserialize(bytearray(file.read()))
    shapes = [jax.ShapeDtypeStruct(shape, dtype) for dtype, shape in INPUTS.values()]
    return jax.jit(lambda *inputs: jax.tree.leaves(program.call(*inputs))).lower(*shapes).compile()"""

_CALLER = """\
class Caller:
    \"\"\"Runs one inference at a time. Callers of one model may run side by side, each in a thread of its own.\"\"\"

    def __init__(self, model):
        self.model = model

    def stage(self, inputs):
        self.inputs = [{array} for name in INPUTS]

    def run(self):
        self.outputs = jax.block_until_ready(self.model(*self.inputs))

    def fetch(self):
        return [numpy.asarray(output) for output in self.outputs]"""


def usage(model: UsedModel, environment: Mapping[str, str]) -> Usage:
    """Return Python that compiles a program and runs it.

    Raises:
        Refusal: NumPy itself has no type for an input or output.
    """
    for spec in (*model.inputs, *model.outputs):
        if not re.fullmatch(r"(float|u?int)(8|16|32|64)|bool|complex(64|128)", spec.dtype):
            raise Refusal(
                f"{spec.name} is {spec.dtype}, for which NumPy has no type.",
                hint="Export the model with inputs and outputs of another type.",
            )
    array = "jax.device_put(inputs[name])" if model.io == "bound" else "inputs[name]"
    return Usage(imports=_IMPORTS, load=_LOAD, caller=_CALLER.format(array=array), environment=environment)
