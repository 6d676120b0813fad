"""Whether own code may run the model's file is read from its source; nothing of it is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.runner.own_rows import may_read_model
from irbench.spec import Program

SOURCE = """
import functools
from elsewhere import imported

def infer(inputs): ...
def load(cell):
    return open(cell.model, cell.threads)

def generate(cell):
    tokens = cell.new_tokens
    return lambda inputs: [cell.batch] * tokens

def nested(cell):
    def run(inputs):
        return {"y": inputs}
    return run

def makes_stages(cell):
    return {"decode": infer, "model": "ort"}

def makes_stages_by_name(cell):
    made = {"model": "ort"}
    return made

def makes_stages_at_times(cell):
    if cell.batch > 1:
        return dict(model="ort")
    return lambda inputs: inputs

def makes_over(cell):
    def run(inputs): ...
    run = {"model": "ort"}
    return run

def passed_on(cell):
    return load(cell)

def shaped(cell):
    return lambda inputs: cell.shapes

def everything(*inputs): ...

@functools.cache
def decorated(inputs): ...

if functools:
    def chosen(inputs): ...

def changed(inputs): ...
changed = functools.partial(load)
stages = {"decode": infer, "model": "ort"}
"""


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("infer", False),
        ("everything", False),
        ("load", True),
        ("generate", False),
        ("nested", False),
        ("makes_stages", True),
        ("makes_stages_by_name", True),
        ("makes_stages_at_times", True),
        ("makes_over", True),
        ("passed_on", True),
        ("shaped", True),
        ("decorated", True),
        ("chosen", True),
        ("changed", True),
        ("imported", True),
        ("stages", True),
        ("missing", True),
    ],
)
def test_a_function_that_is_called_with_inputs_alone_does_not_read_it(tmp_path: Path, name: str, may: bool) -> None:
    file = tmp_path / "own.py"
    file.write_text(SOURCE)
    assert may_read_model(Program("callable", f"{file}:{name}")) is may


def test_a_server_has_a_model_of_its_own_and_a_command_is_told_the_file() -> None:
    assert not may_read_model(Program("server", "http://localhost:8000/v2/models/net"))
    assert may_read_model(Program("command", "./loop"))
    assert may_read_model(Program("callable", "no_such_module:infer"))
