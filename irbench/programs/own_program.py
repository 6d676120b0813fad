"""The program of a row of the user's own code: it calls the user's function as irbench does."""

from __future__ import annotations

from pathlib import Path

from irbench.errors import IrbenchError
from irbench.options import pipeline_stages
from irbench.options.pickled_functions import is_kept
from irbench.programs.row_program import ProgramHeading, docstring, graph_places, path_text, run_all_text, tensors
from irbench.spec import Cell, Program, Workload
from irbench.spec.generation import new_tokens_of

_TAKEN = ("infer", "check")
"""Names of modules that a folder has."""

_PROGRAM = '''\
{docstring}

import inspect
{imports}from pathlib import Path
from types import SimpleNamespace

import numpy

from {module} import {function}

FOLDER = Path(__file__).resolve().parent
{tensors}
CELL = SimpleNamespace(  # what a function whose first parameter is called `cell` is given
    model={model},
    batch={batch},
    threads={threads},
    streams={streams},
    precision={precision!r},
    shapes={{name: shape for name, (_, shape) in INPUTS.items()}},
    outputs=OUTPUTS,
    new_tokens={new_tokens},
)


def open_model():
    """Return the function that is called for each inference."""
    takes_cell = next(iter(inspect.signature({function}).parameters), "") == "cell"
    return {function}(CELL) if takes_cell else {function}


class Caller:
    """Calls the function for one inference at a time; callers may run side by side."""

    def __init__(self, function):
        self.function = function

    def stage(self, inputs):
        self.inputs = inputs

    def run(self):
        self.outputs = self.function(self.inputs)

    def fetch(self):
        if isinstance(self.outputs, dict):
            return [numpy.asarray(self.outputs[name]) for name in OUTPUTS]
        several = isinstance(self.outputs, (list, tuple))
        return [numpy.asarray(output) for output in (self.outputs if several else [self.outputs])]


def call(caller, inputs):
    """Run one inference, and return its outputs."""
    caller.stage(inputs)
    caller.run()
    return caller.fetch()
{run_all}

if __name__ == "__main__":
    inputs = {{name: numpy.zeros(shape, dtype) for name, (dtype, shape) in INPUTS.items()}}
    for name, output in zip(OUTPUTS, call(Caller(open_model()), inputs)):
        print(f"{{name}}: {{output.dtype}} {{output.shape}}")
'''


def own_module(program: Program) -> str:
    """Return the module that a program imports the user's function from: that of its file, which stands beside it."""
    module = program.target.rpartition(":")[0]
    if not module.endswith(".py"):
        return module
    stem = Path(module).stem
    return f"own_{stem}" if stem in _TAKEN or not stem.isidentifier() else stem


def own_program(cell: Cell, workload: Workload, heading: ProgramHeading) -> str:
    """Return a program that calls the user's function.

    Raises:
        IrbenchError: The row is a command, a model server, or code that was kept from a notebook.
    """
    program = cell.program
    assert program is not None
    if program.kind != "callable":
        raise IrbenchError(
            f"{cell.label} runs a {program.kind} of yours, which is its program: {program.target}",
            hint="Choose a row of a backend, or of a function.",
        )
    if is_kept(program.target) or pipeline_stages.are_kept(program.target):
        raise IrbenchError(
            f"The code of {cell.label} was kept from where it was defined, and has no file of its own.",
            hint="Write it to a file, and measure that: --cell mine=my_file.py:function",
        )
    if cell.load.instances > 1:
        raise IrbenchError(
            f"{cell.label} runs in {cell.load.instances} processes, and programs of own code in one.",
            hint="Choose a row of one process.",
        )
    (place,) = graph_places(cell)
    threads = cell.load.streams > 1
    return _PROGRAM.format(
        docstring=docstring(heading),
        imports="from concurrent.futures import ThreadPoolExecutor\n" if threads else "",
        module=own_module(program),
        function=program.target.rpartition(":")[2],
        tensors=tensors(cell),
        model=path_text(place),
        batch=workload.batch,
        threads=cell.load.threads,
        streams=cell.load.streams,
        precision=cell.load.precision,
        new_tokens=new_tokens_of(cell.artifact) if cell.artifact is not None else None,
        run_all=f"\n\n{run_all_text(cell.load.streams)}\n" if threads else "",
    )
