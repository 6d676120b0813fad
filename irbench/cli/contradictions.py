"""Options that cannot be obeyed together, refused before anything is looked up or measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError

__all__ = ["refuse_contradictions"]


def refuse_contradictions(arguments: Mapping[str, Any], output: Path | None) -> None:
    """Refuse a call of ``irbench run`` whose options contradict each other.

    Args:
        arguments: The options' values by their names.
        output: What ``-o`` names.

    Raises:
        IrbenchError: Two of them do, or ``-o`` would overwrite a model.
    """
    if arguments["quick"] and arguments["thorough"]:
        raise IrbenchError("--quick and --thorough contradict each other.", hint="Leave one of them out.")
    if arguments["dry_run"] and output is not None:
        raise IrbenchError("--dry-run has no result that -o could write.", hint="Leave one of them out.")
    _refuse_repetition("--shape", [(name, "x".join(map(str, sizes))) for name, sizes in arguments["shapes"]])
    _refuse_repetition("--set", [(f"{backend}.{key}", value) for backend, key, value in arguments["settings"]])
    for model in arguments["models"]:
        if not model:
            raise IrbenchError("A model's name is empty.", hint="List the models: irbench models")
        if output is not None and output.exists() and output.resolve() in _files_of(Path(model)):
            raise IrbenchError(f"-o {output} would overwrite the model.", hint="Give another path with -o.")


def _refuse_repetition(option: str, given: Sequence[tuple[str, str]]) -> None:
    values: dict[str, str] = {}
    for name, value in given:
        if values.setdefault(name, value) != value:
            raise IrbenchError(
                f"{option} {name}={values[name]} and {option} {name}={value} contradict each other.",
                hint="Leave one of them out.",
            )


def _files_of(model: Path) -> set[Path]:
    return {path.resolve() for path in (model, *(model.iterdir() if model.is_dir() else ()))}
