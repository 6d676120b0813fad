"""The options of a run that ask for one table of a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irbench.features.plan.expansion import SweepTable
from irbench.options.run import RunOptions, option_of_key, run_options
from irbench.requests.run_requests import LONGEST_NAME

_PATH_ENDINGS = (".onnx", ".keras", ".h5")


@dataclass(frozen=True)
class SweepSetup:
    """What all tables of a sweep have in common besides their plan."""

    name: str
    folder: Path
    results: Path
    no_lock: bool = False
    command: tuple[str, ...] = ()


def table_options(table: SweepTable, setup: SweepSetup) -> RunOptions:
    """Return the options that ask for a table: all combinations of its cells' settings.

    In a curve the batch before is measured beside each batch, so that what doubling gains is of one table.
    """
    settings: dict[str, Any] = {**table.shared, **{key: list(table.values(key)) for key in table.compare}}
    if table.batch_before is not None:
        settings["batch"] = [table.batch_before, table.batch]
    models = [_path(str(model), setup.folder) for model in table.values("models")]
    data = settings.get("data")
    if data is not None:
        settings["data"] = str(setup.folder / data)
    keywords = {option_of_key(key): value for key, value in settings.items() if key != "models"}
    return replace(
        run_options(models, keywords, "sweep"),
        results=setup.results,
        no_lock=setup.no_lock,
        command=setup.command,
        name=f"{setup.name} {table.label}"[:LONGEST_NAME].strip(),
    )


def _path(model: str, folder: Path) -> str:
    """Return a model's name as it is, and a path as it is seen from the folder of the plan."""
    is_path = "/" in model or model.endswith(_PATH_ENDINGS)
    return str(folder / model) if is_path else model
