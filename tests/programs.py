"""Programs that run a row without irbench, loaded and run as their users do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from irbench.programs.row_program import INFER_FILE, graph_places
from irbench.spec import Cell
from irbench.spi import Array


def written(code: str, cell: Cell, folder: Path) -> Path:
    """Write the program of a row into a folder, with copies of the row's graphs, and return the folder."""
    assert cell.artifact is not None
    for place, graph in graph_places(cell).items():
        target = folder / place
        target.parent.mkdir(parents=True)
        shutil.copyfile((cell.artifact if graph is None else graph.artifact).path, target)
    (folder / INFER_FILE).write_text(code)
    return folder


def loaded(folder: Path) -> Any:
    """Import the program in a folder, under a name of its own."""
    spec = spec_from_file_location(f"infer_{abs(hash(folder))}", folder / INFER_FILE)
    assert spec is not None
    assert spec.loader is not None
    program = module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def answers(program: Any, batches: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
    """Return what a program answers: with several inferences in flight where it can."""
    model = program.open_model()
    if hasattr(program, "run_all"):
        return [[np.asarray(output) for output in outputs] for outputs in program.run_all(model, batches)]
    caller = program.Caller(model)
    return [[np.array(output) for output in program.call(caller, inputs)] for inputs in batches]


def checked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Call the check of a folder in a process of its own, from another folder."""
    command = [sys.executable, str(folder / "check.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder.parent)
