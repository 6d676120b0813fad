"""What is known of rows of the user's own code before any of it runs."""

from __future__ import annotations

from pathlib import Path

from irbench.exporter.source import find_users_module, first_parameter
from irbench.options.own_code import FACTORY_PARAMETER
from irbench.options.pickled_functions import is_kept
from irbench.options.pipeline_stages import are_kept
from irbench.spec import Program

_NOT_OF_THE_FILE = {"batch", "threads", "streams", "precision", "new_tokens"}
"""What a function may be told of a row that is the same at every level of optimisation."""


def may_read_model(program: Program) -> bool:
    """Return whether a row may run the model's file, so that its level of optimisation may matter.

    A server runs a model of its own, and a function is told the file where its first parameter is ``cell``, of which
    it may read other things only; stages that it makes may be backends, which run the file. Commands have it in
    their environment. Nothing is run, so what the source does not show counts as reading it.

    Raises:
        IrbenchError: The function's module is not Python.
    """
    if program.kind != "callable" or are_kept(program.target) or is_kept(program.target):
        return program.kind != "server"
    module, _, name = program.target.rpartition(":")
    file = Path(module) if module.endswith(".py") else find_users_module(module, [Path.cwd()])
    first = None if file is None else first_parameter(file, module, name)
    if first is None:
        return True
    reads_others_only = first.attributes is not None and first.attributes <= _NOT_OF_THE_FILE
    return first.name == FACTORY_PARAMETER and not (reads_others_only and first.makes_function)
