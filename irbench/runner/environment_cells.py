"""The same cell in several Python environments, so that versions of a runtime are rows of one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from irbench.notices import Note
from irbench.notices.notes import EnvironmentMeasured
from irbench.spec import Cell, PythonEnvironment


def in_environments(cell: Cell, environments: Sequence[PythonEnvironment]) -> tuple[Cell, ...]:
    """Return a cell for each environment, in their order; the cell itself without any, or of the user's own code.

    Args:
        cell: As it runs in the Python that irbench runs in.
        environments: Other Pythons.
    """
    if not environments or cell.program is not None:
        return (cell,)
    return tuple(
        replace(cell, id=f"{cell.id}-{environment.key}", environment=environment) for environment in environments
    )


def environment_notes(environments: Sequence[PythonEnvironment]) -> Iterator[Note]:
    """Yield for each environment what its rows ran in: its runtime, its Python, and in what else it differs."""
    every = {name for environment in environments for name in environment.distributions}
    runtimes = {environment.runtime for environment in environments}
    differing = sorted(
        name
        for name in every - runtimes
        if len({environment.distributions.get(name) for environment in environments}) > 1
    )
    for environment in environments:
        yield EnvironmentMeasured(
            label=environment.label,
            runtime=environment.runtime,
            version=environment.version,
            python_version=environment.python_version,
            python=environment.python,
            requirement=environment.requirement,
            indexes=tuple(environment.indexes),
            others={name: environment.distributions.get(name) for name in differing},
        )
